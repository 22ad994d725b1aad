"""Tables that several rules read, derived once from the facts, in SQL that both DuckDB and Spark run.

If the two have different names for a function, Spark's is used; `kcli.rules.rule_tables` defines it in DuckDB (MACROS).
Times are ns since 1970 (`ns` is the request's), or seconds if a column says so.
"""

from kcli.rules.captured_times import TIMES, WAITING
from kcli.tables.call_views import CALL_VIEWS, SAID_TOPICS, call_view
from kcli.tables.connections import address_sql
from kcli.tables.rule_facts import CALLS, RULE_FACTS, calls_query

# Requests other than Metadata that only inspect the cluster.
LOOKS = """(
    'LIST_GROUPS', 'DESCRIBE_GROUPS', 'CONSUMER_GROUP_DESCRIBE', 'DESCRIBE_CONFIGS', 'DESCRIBE_LOG_DIRS',
    'OFFSET_FETCH', 'LIST_OFFSETS', 'DESCRIBE_PRODUCERS', 'LIST_TRANSACTIONS', 'DESCRIBE_TRANSACTIONS',
    'DESCRIBE_ACLS', 'DESCRIBE_CLUSTER', 'DESCRIBE_TOPIC_PARTITIONS', 'DESCRIBE_QUORUM',
    'DESCRIBE_CLIENT_QUOTAS', 'DESCRIBE_USER_SCRAM_CREDENTIALS'
  )"""
# Requests that a broker answers at once: for no records, members or followers.
AT_ONCE = """'METADATA', 'API_VERSIONS', 'HEARTBEAT', 'FIND_COORDINATOR', 'LIST_OFFSETS', 'OFFSET_FETCH',
                 'CONSUMER_GROUP_HEARTBEAT'"""
# Requests of clients that do more than inspect the cluster.
WORK = "('FETCH', 'PRODUCE', 'JOIN_GROUP', 'CONSUMER_GROUP_HEARTBEAT', 'STREAMS_GROUP_HEARTBEAT', 'SHARE_FETCH')"

# The latency (ms) beyond the wait that the request allows, from a row of `calls`; null if unknown.
BEYOND_WAIT_MS = f"""
CASE WHEN api IN {WAITING} THEN NULL
     WHEN api != 'FETCH' THEN latency_ms
     WHEN latency_ms > max_wait_ms THEN latency_ms - max_wait_ms
     WHEN latency_ms <= max_wait_ms THEN 0 END
"""
# Clients that are brokers or controllers. They send requests that no other client sends: those of these keys, Fetches
# of followers, or AddPartitionsToTxn in the versions for brokers. Or they send only WriteTxnMarkers (which
# abortTransaction of an Admin sends, too) and ApiVersions.
INNER_CLIENTS = """
SELECT client_id, address
FROM (
  SELECT coalesce(client_id, '') AS client_id, address, api_key IN (18, 27) AS quiet, api_key = 27 AS markers,
         api_key IN (4, 5, 6, 7, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82, 83, 84, 85, 86, 87)
         OR coalesce(replica_id, -1) >= 0 OR (api_key = 24 AND api_version >= 4) AS inside
  FROM (
    SELECT client_id, address, api_key, max(api_version) AS api_version, max(replica_id) AS replica_id
    FROM exchange_facts
    GROUP BY client_id, address, api_key
  ) AS asked_for
) AS asked
GROUP BY client_id, address
HAVING max(CASE WHEN inside THEN 1 ELSE 0 END) = 1
  OR (min(CASE WHEN quiet THEN 1 ELSE 0 END) = 1 AND max(CASE WHEN markers THEN 1 ELSE 0 END) = 1)
"""
# The number of client ids, and of the ids that only brokers use, in rows with `client_id` and `inner_client`.
CLIENT_COUNTS = """count(DISTINCT client_id) AS clients,
       count(DISTINCT client_id) - count(DISTINCT CASE WHEN NOT inner_client THEN client_id END) AS broker_clients"""
# A request that only a KRaft controller is asked.
OF_CONTROLLERS = """api IN ('BROKER_HEARTBEAT', 'BROKER_REGISTRATION', 'CONTROLLER_REGISTRATION', 'VOTE',
            'BEGIN_QUORUM_EPOCH', 'END_QUORUM_EPOCH', 'FETCH_SNAPSHOT')"""
SERVER_COUNTS = f"""count(DISTINCT server) - count(DISTINCT CASE WHEN {OF_CONTROLLERS} THEN server END) AS brokers,
       count(DISTINCT CASE WHEN {OF_CONTROLLERS} THEN server END) AS controllers"""
# Errors of normal operation: a member asks for its id, or a version or a fetch session is negotiated.
ROUTINE_ERRORS = ("MEMBER_ID_REQUIRED", "FETCH_SESSION_TOPIC_ID_ERROR", "UNSUPPORTED_VERSION")

# Whether an `error` of an `api` is a problem. The excluded errors occur when clients and members start.
TROUBLES = """
error NOT IN ('NONE', 'MEMBER_ID_REQUIRED', 'CONCURRENT_TRANSACTIONS', 'REBALANCE_IN_PROGRESS')
AND NOT (api = 'API_VERSIONS' AND error = 'UNSUPPORTED_VERSION') AND error NOT LIKE 'COORDINATOR_%'
-- how a client finds out that a group is of the classic protocol
AND NOT (api LIKE '%DESCRIBE%' AND error IN ('GROUP_ID_NOT_FOUND', 'UNSUPPORTED_VERSION'))
""".strip()

# When the client, or the server, ended a TCP connection; null if it did not.
CLIENT_END = "least(coalesce(c_fin_ns, c_rst_ns), coalesce(c_rst_ns, c_fin_ns))"
SERVER_END = "least(coalesce(s_fin_ns, s_rst_ns), coalesce(s_rst_ns, s_fin_ns))"
# The join of a batch `b` with the partition `p` of the Produce request that sent it.
OF_BATCH = (
    "p.connection = b.connection AND p.correlation_id = b.correlation_id AND p.topic = b.topic "
    "AND p.partition = b.partition AND b.api = 'PRODUCE'"
)
# The topic's name in a row, or its id if no name is known.
TOPIC = "coalesce(p.topic, t.topic, p.topic_id)"
BY_ID = "LEFT JOIN topic_by_id t ON p.topic_id = t.topic_id"


def ends_sql(text: str) -> str:
    """Return the SQL of the columns of `link_ends`. text: the SQL of the connection's name."""
    return f"split_part({text}, '-', 1) AS server, split_part({text}, '-', 2) AS client"


# The largest offset: a log has no larger one, and numbers of records can be added to it.
LARGEST_OFFSET = 9_223_372_032_559_808_511


def offset_sql(text: str) -> str:
    """Return the SQL of an offset; null if no log has it, as -1 or a number in a damaged message: any two offsets can
    be subtracted. text: the SQL of the number in the message.
    """
    return f"CASE WHEN {text} BETWEEN 0 AND {LARGEST_OFFSET} THEN {text} END"


# Prepared tables that are views: they add a column or two to another table's rows.
VIEWS = frozenset({"timed"})
COMMITS = [each for each in CALLS["commits"].names if each not in ("topic", "committed_offset")]
PREPARED: dict[str, str] = {
    **TIMES,
    **{name: calls_query(table) for name, table in CALLS.items()},
    "commits": f"""
SELECT {", ".join(f"c.{each}" for each in COMMITS)},
       {offset_sql("c.committed_offset")} AS committed_offset, coalesce(c.topic, t.topic, c.topic_id) AS topic
FROM ({calls_query(CALLS["commits"])}) AS c LEFT JOIN topic_by_id t ON c.topic_id = t.topic_id
""",
    "inner_clients": INNER_CLIENTS,
    # unanswered: without the response that a request awaits; false also if the capture may have lost it (no `errors`).
    "calls": """
SELECT unix_micros(f.timestamp) * 1000 AS ns, completed_ns, connection, server, f.address,
       coalesce(f.client_id, '') AS client_id, correlation_id, api_version,
       coalesce(api, concat('API ', api_key)) AS api, request_bytes, response_bytes, latency_ms, errors,
       cardinality(errors) > 0 AS failed, replica_id, session_id, session_epoch, granted_id, max_wait_ms, min_bytes,
       isolation_level, acks, coalesce(throttle_ms, 0) AS throttle_ms, is_cut, i.client_id IS NOT NULL AS inner_client,
       response_bytes IS NULL AND errors IS NOT NULL AND NOT (api_key = 0 AND acks = 0) AS unanswered
FROM exchange_facts f LEFT JOIN inner_clients i ON coalesce(f.client_id, '') = i.client_id AND f.address = i.address
""",
    "metadata_partitions": call_view("metadata_partitions"),
    # The client of each connection. A finding on a client is about all its addresses.
    "links": """
SELECT connection, min_by(client_id, ns) AS client_id, min(server) AS server, min(address) AS address,
       min(ns) AS first_ns, max(greatest(ns, coalesce(completed_ns, ns))) AS last_ns,
       max(CASE WHEN response_bytes IS NULL THEN ns ELSE completed_ns END) AS seen_ns, count(*) AS requests,
       bool_or(inner_client) AS inner_client,
       sum(CASE WHEN unanswered THEN 1 ELSE 0 END) AS unanswered,
       sum(request_bytes) AS request_bytes, sum(coalesce(response_bytes, 0)) AS response_bytes
FROM calls
GROUP BY connection
""",
    # The addresses of connections. The column `connection` is only a key: a number, or a text with both addresses.
    "link_ends": f"""
SELECT connection, {ends_sql("connection")}
FROM (SELECT connection FROM links UNION SELECT connection FROM undecodable WHERE connection IS NOT NULL) AS known
""",
    "clients": """
SELECT client_id, requests, c.first_ns, c.last_ns, connections,
       greatest(sum(least(c.last_ns, t.last_ns) - greatest(c.first_ns, t.first_ns)) / 1e9, 0.001) AS seconds
FROM (
  SELECT client_id, count(*) AS requests, min(ns) AS first_ns, max(completed_ns) AS last_ns,
         count(DISTINCT connection) AS connections
  FROM calls
  WHERE NOT inner_client
  GROUP BY client_id
) AS c
LEFT JOIN stretches t ON t.first_ns <= c.last_ns AND t.last_ns >= c.first_ns
GROUP BY client_id, requests, c.first_ns, c.last_ns, connections
""",
    "nodes": """
SELECT address AS server, min(node_id) AS node_id FROM advertised GROUP BY address HAVING count(DISTINCT node_id) = 1
""",
    "brokers": """
SELECT s.server, split(concat_ws('|', CAST(n.node_id AS STRING), s.server), '[|]') AS broker,
       CASE WHEN n.node_id IS NULL THEN s.server ELSE concat(n.node_id, ' (', s.server, ')') END AS broker_name
FROM (SELECT server FROM calls UNION SELECT server FROM tcp UNION SELECT address FROM advertised) AS s
LEFT JOIN (
  SELECT server, node_id FROM nodes
  UNION ALL
  SELECT server, min(node_id) FROM voters WHERE server NOT IN (SELECT server FROM nodes) GROUP BY server
) AS n ON s.server = n.server
""",
    "group_clients": """
SELECT client_id, group_id, count(*) AS calls
FROM group_calls
WHERE client_id IS NOT NULL AND group_id IS NOT NULL
GROUP BY client_id, group_id
""",
    "client_groups": """
SELECT client_id, array_agg(DISTINCT group_id) AS groups FROM group_clients GROUP BY client_id
""",
    "topic_by_id": f"SELECT topic_id, topic FROM {CALL_VIEWS['topics'][1]}",
    "fetched": f"""
SELECT unix_micros(p.timestamp) * 1000 AS ns, p.connection, p.server, coalesce(p.client_id, '') AS client_id,
       p.correlation_id, {TOPIC} AS topic, p.topic_id, p.partition, p.asked, p.answered, p.error, p.records_bytes,
       p.max_bytes, p.batches, p.api_version, CASE WHEN p.fetch_offset >= 0 THEN p.fetch_offset END AS fetch_offset,
       {offset_sql("p.high_watermark")} AS high_watermark,
       {offset_sql("p.last_stable_offset")} AS last_stable_offset,
       {offset_sql("p.log_start_offset")} AS log_start_offset, {offset_sql("p.last_offset")} AS last_offset
FROM fetch_partitions p {BY_ID}
""",
    "produced": f"""
SELECT unix_micros(p.timestamp) * 1000 AS ns, p.connection, p.server, coalesce(p.client_id, '') AS client_id,
       p.correlation_id, {TOPIC} AS topic, p.partition, p.acks, p.answered, p.error, p.records_bytes, p.batches,
       {offset_sql("p.base_offset")} AS base_offset
FROM produce_partitions p {BY_ID}
""",
    "batches": f"""
SELECT unix_micros(p.timestamp) * 1000 AS ns, p.connection, coalesce(p.client_id, '') AS client_id, p.correlation_id,
       p.api, {TOPIC} AS topic, p.partition, p.magic, p.compression, p.timestamp_type, p.is_transactional,
       p.is_control, p.producer_id, p.producer_epoch, p.base_sequence, p.max_timestamp,
       CAST(p.count AS BIGINT) AS records, p.size_in_bytes, p.crc, p.crc_valid,
       {offset_sql("p.base_offset")} AS base_offset, {offset_sql("p.last_offset")} AS last_offset
FROM record_batches p {BY_ID}
""",
    # Servers with followers: a Produce with acks=all waits for these.
    "replicated": "SELECT DISTINCT server FROM calls WHERE api = 'FETCH' AND replica_id >= 0",
    "controllers": f"SELECT DISTINCT server FROM calls WHERE {OF_CONTROLLERS}",
    # Answered requests. own_ms: the latency beyond the wait that the request asks for; null: unknown.
    "timed": f"""
SELECT ns, completed_ns, connection, c.server, client_id, address, correlation_id, api, acks, inner_client, latency_ms,
       CASE WHEN api != 'FETCH' OR latency_ms > max_wait_ms THEN {BEYOND_WAIT_MS} END AS own_ms,
       api = 'PRODUCE' AND acks = -1 AND r.server IS NOT NULL AS awaits_replicas
FROM calls c LEFT JOIN replicated r ON c.server = r.server
WHERE latency_ms IS NOT NULL
""",
    # The last time at which a request of a connection was answered, or may have been. Responses arrive in order, and
    # bytes that the capture misses may hold responses. The same is true if the capture has no packet of the broker,
    # unless the client retransmits again and again.
    "heard": """
SELECT connection, max(ns) AS ns
FROM (
  SELECT connection, max(ns) AS ns
  FROM calls
  WHERE response_bytes IS NOT NULL
  GROUP BY connection
  UNION ALL
  SELECT connection, max(unix_micros(timestamp) * 1000)
  FROM undecodable
  WHERE event IN ('gap', 'truncated', 'undecodable') AND connection IS NOT NULL
  GROUP BY connection
  UNION ALL
  SELECT connection, max(last_ns) FROM tcp WHERE s_segments = 0 AND c_unacked_resent = 0 GROUP BY connection
) AS ends
GROUP BY connection
""",
    # TCP connections, with the client id of their requests. A client that sends data was accepted, whether the capture
    # has the SYN-ACK or not.
    "conns": f"""
SELECT {", ".join(f"t.{each}" for each in RULE_FACTS["tcp"].names if each != "accepted")},
       t.accepted OR t.c_data_segments > 0 AS accepted,
       l.client_id, l.requests, l.unanswered, coalesce(l.inner_client, false) AS inner_client,
       coalesce(l.address, {address_sql("t.client")}) AS host, {address_sql("t.server")} AS broker_host,
       coalesce(l.request_bytes, 0) AS request_bytes, coalesce(l.response_bytes, 0) AS response_bytes
FROM tcp t LEFT JOIN links l ON t.connection = l.connection
""",
    # Times when a broker was down: most of its connections ended at about the same time, and new ones were refused
    # afterwards. Connections that began in between do not count.
    "outages": f"""
WITH ends AS (
  SELECT server, connection, first_ns, client_id,
         {SERVER_END} AS server_ns,
         {CLIENT_END} AS client_ns, s_rst_ns, last_ns
  FROM conns
  WHERE accepted OR requests > 0
),
by_server AS (
  SELECT *, server_ns - lag(server_ns) OVER (PARTITION BY server ORDER BY server_ns) AS since_ns
  FROM ends
  WHERE server_ns IS NOT NULL AND (client_ns IS NULL OR server_ns <= client_ns)
),
numbered AS (
  SELECT *,
         sum(CASE WHEN since_ns IS NULL OR since_ns > 2000000000 THEN 1 ELSE 0 END)
           OVER (PARTITION BY server ORDER BY server_ns ROWS UNBOUNDED PRECEDING) AS island
  FROM by_server
),
begun AS (SELECT *, min(server_ns) OVER (PARTITION BY server, island) AS gone_ns FROM numbered),
islands AS (
  SELECT server, island, min(gone_ns) AS gone_ns, max(server_ns) AS closed_ns, count(*) AS closed,
         count(DISTINCT client_id) AS closed_clients,
         sum(CASE WHEN s_rst_ns IS NOT NULL AND s_rst_ns < server_ns + 1000000000 THEN 1 ELSE 0 END) AS resets
  FROM begun
  WHERE first_ns < gone_ns
  GROUP BY server, island
),
alive AS (
  SELECT i.server, i.island, count(*) AS open
  FROM islands i
  JOIN ends e
    ON e.server = i.server AND e.first_ns < i.gone_ns
    AND coalesce(least(e.server_ns, e.client_ns), e.server_ns, e.client_ns, e.last_ns) >= i.gone_ns
  GROUP BY i.server, i.island
),
refused AS (
  SELECT i.server, i.island, count(*) AS refused, max(c.first_ns) AS last_refused_ns
  FROM islands i
  JOIN conns c
    ON c.server = i.server AND c.opened AND NOT c.accepted AND c.first_ns BETWEEN i.gone_ns AND i.gone_ns + 60000000000
  GROUP BY i.server, i.island
),
again AS (
  SELECT i.server, i.island, min(e.first_ns) AS back_ns
  FROM islands i JOIN ends e ON e.server = i.server AND e.first_ns > i.closed_ns
  GROUP BY i.server, i.island
),
pending AS (
  SELECT i.server, i.island, count(*) AS unanswered,
         sum(CASE WHEN c.api = 'FETCH' THEN 0 ELSE 1 END) AS unanswered_others
  FROM islands i
  JOIN calls c
    ON c.server = i.server AND c.unanswered
    AND c.ns BETWEEN i.gone_ns - 35000000000 AND i.closed_ns + 1000000000
  LEFT JOIN heard h ON h.connection = c.connection
  WHERE c.ns > coalesce(h.ns, 0)
  GROUP BY i.server, i.island
),
moved AS (
  SELECT server, ns, 1 AS handed
  FROM fetched
  WHERE error IN ('NOT_LEADER_OR_FOLLOWER', 'FENCED_LEADER_EPOCH')
  UNION ALL
  SELECT server, ns, 1
  FROM produced
  WHERE error = 'NOT_LEADER_OR_FOLLOWER'
),
handed AS (
  SELECT i.server, i.island, count(*) AS handed_over
  FROM islands i
  JOIN moved m ON m.server = i.server AND m.ns BETWEEN i.gone_ns - 20000000000 AND i.closed_ns + 500000000
  GROUP BY i.server, i.island
)
SELECT i.server, gone_ns, closed_ns, closed, closed_clients, resets, open, refused, last_refused_ns,
       CASE WHEN back_ns > coalesce(last_refused_ns, closed_ns) THEN back_ns END AS back_ns,
       coalesce(unanswered, 0) AS unanswered, coalesce(unanswered_others, 0) AS unanswered_others,
       coalesce(handed_over, 0) AS handed_over,
       coalesce(handed_over, 0) = 0 AND (coalesce(unanswered, 0) >= 2 OR resets > 0) AS crashed
FROM islands i
JOIN alive USING (server, island)
JOIN refused USING (server, island)
LEFT JOIN again USING (server, island)
LEFT JOIN pending USING (server, island)
LEFT JOIN handed USING (server, island)
WHERE closed >= 2 AND closed >= 0.6 * open
""",
    # The time in which an outage may affect clients: leaders move away before it, and back after it.
    "outage_windows": """
SELECT server, gone_ns, gone_ns - 20000000000 AS from_ns,
       coalesce(back_ns, gone_ns + 20000000000) + 20000000000 AS to_ns
FROM outages
""",
    # Findings that no outage explains, because their evidence occurs outside of outages, too.
    "outage_spares": f"""
WITH shaken AS (
  SELECT gone_ns - 5000000000 AS from_ns, coalesce(back_ns + 10000000000, gone_ns + 60000000000) AS to_ns FROM outages
),
storms AS (
  SELECT group_id, count(DISTINCT answered_generation) AS generations
  FROM group_calls c
  WHERE api IN ('JOIN_GROUP', 'CONSUMER_GROUP_HEARTBEAT', 'STREAMS_GROUP_HEARTBEAT') AND error IS NULL
    AND answered_generation > 0
    AND NOT EXISTS (SELECT 1 FROM shaken s WHERE c.completed_ns BETWEEN s.from_ns AND s.to_ns)
  GROUP BY group_id
),
churn AS (
  SELECT client_id, count(*) AS connections
  FROM conns c
  WHERE opened AND requests BETWEEN 1 AND 12 AND last_ns - first_ns <= 3000000000 AND NOT inner_client
    AND NOT EXISTS (SELECT 1 FROM shaken s WHERE c.first_ns BETWEEN s.from_ns AND s.to_ns)
  GROUP BY client_id
),
failures AS (
  SELECT client_id, api, error, count(*) AS answers
  FROM (SELECT client_id, api, explode(errors) AS error, ns FROM calls WHERE failed AND NOT inner_client) AS c
  WHERE {TROUBLES} AND NOT EXISTS (SELECT 1 FROM shaken s WHERE c.ns BETWEEN s.from_ns AND s.to_ns)
  GROUP BY client_id, api, error
),
waited AS (
  SELECT count(*) AS joins
  FROM (SELECT unix_micros(timestamp) * 1000 AS ns, completed_ns FROM group_calls WHERE api = 'JOIN_GROUP') AS c
  WHERE completed_ns - ns >= 10000000000
    AND NOT EXISTS (SELECT 1 FROM shaken s WHERE c.ns <= s.to_ns AND c.completed_ns >= s.from_ns)
)
SELECT concat_ws(',', CASE WHEN (SELECT max(generations) FROM storms) >= 6 THEN 'rebalance-storm' END,
                 CASE WHEN (SELECT max(connections) FROM churn) >= 15 THEN 'connection-churn' END,
                 CASE WHEN (SELECT max(answers) FROM failures) >= 10 THEN 'errors-again' END,
                 CASE WHEN (SELECT joins FROM waited) > 0 THEN 'slow-rebalance' END) AS spares
""",
    # Clients that waited for a broker that was down, for an answer or for a new leader, and their waiting times.
    "outage_waits": """
WITH late AS (
  SELECT w.server, w.gone_ns, client_id, max(own_ms) / 1e3 AS seconds
  FROM outage_windows w JOIN timed t ON t.completed_ns > w.gone_ns AND t.ns BETWEEN w.from_ns AND w.to_ns
  WHERE own_ms >= 500 AND NOT inner_client
  GROUP BY w.server, w.gone_ns, client_id
),
asked AS (
  SELECT client_id, topic, partition, ns, error
  FROM produced
  UNION ALL
  SELECT client_id, topic, partition, ns, error
  FROM fetched
  WHERE answered
),
refused AS (
  SELECT w.server, w.gone_ns, client_id, topic, partition, min(ns) AS since_ns
  FROM outage_windows w JOIN asked a ON a.ns BETWEEN w.from_ns AND w.to_ns
  WHERE error IN ('NOT_LEADER_OR_FOLLOWER', 'FENCED_LEADER_EPOCH', 'LEADER_NOT_AVAILABLE')
  GROUP BY w.server, w.gone_ns, client_id, topic, partition
),
led AS (
  SELECT r.server, r.gone_ns, r.client_id, r.topic, r.partition, (min(a.ns) - min(since_ns)) / 1e9 AS seconds
  FROM refused r
  JOIN asked a
    ON a.client_id = r.client_id AND a.topic = r.topic AND a.partition = r.partition AND a.ns > r.since_ns
    AND a.error IS NULL
  GROUP BY r.server, r.gone_ns, r.client_id, r.topic, r.partition
),
waits AS (
  SELECT server, gone_ns, client_id, max(seconds) AS seconds
  FROM (
    SELECT server, gone_ns, client_id, seconds FROM late UNION ALL SELECT server, gone_ns, client_id, seconds FROM led
  ) AS both_kinds
  WHERE client_id NOT IN (SELECT client_id FROM inner_clients)
  GROUP BY server, gone_ns, client_id
  HAVING max(seconds) >= 0.5
)
SELECT server, gone_ns, array_agg(DISTINCT client_id) AS waiting_clients, max(seconds) AS longest_wait_seconds,
       array_agg(concat(client_id, ' ', round(seconds, 1), ' s')) AS waits
FROM waits
GROUP BY server, gone_ns
""",
}


def query_of(table: str, *, nameless: bool) -> str:
    """Return the query of a prepared table. nameless: topics may be known only by their ids."""
    if nameless:
        return PREPARED[table]
    if table == "topic_by_id":
        return SAID_TOPICS
    return PREPARED[table].replace(TOPIC, "coalesce(p.topic, p.topic_id)").replace(BY_ID, "")
