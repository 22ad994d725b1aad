"""The questions of the page, in SQL that DuckDB and Spark both run, over the pipeline's tables and `prepared` ones.

Where the two call a function by different names, Spark's is used; `kcli.report.engine` teaches DuckDB those. Every
answer is bounded: the biggest first, up to a limit.
"""

from dataclasses import dataclass

from kcli.capture.latency_buckets import percentile_sql
from kcli.pipeline import queries
from kcli.rules.prepared import BY_ID, CLIENT_COUNTS, SERVER_COUNTS, TOPIC
from kcli.tables.connections import address_sql
from kcli.topic_names import CLUSTER_METADATA, METADATA_ID

SERIES = 8  # lines of a chart
SHORT, LONG = 200, 1000  # rows of a table
# The events of the table `undecodable`, in the words of the page.
UNANSWERED = "no response"
EVENTS = {
    "gap": "missing bytes",
    "truncated": "cut packets",
    "undecodable": "undecodable bytes",
    "not-kafka": "not Kafka, or encrypted",
    "unanswered-at-end": UNANSWERED,
}


@dataclass(frozen=True, slots=True)
class ReportQuestion:
    """name: of the answer in the page. title, why: shown above it. empty: what no rows mean. drawn: as a chart."""

    name: str
    title: str
    why: str
    sql: str
    empty: str = "Nothing of the kind was seen."
    drawn: bool = False


OF_FLEETS = {each.name: each for each in queries.QUESTIONS}


def question_of(name: str, why: str, sql: str, *, title: str = "") -> ReportQuestion:
    """Return a question that `kcli sql --question` has, too, under the same title and with the same words for no rows,
    but with other columns. title: another one.
    """
    question = OF_FLEETS[name]
    return ReportQuestion(name, title or question.title, why, sql, question.empty)


OVER_TIME = f"""
SELECT time_ns, c.{{key}} AS {{key}}, count(*) AS exchanges, sum(failed) AS with_errors,
       sum(request_bytes + response_bytes) AS bytes, round({percentile_sql("latency_ms", 0.5)}, 3) AS p50_ms,
       round({percentile_sql("latency_ms", 0.99)}, 3) AS p99_ms, round(max(latency_ms), 3) AS max_ms,
       round({percentile_sql("own_ms", 0.99)}, 3) AS own_p99_ms
FROM page_calls c JOIN (SELECT {{key}} AS name FROM page_calls GROUP BY {{key}}
                   ORDER BY count(*) DESC, {{key}} LIMIT {SERIES}) most
  ON c.{{key}} = most.name
GROUP BY time_ns, c.{{key}} ORDER BY time_ns, c.{{key}}
"""
# The metadata log has an id that no message names.
NAMED = f"CASE WHEN p.topic_id = '{METADATA_ID}' THEN '{CLUSTER_METADATA}' ELSE {TOPIC} END"
FIGURES = f"""count(*) AS exchanges, sum(failed) AS with_errors, sum(request_bytes) AS request_bytes,
       sum(response_bytes) AS response_bytes, round({percentile_sql("latency_ms", 0.5)}, 3) AS p50_ms,
       round({percentile_sql("latency_ms", 0.99)}, 3) AS p99_ms, round(max(latency_ms), 3) AS max_ms"""
FIGURE_NAMES = "exchanges, with_errors, request_bytes, response_bytes, p50_ms, p99_ms, max_ms"
# `connection` is a key in facts, which their captures' rows name by its ends.
CONNECTION = "concat(e.server, '-', e.client)"

QUESTIONS = (
    ReportQuestion(
        "totals",
        "All",
        "",
        f"""
SELECT count(DISTINCT connection) AS connections, {CLIENT_COUNTS},
       {SERVER_COUNTS}, sum(CASE WHEN unanswered THEN 1 ELSE 0 END) AS unanswered, {FIGURES}
FROM page_calls
""",
    ),
    ReportQuestion(
        "errors_over_time",
        "Errors over time",
        "Responses with an error, by name.",
        f"""
SELECT time_ns, error, count(*) AS answers
FROM (SELECT time_ns, explode(errors) AS error FROM page_calls)
WHERE error IN (SELECT error FROM (SELECT explode(errors) AS error FROM page_calls)
                GROUP BY error ORDER BY count(*) DESC, error LIMIT {SERIES})
GROUP BY time_ns, error ORDER BY time_ns, error
""",
        "No response had an error.",
        drawn=True,
    ),
    ReportQuestion(
        "api_over_time",
        "Latency and load over time",
        "From a request's last packet to its response's. Without waits: a Fetch counts what it took beyond its longest "
        "wait for records, and what waits for other members of a group does not count.",
        OVER_TIME.replace("{key}", "api"),
        drawn=True,
    ),
    ReportQuestion("broker_over_time", "", "", OVER_TIME.replace("{key}", "server"), drawn=True),
    ReportQuestion(
        "errors",
        "Errors",
        "Which error was answered to whom, by which broker.",
        f"""
SELECT error, api, client_id, server, count(*) AS answers, min(completed_ns) AS first_ns, max(completed_ns) AS last_ns
FROM (SELECT explode(errors) AS error, api, client_id, server, completed_ns FROM page_calls)
GROUP BY error, api, client_id, server ORDER BY answers DESC, error, api, client_id, server LIMIT {SHORT}
""",
        "No response had an error.",
    ),
    question_of(
        "apis",
        "Every exchange, by API.",
        f"SELECT api, {FIGURES} FROM page_calls GROUP BY api ORDER BY exchanges DESC, api LIMIT {SHORT}",
    ),
    ReportQuestion(
        "brokers",
        "How fast brokers answer",
        "Own: beyond the waits that requests allow, of a Fetch for records; without those of a JoinGroup for members.",
        f"""
SELECT server, count(DISTINCT client_id) AS clients, {FIGURES},
       round({percentile_sql("own_ms", 0.5)}, 3) AS own_p50_ms,
       round({percentile_sql("own_ms", 0.99)}, 3) AS own_p99_ms, round(max(own_ms), 3) AS own_max_ms
FROM page_calls GROUP BY server ORDER BY exchanges DESC, server LIMIT {SHORT}
""",
        "No exchange was seen.",
    ),
    ReportQuestion(
        "clients",
        "Top talkers: clients",
        "By client id and address. A broker is a client of others, too.",
        f"""
SELECT c.client_id AS client_id, c.address AS address,
       CASE WHEN max(b.client_id) IS NULL THEN 'client' ELSE 'broker' END AS role,
       count(DISTINCT connection) AS connections, {FIGURES}
FROM page_calls c LEFT JOIN inner_clients b ON c.client_id = b.client_id AND c.address = b.address
GROUP BY c.client_id, c.address ORDER BY exchanges DESC, client_id, address LIMIT {SHORT}
""",
        "No exchange was seen.",
    ),
    ReportQuestion(
        "topics",
        "Top talkers: topics",
        "Records of Produce, Fetch and ShareFetch. Bytes as they are stored, compressed or not.",
        f"""
SELECT {NAMED} AS topic, count(DISTINCT partition) AS partitions,
       count(DISTINCT client_id) AS clients,
       sum(CASE WHEN api = 'PRODUCE' THEN count ELSE 0 END) AS produced_records,
       sum(CASE WHEN api = 'PRODUCE' THEN size_in_bytes ELSE 0 END) AS produced_bytes,
       sum(CASE WHEN api != 'PRODUCE' THEN count ELSE 0 END) AS fetched_records,
       sum(CASE WHEN api != 'PRODUCE' THEN size_in_bytes ELSE 0 END) AS fetched_bytes
FROM record_batches p {BY_ID} GROUP BY 1
ORDER BY produced_bytes + fetched_bytes DESC, topic LIMIT {SHORT}
""",
        "No record was produced or fetched.",
    ),
    ReportQuestion(
        "connections",
        "Top talkers: connections",
        'A connection is "broker-client", each as address:port.',
        f"""
SELECT {CONNECTION} AS connection, client_id, bytes, {FIGURE_NAMES}, unanswered
FROM (SELECT connection AS link, max(client_id) AS client_id, sum(request_bytes + response_bytes) AS bytes, {FIGURES},
             sum(CASE WHEN unanswered THEN 1 ELSE 0 END) AS unanswered
      FROM page_calls GROUP BY connection) AS asked
JOIN link_ends e ON link = e.connection ORDER BY bytes DESC, connection LIMIT {SHORT}
""",
        "No exchange was seen.",
    ),
    ReportQuestion(
        "pairs",
        "Requests by client and broker",
        "By client, broker and API: the parts of the sums above.",
        f"""
SELECT client_id, server, api, min(api_version) AS min_version, max(api_version) AS max_version, {FIGURES}
FROM page_calls GROUP BY client_id, server, api ORDER BY exchanges DESC, client_id, server, api LIMIT {LONG}
""",
        "No exchange was seen.",
    ),
    ReportQuestion(
        "sessions",
        "Fetch sessions",
        "With a session (KIP-227) a fetch names only what changed. Lost: the broker did not know the session, or its "
        "epoch, any more. Not granted: the client requested a session and got none, as when the cache is full.",
        f"""
SELECT client_id, server, count(*) AS fetches,
       sum(CASE WHEN session_epoch > 0 THEN 1 ELSE 0 END) AS incremental,
       sum(CASE WHEN session_epoch <= 0 THEN 1 ELSE 0 END) AS full_fetches,
       sum(CASE WHEN session_epoch = 0 AND granted_id = 0 AND cardinality(errors) = 0 THEN 1 ELSE 0 END) AS not_granted,
       sum(CASE WHEN array_contains(errors, 'FETCH_SESSION_ID_NOT_FOUND')
                  OR array_contains(errors, 'INVALID_FETCH_SESSION_EPOCH') THEN 1 ELSE 0 END) AS lost,
       count(DISTINCT CASE WHEN session_id > 0 THEN session_id END) AS sessions, sum(request_bytes) AS request_bytes
FROM page_calls WHERE replica_id IS NOT NULL
GROUP BY client_id, server ORDER BY lost DESC, fetches DESC, client_id, server LIMIT {SHORT}
""",
        "No fetch was seen.",
    ),
    ReportQuestion(
        "groups",
        "Rebalances",
        "Groups that were joined. Rebalances: generations seen, or epochs of members (KIP-848).",
        f"""
SELECT group_id, sum(joins) AS joins, count(DISTINCT CASE WHEN generation > 0 THEN generation END) AS rebalances,
       count(DISTINCT CASE WHEN member_id != '' THEN member_id END) AS members, max(generation) AS generation,
       sum(failed) AS with_errors, round(max(join_ms), 3) AS longest_join_ms, min(completed_ns) AS first_ns,
       max(completed_ns) AS last_ns
FROM (SELECT get_json_object(request, '$.groupId') AS group_id, get_json_object(response, '$.memberId') AS member_id,
             completed_ns, CASE WHEN cardinality(errors) > 0 THEN 1 ELSE 0 END AS failed,
             CASE WHEN api = 'JOIN_GROUP' OR get_json_object(request, '$.memberEpoch') = '0' THEN 1 ELSE 0 END AS joins,
             CASE WHEN api = 'JOIN_GROUP' THEN latency_ms END AS join_ms,
             TRY_CAST(coalesce(get_json_object(response, '$.generationId'),
                               get_json_object(response, '$.memberEpoch')) AS INT) AS generation
      FROM noted_exchanges WHERE request IS NOT NULL)
GROUP BY group_id ORDER BY rebalances DESC, group_id LIMIT {SHORT}
""",
        "No group was joined.",
    ),
    ReportQuestion(
        "throttling",
        "Throttling",
        "Responses with a throttle time (quotas).",
        f"""
SELECT client_id, server, api, count(*) AS answers, sum(throttle_ms) AS wait_ms, max(throttle_ms) AS longest_wait_ms
FROM page_calls WHERE throttle_ms > 0
GROUP BY client_id, server, api ORDER BY wait_ms DESC, client_id, server, api LIMIT {SHORT}
""",
        "Nobody was throttled.",
    ),
    ReportQuestion(
        "compression",
        "Compression",
        "Record batches by codec. Few records in a batch compress badly.",
        f"""
SELECT api, compression, magic, count(*) AS batches, sum(count) AS records, sum(size_in_bytes) AS bytes,
       round(avg(count), 1) AS records_per_batch, round(sum(size_in_bytes) / greatest(sum(count), 1), 1) AS record_size
FROM record_batches GROUP BY api, compression, magic ORDER BY bytes DESC, api, compression, magic LIMIT {SHORT}
""",
        "No record batch was seen.",
    ),
    question_of(
        "conversions",
        "A client that reads an older format makes the broker convert (KIP-283). Eager: held for the largest response "
        "before that was done in chunks; lazy: held since.",
        f"""
SELECT client_id, address, api_version AS fetch_version, to_magic, count(*) AS responses,
       sum(bytes) AS converted_bytes, max(eager) AS eager_bytes, max(lazy) AS lazy_bytes
FROM (SELECT coalesce(client_id, '') AS client_id, {address_sql("client")} AS address, api_version,
             to_magic, sum(converted_bytes) AS bytes, sum(eager_bytes) AS eager, max(lazy_bytes) AS lazy
      FROM down_conversions
      GROUP BY client_id, client, api_version, to_magic, connection, correlation_id, timestamp)
GROUP BY client_id, address, api_version, to_magic
ORDER BY converted_bytes DESC, client_id, address, fetch_version, to_magic LIMIT {SHORT}
""",
        title="Down-conversion",
    ),
    question_of(
        "refused",
        "Requests that the newest Kafka release no longer takes (KIP-896). Brokers are upgraded with the cluster, so "
        "they stand apart.",
        f"""
SELECT coalesce(c.client_id, '') AS client_id, c.address AS address,
       CASE WHEN max(b.client_id) IS NULL THEN 'client' ELSE 'broker' END AS role, verdict,
       concat_ws(' ', max(software), max(software_version)) AS software,
       concat_ws(', ', array_sort(array_agg(DISTINCT concat(api, ' ', api_version)))) AS used,
       sum(requests) AS requests, max(connections) AS connections, max(release) AS release
FROM judged_clients c LEFT JOIN inner_clients b ON coalesce(c.client_id, '') = b.client_id AND c.address = b.address
WHERE verdict != 'ok' GROUP BY coalesce(c.client_id, ''), c.address, verdict
ORDER BY role DESC, verdict, requests DESC, client_id, address LIMIT {SHORT}
""",
    ),
    question_of(
        "leaders",
        "From the first NOT_LEADER_OR_FOLLOWER or FENCED_LEADER_EPOCH to the next good response. A follower that does "
        "not ask again leads the partition itself, or follows it no more: that is no outage.",
        f"""
SELECT coalesce(l.client_id, '') AS client_id, client_address AS address, api,
       CASE WHEN max(b.client_id) IS NULL THEN 'client' ELSE 'follower' END AS role,
       count(*) AS changes, count(DISTINCT concat(topic, '-', partition)) AS partitions,
       sum(l.error_answers) AS answers, sum(CASE WHEN hint_sent THEN 1 ELSE 0 END) AS hints,
       sum(CASE WHEN recovered IS NULL AND b.client_id IS NULL THEN 1 ELSE 0 END) AS not_recovered,
       sum(CASE WHEN recovered IS NULL AND b.client_id IS NOT NULL THEN 1 ELSE 0 END) AS no_longer_following,
       round(percentile_approx(lost_ms, 0.5), 1) AS lost_p50_ms, round(max(lost_ms), 1) AS lost_max_ms
FROM leader_changes l LEFT JOIN inner_clients b
  ON coalesce(l.client_id, '') = b.client_id AND l.client_address = b.address
GROUP BY coalesce(l.client_id, ''), client_address, api
ORDER BY role, not_recovered DESC, lost_max_ms DESC NULLS LAST, client_id, address, api LIMIT {SHORT}
""",
        title="Leader changes",
    ),
    question_of(
        "lost",
        "Nothing is dropped silently: bytes that are in no exchange, and requests without a response.",
        f"""
SELECT CASE event {" ".join(f"WHEN '{event}' THEN '{words}'" for event, words in EVENTS.items())} ELSE event
       END AS event,
       CASE WHEN count(DISTINCT reason) > 1 THEN concat(min(reason), ', and ', count(DISTINCT reason) - 1, ' alike')
            ELSE min(reason) END AS reason, count(*) AS events, sum(bytes) AS bytes,
       count(DISTINCT connection) AS connections
FROM undecodable GROUP BY event, translate(reason, '0123456789', '')
ORDER BY events DESC, event, reason LIMIT {SHORT}
""",
    ),
)

# What only captures answer, behind the others.
CAPTURED = (
    ReportQuestion(
        "network",
        "Round trips and retransmissions",
        "Of connections: TCP's handshake, from the client's SYN to its acknowledgement of the broker's, and segments "
        "that were retransmitted.",
        f"""
SELECT {CONNECTION} AS connection, client_id, exchanges, round_trip_ms, retransmissions
FROM (SELECT connection AS link, max(client_id) AS client_id, count(*) AS exchanges
      FROM page_calls GROUP BY connection) AS asked
JOIN (SELECT connection AS sum_link, round(min(round_trip_ms), 3) AS round_trip_ms
      FROM connection_sums GROUP BY connection) AS met ON link = sum_link
JOIN (SELECT connection AS tcp_link, sum(c_resent + s_resent) AS retransmissions
      FROM tcp GROUP BY connection) AS counted ON link = tcp_link
JOIN link_ends e ON link = e.connection
ORDER BY retransmissions DESC, round_trip_ms DESC NULLS LAST, connection LIMIT {SHORT}
""",
    ),
)

# What only the pipeline's own tables answer.
FOUND = ReportQuestion(
    "findings",
    "",
    "",
    f"""
SELECT finding, severity, subject, evidence, text, ruled_out, advice, see, source
FROM findings ORDER BY rank LIMIT {SHORT}
""",
)
FLEET = (
    FOUND,
    *(question_of(name, OF_FLEETS[name].why, OF_FLEETS[name].sql) for name in ("remote", "quorum", "lineage")),
)
