"""The questions of the report and of `kcli sql --question`, with the SQL that answers each over the pipeline's tables.

Both Spark and DuckDB run it, and a test compares their answers. So the SQL uses no function that only one of them has,
a second sort key wherever rows could tie, and aggregates of text in the order of their values.
"""

from dataclasses import dataclass

from kcli.tables.connections import address_sql


@dataclass(frozen=True, slots=True)
class Question:
    """A question. why: the purpose of the answer; sql: over the tables by name; empty: the meaning of an answer without
    rows.
    """

    name: str
    title: str
    why: str
    sql: str
    empty: str


QUESTIONS = (
    Question(
        "refused",
        "Clients that an upgrade refuses",
        "Kafka 4.0 dropped what clients before 2.1 speak (KIP-896). These used versions that the release no "
        "longer takes.",
        """
SELECT coalesce(client_id, '') AS client, address, concat_ws(' ', software, software_version) AS software,
       concat_ws(', ', array_sort(array_agg(DISTINCT concat(api, ' ', api_version)))) AS used,
       sum(requests) AS requests, max(connections) AS connections, verdict, max(release) AS release
FROM clients WHERE verdict != 'ok'
GROUP BY client_id, address, software, software_version, verdict
ORDER BY verdict, requests DESC, client, address, software, client_id, software_version
""",
        "Every client seen speaks what the newest release takes.",
    ),
    Question(
        "conversions",
        "Who forces down-conversion, and what it costs",
        "A client that reads an older format makes the broker convert (KIP-283): eager is what a broker held "
        "for the largest "
        "response before it did so in chunks, lazy what it holds since.",
        f"""
SELECT client, client_id, api_version AS fetch_version, to_magic, count(*) AS responses, sum(bytes) AS converted_bytes,
       max(eager) AS eager_bytes, max(lazy) AS lazy_bytes
FROM (SELECT coalesce(client_id, '') AS client_id, {address_sql("client")} AS client, api_version, to_magic,
             sum(converted_bytes) AS bytes, sum(eager_bytes) AS eager, max(lazy_bytes) AS lazy
      FROM down_conversions GROUP BY client_id, client, api_version, to_magic, connection, correlation_id, timestamp)
GROUP BY client, client_id, api_version, to_magic
ORDER BY converted_bytes DESC, client, client_id, fetch_version, to_magic
""",
        "No fetch requested an older format.",
    ),
    Question(
        "sessions",
        "How well fetch sessions work",
        "With a session (KIP-227) a fetch names only what changed. Saved: bytes that full fetches would have "
        "taken, over those "
        "that were sent.",
        """
SELECT server, client_id, replica_id, count(*) AS sessions, sum(fetches) AS fetches,
       sum(fetch_sessions.full) AS full_fetches, sum(not_granted) AS not_granted,
       sum(CASE WHEN end_reason = 'evicted' THEN 1 ELSE 0 END) AS evicted,
       max(partitions_most) AS partitions, sum(request_bytes + response_bytes - records_bytes) AS sent_bytes,
       round(sum(full_request_bytes + full_response_bytes) / sum(request_bytes + response_bytes), 2) AS saved
FROM fetch_sessions GROUP BY server, client_id, replica_id ORDER BY fetches DESC, server, client_id, replica_id
""",
        "No fetches were seen.",
    ),
    Question(
        "leaders",
        "What leader changes cost",
        "From the first NOT_LEADER_OR_FOLLOWER or FENCED_LEADER_EPOCH to the next good response. A hint in the "
        "answer (KIP-951) "
        "lets the client go on at once: saved is the wait it would have spared.",
        """
SELECT client_id, api, count(*) AS changes, sum(error_answers) AS error_answers,
       sum(CASE WHEN hint_sent THEN 1 ELSE 0 END) AS hints,
       sum(CASE WHEN recovered IS NULL THEN 1 ELSE 0 END) AS not_recovered,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY lost_ms), 1) AS lost_p50_ms,
       round(percentile_cont(0.99) WITHIN GROUP (ORDER BY lost_ms), 1) AS lost_p99_ms,
       round(max(lost_ms), 1) AS lost_most_ms, round(sum(hint_saves_ms), 1) AS hint_saves_ms
FROM leader_changes GROUP BY client_id, api ORDER BY sum(lost_ms) DESC NULLS LAST, client_id, api
""",
        "No request met a broker that no longer led.",
    ),
    Question(
        "remote",
        "What a bigger remote fetch would save",
        "Consumers far behind the end, which read from tiered storage. With "
        "remote.max.partition.fetch.bytes (KIP-1018) of "
        "4 MiB the same bytes take a quarter of the requests of 1 MiB.",
        """
SELECT client_id, coalesce(topic, topic_id) AS topic, count(DISTINCT partition) AS partitions, count(*) AS requests,
       sum(records_bytes) AS bytes, ceil(sum(requests_1mb)) AS requests_1mb, ceil(sum(requests_4mb)) AS requests_4mb
FROM remote_fetches GROUP BY client_id, coalesce(topic, topic_id) ORDER BY bytes DESC, client_id, topic
""",
        "No consumer read far behind the end.",
    ),
    Question(
        "quorum",
        "Snapshots that crossed the wire",
        "Brokers and controllers that were too far behind to follow the metadata log (KIP-630).",
        """
SELECT server, client, client_id, topic, end_offset, epoch, size_bytes, received_bytes, requests,
       round(seconds, 3) AS seconds, complete, error_names
FROM quorum ORDER BY timestamp, server, client, client_id, topic, end_offset, epoch
""",
        "No node fetched a snapshot.",
    ),
    Question(
        "apis",
        "What was asked",
        "Every exchange by API. Latency is from the request's last packet to the response's.",
        """
SELECT api, count(*) AS exchanges, count(DISTINCT connection) AS connections,
       sum(request_bytes) AS request_bytes, sum(response_bytes) AS response_bytes,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY latency_ms), 2) AS p50_ms,
       round(percentile_cont(0.99) WITHIN GROUP (ORDER BY latency_ms), 2) AS p99_ms,
       sum(CASE WHEN cardinality(errors) > 0 THEN 1 ELSE 0 END) AS with_errors
FROM (SELECT api, connection, request_bytes, response_bytes, errors, round(latency_ms, 2) AS latency_ms FROM exchanges)
GROUP BY api ORDER BY exchanges DESC, api
""",
        "No exchange was seen.",
    ),
    Question(
        "traffic",
        "When",
        "Bytes of requests and responses over time.",
        """
SELECT substring(CAST(minute AS STRING), 1, 16) AS minute, count(*) AS exchanges, sum(request_bytes) AS request_bytes,
       sum(coalesce(response_bytes, 0)) AS response_bytes
FROM (SELECT date_trunc('minute', timestamp) AS minute, request_bytes, response_bytes FROM exchanges) AS each
GROUP BY minute ORDER BY minute
""",
        "No exchange was seen.",
    ),
    Question(
        "lost",
        "What could not be read",
        "Nothing is dropped silently: bytes that are in no exchange, by kind and reason (that of one of them).",
        """
SELECT event, min(reason) AS reason, count(*) AS times, sum(bytes) AS bytes, count(DISTINCT connection) AS connections
FROM undecodable GROUP BY event, translate(reason, '0123456789', '') ORDER BY times DESC, event, reason
""",
        "Every byte is in an exchange.",
    ),
    Question(
        "lineage",
        "Does it add up?",
        "Packets of all files against those that were decoded, and each byte of TCP against where it went: "
        "unaccounted is 0, "
        "or there is a bug.",
        """
SELECT run, sum(CASE WHEN scope = 'file' THEN 1 ELSE 0 END) AS files,
       sum(CASE WHEN scope = 'file' THEN packets ELSE 0 END) AS packets,
       sum(CASE WHEN scope = 'file' THEN tcp_packets ELSE 0 END) AS tcp_packets,
       sum(CASE WHEN scope = 'share' THEN packets ELSE 0 END) AS decoded_packets,
       sum(CASE WHEN scope = 'share' THEN payload_bytes ELSE 0 END) AS payload_bytes,
       sum(exchange_bytes) AS exchange_bytes, sum(event_bytes) AS event_bytes, sum(duplicate_bytes) AS duplicate_bytes,
       sum(stray_bytes) AS stray_bytes,
       sum(CASE WHEN scope != 'file' THEN payload_bytes - exchange_bytes - event_bytes - duplicate_bytes - stray_bytes
           - tls_bytes - carried_bytes ELSE 0 END) AS unaccounted, sum(exchanges) AS exchanges
FROM lineage GROUP BY run ORDER BY run
""",
        "Nothing was read yet.",
    ),
)
