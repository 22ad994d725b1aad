"""The tables `transactions`, `members` and `metadata_partitions`, derived from requests and responses: each column
once, with its SQL, which both Spark and DuckDB run.
"""

from kcli.tables.connections import address_sql, instant_of
from kcli.tables.definition import Table
from kcli.tables.exchange_views import ViewColumn, column
from kcli.tables.rule_facts import CALLS, RULE_FACTS, calls_query

FENCED = "('INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED')"
# Errors of a server for a client that is no longer a member.
NO_MEMBER = "('UNKNOWN_MEMBER_ID', 'FENCED_INSTANCE_ID', 'FENCED_MEMBER_EPOCH', 'UNRELEASED_INSTANCE_ID')"
STATE_COLUMNS = ("topic_id", "leader", "leader_epoch", "leader_address", "replicas", "isr", "error")
STATE = "concat_ws('|', " + ", ".join(f"coalesce(CAST({each} AS STRING), '')" for each in STATE_COLUMNS) + ")"


# Requests and batches of a transaction. After a successful EndTxn, the next transaction begins.
STEPS = f"""
(SELECT *, coalesce(sum(CASE WHEN ends THEN 1 ELSE 0 END) OVER (PARTITION BY producer_id, producer_epoch
                    ORDER BY completed_ns, ns, api ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS number
 FROM (SELECT unix_micros(timestamp) * 1000 AS ns, completed_ns, api, client_id, {address_sql("client")} AS address,
              transactional_id, producer_id, producer_epoch, partitions, error, committed,
              api = 'END_TXN' AND answered AND error IS NULL AS ends,
              CAST(0 AS BIGINT) AS records, CAST(0 AS BIGINT) AS record_bytes, CAST(0 AS BIGINT) AS batches
       FROM ({calls_query(CALLS["transaction_calls"])}) AS transaction_calls
       WHERE api != 'INIT_PRODUCER_ID' AND transactional_id IS NOT NULL AND producer_id IS NOT NULL
       UNION ALL
       SELECT unix_micros(timestamp) * 1000, unix_micros(timestamp) * 1000, api, client_id, {address_sql("client")},
              NULL, producer_id, producer_epoch,
              split(concat_ws('-', coalesce(topic, named, topic_id), CAST(partition AS STRING)), '[|]'), NULL,
              NULL, false, CAST(count AS BIGINT), CAST(size_in_bytes AS BIGINT), CAST(1 AS BIGINT)
       FROM (SELECT b.*, k.topic AS named FROM record_batches b
             LEFT JOIN known k ON b.topic_id = k.topic_id) AS produced
       WHERE api = 'PRODUCE' AND is_transactional AND producer_id >= 0) AS given) AS steps
GROUP BY producer_id, producer_epoch, number
"""
BEGINS = "FILTER (WHERE api != 'END_TXN')"
ENDS = "FILTER (WHERE ends)"
TRANSACTIONS: tuple[ViewColumn, ...] = (
    column(
        "transactional_id", "string?", "the transactional id; null: no request with it is in the capture",
        "max(transactional_id)",
    ),
    column("producer_id", "int64", "the producer's id"),
    column("producer_epoch", "int16", "its epoch", "CAST(producer_epoch AS SMALLINT)"),
    column("client_id", "string?", "of its first request", "min_by(client_id, ns)"),
    column("client_address", "string", "the client's address", "min_by(address, ns)"),
    column(
        "begun", "instant?",
        "time of its first AddPartitionsToTxn (the broker may refuse it, and begin at a later one), Produce or offset "
        "commit; null: before the capture",
        instant_of(f"min(ns) {BEGINS}"),
    ),
    column(
        "ended", "instant?", "time of the response to its EndTxn; null: none",
        instant_of(f"max(completed_ns) {ENDS}"),
    ),
    column(
        "duration_ms", "float64?", "from begun to ended",
        f"CAST(max(completed_ns) {ENDS} - min(ns) {BEGINS} AS DOUBLE) / 1000000",
    ),
    column(
        "outcome", "string",
        "committed, aborted, fenced (its epoch is no longer valid: another producer took over, or the coordinator "
        "aborted it after transaction.timeout.ms), or open (no EndTxn of it succeeds in the capture)",
        f"CASE WHEN max(CASE WHEN ends AND committed THEN 1 ELSE 0 END) = 1 THEN 'committed' "
        f"WHEN max(CASE WHEN ends THEN 1 ELSE 0 END) = 1 THEN 'aborted' "
        f"WHEN max(CASE WHEN error IN {FENCED} THEN 1 ELSE 0 END) = 1 THEN 'fenced' ELSE 'open' END",
    ),
    column(
        "partitions", "strings?", "topic-partition: added to it, or written in it; null: none captured",
        "sort_array(array_distinct(flatten(array_agg(partitions) FILTER (WHERE partitions IS NOT NULL))))",
    ),
    column(
        "commits_offsets", "bool", "it commits offsets of a group",
        "max(CASE WHEN api IN ('ADD_OFFSETS_TO_TXN', 'TXN_OFFSET_COMMIT') THEN 1 ELSE 0 END) = 1",
    ),
    column("batches", "int32", "batches that were produced in it", "CAST(sum(batches) AS INT)"),
    column("records", "int64", "records in them", "CAST(sum(records) AS BIGINT)"),
    column("records_bytes", "int64", "bytes of the batches", "CAST(sum(record_bytes) AS BIGINT)"),
    column(
        "error", "string?", "the last error of its requests",
        "max_by(error, struct(completed_ns, error)) FILTER (WHERE error IS NOT NULL)",
    ),
)  # fmt: skip

IS_JOIN = "(api = 'JOIN_GROUP' OR (api LIKE '%_GROUP_HEARTBEAT' AND generation = 0)) AND answered AND error IS NULL"
IS_LEAVE = "(api = 'LEAVE_GROUP' AND error IS NULL) OR (api LIKE '%_GROUP_HEARTBEAT' AND generation < 0)"
# The requests of each member with its latest assignment, in which topics have names if these are known.
MEMBER_CALLS = f"""
(WITH calls AS (SELECT *, {address_sql("client")} AS address FROM ({calls_query(CALLS["group_calls"])}) AS group_calls
                WHERE group_id IS NOT NULL AND member_id IS NOT NULL AND member_id != ''),
      given AS (SELECT group_id, member_id, max_by(assignment, struct(completed_ns, assignment)) AS assignment
                FROM calls WHERE assignment IS NOT NULL GROUP BY group_id, member_id),
      entries AS (SELECT group_id, member_id, explode(assignment) AS entry FROM given),
      named AS (SELECT group_id, member_id, sort_array(array_agg(
                         concat(coalesce(k.topic, regexp_replace(entry, '-[0-9]+$', '')), '-',
                                regexp_extract(entry, '-([0-9]+)$', 1)))) AS assignment
                FROM entries LEFT JOIN known k ON regexp_replace(entry, '-[0-9]+$', '') = k.topic_id
                GROUP BY group_id, member_id),
      fetches AS (SELECT client_id, address, max(timestamp) AS last_fetch FROM exchange_facts
                  WHERE api IN ('FETCH', 'SHARE_FETCH') AND coalesce(replica_id, -1) < 0 GROUP BY client_id, address)
 SELECT c.*, coalesce(n.assignment, g.assignment) AS holds, f.last_fetch
 FROM calls c LEFT JOIN given g ON c.group_id = g.group_id AND c.member_id = g.member_id
 LEFT JOIN named n ON c.group_id = n.group_id AND c.member_id = n.member_id
 LEFT JOIN fetches f ON c.client_id = f.client_id AND c.address = f.address) AS asked
GROUP BY group_id, member_id
"""
MEMBERS: tuple[ViewColumn, ...] = (
    column("group_id", "string"),
    column("member_id", "string", "the member"),
    column("instance_id", "string?", "group.instance.id of a static member", "max(instance_id)"),
    column("client_id", "string?", "of its first request", "min_by(client_id, struct(completed_ns, client_id))"),
    column("client_address", "string", "the client's address", "min_by(address, struct(completed_ns, address))"),
    column(
        "joined_at", "instant?", "when it first joined; null: before the capture",
        f"min(timestamp) FILTER (WHERE {IS_JOIN})",
    ),
    column(
        "left_at", "instant?",
        "when it last left, also temporarily (a static member); null: it did not, or the group evicted it",
        f"max(timestamp) FILTER (WHERE {IS_LEAVE})",
    ),
    column(
        "reason", "string?", "the reason in its LeaveGroup, or the last error for a removed member; null: neither",
        f"coalesce(max_by(reason, struct(completed_ns, reason)) FILTER (WHERE ({IS_LEAVE}) AND reason IS NOT NULL), "
        f"max_by(error, struct(completed_ns, error)) FILTER (WHERE error IN {NO_MEMBER}))",
    ),
    column("last_request", "instant", "its last request of the group", "max(timestamp)"),
    column(
        "last_fetch", "instant?",
        "the last Fetch or ShareFetch of its client id from its address; null: none is in the capture",
        "max(last_fetch)",
    ),
    column(
        "joins", "int64", "successful JoinGroup requests, and heartbeats by which it joined",
        f"count(*) FILTER (WHERE {IS_JOIN})",
    ),
    column(
        "generation", "int32?", "its latest generation, or member epoch (KIP-848); null: none captured, or refused",
        "max(answered_generation) FILTER (WHERE error IS NULL)",
    ),
    column("session_timeout_ms", "int32?", "of its JoinGroup", "max(session_timeout_ms)"),
    column(
        "rebalance_timeout_ms", "int32?", "of its JoinGroup or KIP-848 heartbeat: max.poll.interval.ms",
        "nullif(max(rebalance_timeout_ms), -1)",
    ),
    column("assignment", "strings?", "topic-partition: its latest assignment; null: none captured", "max(holds)"),
    column(
        "with_errors", "int64", "its requests whose response has an error",
        "count(*) FILTER (WHERE error IS NOT NULL)",
    ),
)  # fmt: skip

# The partition states of all Metadata responses in order of time. Most partitions have only one state; for these the
# first response is enough.
PARTITION_STATES = f"""
(WITH answers AS (SELECT c.*, l.connection, l.server FROM called c JOIN called_links l ON c.link = l.link
                  WHERE saying IN (SELECT saying FROM metadata_told_said)),
      states AS (SELECT *, {STATE} AS state FROM partition_states),
      first_calls AS (SELECT saying, server, min(completed_ns) AS completed_ns,
                             min_by(timestamp, struct(completed_ns, timestamp)) AS timestamp
                      FROM answers GROUP BY saying, server),
      firsts AS (SELECT server, told, min(completed_ns) AS completed_ns,
                        min_by(timestamp, struct(completed_ns, timestamp)) AS timestamp
                 FROM first_calls f JOIN metadata_told_said t ON f.saying = t.saying GROUP BY server, told),
      moving AS (SELECT server, topic, partition FROM firsts f JOIN states s ON f.told = s.told
                 GROUP BY server, topic, partition HAVING min(state) != max(state)),
      said AS (SELECT f.timestamp, f.completed_ns, f.server, s.*, 0 AS place, NULL AS connection, 0 AS correlation_id
               FROM firsts f JOIN states s ON f.told = s.told
               WHERE (f.server, s.topic, s.partition) NOT IN (SELECT server, topic, partition FROM moving)
               UNION ALL
               SELECT c.timestamp, c.completed_ns, c.server, s.*, 1, c.connection, c.correlation_id
               FROM states s JOIN metadata_told_said t ON s.told = t.told JOIN answers c ON t.saying = c.saying
               JOIN moving m ON c.server = m.server AND s.topic = m.topic AND s.partition = m.partition)
 SELECT *, lag(state) OVER (PARTITION BY server, topic, partition
                            ORDER BY completed_ns, timestamp, place, connection, correlation_id) AS before
 FROM said) AS states_said
WHERE before IS NULL OR before != state
"""
METADATA_PARTITIONS: tuple[ViewColumn, ...] = (
    column("timestamp", "instant", "of the request"),
    column("completed_ns", "int64", "ns since 1970 of the response's last packet"),
    column("server", "string", "the server that answered"),
    *(
        ViewColumn(each.name, each.kind, each.text, each.nullable, each.name)
        for each in RULE_FACTS["partition_states"].columns[1:]
    ),
)
# The ids of topics in partitions without a topic name.
NAMELESS_IDS = """
(SELECT DISTINCT topic_id FROM (SELECT topic_id, topic FROM fetch_partitions
                                UNION ALL SELECT topic_id, topic FROM produce_partitions) AS p
 WHERE topic IS NULL AND topic_id IS NOT NULL) AS nameless_ids
""".strip()
# The name of a topic by its id, from messages that have both. Otherwise it is derived: a client commits by name an
# offset at which it fetches by id, or the last stable offset of such a Fetch (a client that waits there repeats no
# offset within a fetch session); or a batch with the same checksum is in one message by name, and in another by id. A
# derived name needs two hits, and 70 % of the hits of its id. Batches that end a transaction do not count, as they are
# the same in all its partitions.
SAID_TOPICS = "SELECT topic_id, min_by(topic, learnt_ns) AS topic FROM topic_names GROUP BY topic_id"
NAMED_TOPICS = f"""
(WITH named AS ({SAID_TOPICS}),
      nameless AS (SELECT topic_id FROM {NAMELESS_IDS} WHERE topic_id NOT IN (SELECT topic_id FROM named)),
      committers AS (SELECT DISTINCT client_id, topic, partition, committed_offset
                     FROM ({calls_query(CALLS["commits"])}) AS commits WHERE topic IS NOT NULL),
      single AS (SELECT client_id FROM fetch_partitions WHERE topic_id IN (SELECT topic_id FROM nameless)
                 GROUP BY client_id HAVING count(DISTINCT topic_id) = 1
                 INTERSECT SELECT client_id FROM committers GROUP BY client_id HAVING count(DISTINCT topic) = 1),
      hints AS (SELECT topic_id, topic, 'committed' AS how,
                       sum(CASE WHEN client_id IN (SELECT client_id FROM single) THEN 2 ELSE 1 END) AS hits
                FROM (SELECT DISTINCT f.client_id, f.topic_id, f.partition, fetch_offset, c.topic
                      FROM (SELECT client_id, topic_id, partition, fetch_offset FROM fetch_partitions
                             WHERE fetch_offset > 0 AND topic_id IN (SELECT topic_id FROM nameless)
                            UNION ALL SELECT client_id, topic_id, partition, last_stable_offset FROM fetch_partitions
                             WHERE last_stable_offset > 0 AND topic_id IN (SELECT topic_id FROM nameless)) AS f
                      JOIN committers AS c
                        ON f.client_id = c.client_id AND f.partition = c.partition
                        AND f.fetch_offset = c.committed_offset) AS met
                GROUP BY topic_id, topic
                UNION ALL
                SELECT i.topic_id, n.topic, 'same batch', count(*) FROM (SELECT DISTINCT topic_id, partition, crc
                       FROM record_batches
                       WHERE topic IS NULL AND is_control IS NOT TRUE AND topic_id IN (SELECT topic_id FROM nameless)
                      ) AS i
                JOIN (SELECT DISTINCT topic, partition, crc FROM record_batches
                      WHERE topic IS NOT NULL AND is_control IS NOT TRUE) AS n
                       ON i.partition = n.partition AND i.crc = n.crc
                GROUP BY i.topic_id, n.topic),
      summed AS (SELECT topic_id, topic, sum(hits) AS hits, max_by(how, hits) AS how FROM hints
                 GROUP BY topic_id, topic),
      ranked AS (SELECT topic_id, max_by(topic, hits) AS topic, max_by(how, hits) AS how, max(hits) AS most,
                        sum(hits) AS hits FROM summed GROUP BY topic_id)
 SELECT topic_id, topic, 'said' AS how FROM named
 UNION ALL SELECT topic_id, topic, how FROM ranked WHERE most >= 2 AND most >= 0.7 * hits) AS topics_by_id
"""
TOPICS: tuple[ViewColumn, ...] = (
    column("topic_id", "string"),
    column("topic", "string", "its name"),
    column(
        "how", "string",
        "source of the name: said (a message has both), committed (a client commits by name the offsets that it "
        "fetches by id), same batch (its checksum was produced by name and fetched by id)",
    ),
)  # fmt: skip
# By table: its columns, and the query that they are selected from, over facts, `record_batches`, and `known` (topics by
# id).
CALL_VIEWS = {
    "transactions": (TRANSACTIONS, STEPS),
    "members": (MEMBERS, MEMBER_CALLS),
    "metadata_partitions": (METADATA_PARTITIONS, PARTITION_STATES),
    "topics": (TOPICS, NAMED_TOPICS),
}
TEXTS = {
    "transactions": "Transactions of producers; every run updates it.",
    "members": "Members of groups, by their member ids; every run updates it.",
    "metadata_partitions": "Partitions in Metadata responses: a row for each change in those of a server; every run "
    "updates it.",
    "topics": "Names of topics by id, from messages that have both, or derived from other traffic; every run "
    "updates it.",
}
CALL_TABLES = {name: Table(name, TEXTS[name], columns, dated=False) for name, (columns, _) in CALL_VIEWS.items()}


def call_view(table: str) -> str:
    """Return the query for the rows of a table."""
    columns, rows = CALL_VIEWS[table]
    return f"SELECT {', '.join(f'{each.sql} AS {each.name}' for each in columns)} FROM {rows}"
