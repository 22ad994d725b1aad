"""The measures of a capture, each as SQL over the tables of diagnose: values by block of time, or by connection.

A query returns `block`, `value`, and the columns of the value's subject: api, role (of the client: producer, consumer,
broker, or other), topic, group_id, error, broker. `capture_side` makes the tables `roles` (client_id, role),
`members_of` (role, clients), `broker_names` (server, broker) and `slow_limits` (api, ms), and the macros block_of(ns),
alive(first_ns, last_ns) and minutes(). Blocks before the first and after the last do not count.

A response is slow above a limit that both captures share: most responses of both to that API are faster. Rare or short
stalls do not change the median of a block, and hardly a 95th percentile, but the share of slow responses.

A round trip is that of the whole network, from the client to the point of capture and from there to the broker. The
shortest one is the network's own: acknowledgements wait up to 40 ms for data to go with, most where there is little.

Two captures can't be compared by a growing lag, but by how fast it grows. The lag is known when a group commits;
between two commits it is taken to grow evenly, and the blocks between them share one value.
"""

from dataclasses import dataclass

KEYS = ("api", "role", "topic", "group_id", "error", "broker")
HIGHER, LOWER = 1, -1  # where worse is; 0: a change, and neither


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure. name: for programs. title: with the columns of KEYS in braces. worse: HIGHER, LOWER or 0.

    A change counts if it is at least `least` and by the factor `times`, and the sides are further apart than `apart`
    times the noise. means: compare means of blocks, not medians. counts: the same, and blocks without a row have 0.
    excuse: other changes that explain one: of "load", of "size" of requests and responses, of "topics", of the "rate"
    of records to the topic, if it is as large. follows: the measure of whose change this is a consequence; for brokers,
    if that changed for all of them. steady: each value is the best of many, so few values suffice if the sides do not
    overlap. by_time: one value a block of time, not a connection.
    """

    name: str
    title: str
    unit: str
    sql: str
    worse: int = 0
    least: float = 0.0
    times: float = 1.5
    apart: float = 0.0
    means: bool = False
    counts: bool = False
    excuse: tuple[str, ...] = ()
    follows: str = ""
    steady: bool = False
    by_time: bool = True


LATENCY = """
SELECT api, role, block_of(ns) AS block, quantile_cont(own_ms, {share}) AS value
FROM timed JOIN roles USING (client_id) WHERE own_ms IS NOT NULL AND api != 'PRODUCE'
GROUP BY ALL HAVING count(*) >= {least}
UNION ALL BY NAME
SELECT 'PRODUCE' AS api, role, topic, block_of(ns) AS block, quantile_cont(own_ms, {share}) AS value
FROM (SELECT DISTINCT connection, correlation_id, topic FROM produced) AS p
JOIN timed USING (connection, correlation_id) JOIN roles USING (client_id) WHERE own_ms IS NOT NULL AND api = 'PRODUCE'
GROUP BY ALL HAVING count(*) >= {least}
"""
# Responses by which brokers are compared: not those that wait for followers, nor those to brokers.
OWN_TIMES = """
SELECT ns, server, api, own_ms FROM timed WHERE own_ms IS NOT NULL AND NOT awaits_replicas AND NOT inner_client
"""
MEASURES = (
    Measure(
        "latency", "median latency of {api} of {role}{topic}, without requested waits", "ms",
        LATENCY.format(share=0.5, least=1), HIGHER, least=1.0, apart=0.5,
        excuse=("load", "size", "topics"),
    ),
    Measure(
        "latency-p95", "95 % latency of {api} of {role}{topic}, without requested waits", "ms",
        LATENCY.format(share=0.95, least=5), HIGHER, least=2.0, times=2.0, apart=1.0,
        excuse=("load", "size", "topics"), follows="latency",
    ),
    Measure(
        "slow-answers", "slow responses of broker {broker} in 1,000, without requested waits", "", f"""
SELECT broker, block_of(ns) AS block, 1000 * avg(CASE WHEN own_ms > ms THEN 1 ELSE 0 END) AS value
FROM ({OWN_TIMES}) AS o JOIN slow_limits USING (api) JOIN broker_names USING (server) GROUP BY ALL
""", HIGHER, least=20.0, apart=0.5, means=True, excuse=("load", "topics"), follows="latency",
    ),
    Measure(
        "batching", "records of a Produce{topic}", "records", """
SELECT topic, block_of(ns) AS block, sum(records) / count(DISTINCT (connection, correlation_id)) AS value
FROM batches WHERE api = 'PRODUCE' GROUP BY ALL
""", LOWER, least=0.5, excuse=("rate", "load"),
    ),
    Measure(
        "record-bytes", "bytes of a record as written{topic}", "bytes", """
SELECT topic, block_of(ns) AS block, sum(size_in_bytes) / sum(records) AS value
FROM batches WHERE api = 'PRODUCE' AND records > 0 GROUP BY ALL
""", least=4.0, times=1.1,
    ),
    Measure(
        "compressed", "share of the bytes written that is compressed{topic}", "", """
SELECT topic, block_of(ns) AS block,
       sum(CASE WHEN compression != 'none' THEN size_in_bytes ELSE 0 END) / sum(size_in_bytes) AS value
FROM batches WHERE api = 'PRODUCE' GROUP BY ALL
""", LOWER, least=0.2, times=1.2,
    ),
    Measure(
        "full-fetches", "share of full fetches of {role} in fetch sessions", "", """
SELECT role, block_of(ns) AS block, avg(CASE WHEN session_epoch = 0 THEN 1.0 ELSE 0.0 END) AS value
FROM calls JOIN roles USING (client_id) WHERE api = 'FETCH' AND session_epoch >= 0 GROUP BY ALL
""", HIGHER, least=0.1,
    ),
    Measure(
        "fetch-bytes", "bytes of a Fetch response of {role}", "bytes", """
SELECT role, block_of(ns) AS block, avg(response_bytes) AS value
FROM calls JOIN roles USING (client_id) WHERE api = 'FETCH' AND response_bytes IS NOT NULL GROUP BY ALL
""", least=200.0,
    ),
    Measure(
        "rate", "{api} requests of a {role} a second", "/s", """
SELECT api, role, block_of(ns) AS block, count(*) / (60 * minutes() * any_value(clients)) AS value
FROM calls JOIN roles USING (client_id) JOIN members_of USING (role) GROUP BY ALL
""", least=1.0, counts=True,
    ),
    Measure(
        "written", "records written a second{topic}", "/s", """
SELECT topic, block_of(ns) AS block, sum(records) / (60 * minutes()) AS value
FROM batches WHERE api = 'PRODUCE' GROUP BY ALL
""", least=1.0, counts=True,
    ),
    Measure(
        "lag-growth", "records a second that are written{topic} and not committed by {group_id}", "/s", """
WITH places AS (SELECT group_id, topic, partition, unix_micros(timestamp) * 1000 AS ns, max(committed_offset) AS place
                FROM commits WHERE error IS NULL AND topic IS NOT NULL GROUP BY ALL),
     seen AS (SELECT topic, partition, ns, high_watermark AS top FROM fetched WHERE high_watermark >= 0
              UNION ALL SELECT topic, partition, ns, base_offset FROM produced WHERE base_offset >= 0),
     ends AS (SELECT topic, partition, max(ns) AS ns,
                     max(max(top)) OVER (PARTITION BY topic, partition ORDER BY max(ns)) AS top
              FROM seen WHERE topic IN (SELECT topic FROM places) GROUP BY topic, partition, ns // 250000000),
     marks AS (SELECT p.*, greatest(e.top - p.place, 0) AS behind
               FROM places p ASOF JOIN ends e ON p.topic = e.topic AND p.partition = e.partition AND p.ns >= e.ns),
     steps AS (SELECT group_id, topic, block_of(ns) AS block, behind - lag(behind) OVER w AS growth,
                      block - lag(block) OVER w AS blocks
               FROM marks WINDOW w AS (PARTITION BY group_id, topic, partition ORDER BY ns)),
     spread AS (SELECT group_id, topic, growth / greatest(blocks, 1) AS growth, greatest(blocks, 1) AS blocks,
                       unnest(range(block - greatest(blocks, 1) + 1, block + 1)) AS block
                FROM steps WHERE growth IS NOT NULL),
     usual AS (SELECT group_id, topic, CAST(ceil(quantile_cont(blocks, 0.5)) AS BIGINT) AS blocks
               FROM spread GROUP BY ALL)
SELECT group_id, topic, block // u.blocks AS block, sum(growth) / (60 * minutes() * count(DISTINCT block)) AS value
FROM spread s JOIN usual u USING (group_id, topic) WHERE block >= 0
GROUP BY group_id, topic, block // u.blocks
""", HIGHER, least=2.0, excuse=("load", "topics"),
    ),
    Measure(
        "partition-share", "share of the bytes written{topic} that its fullest partition gets", "", """
WITH parts AS (SELECT topic, partition, block_of(ns) AS block, sum(size_in_bytes) AS bytes
               FROM batches WHERE api = 'PRODUCE' GROUP BY ALL),
     fullest AS (SELECT topic, max_by(partition, bytes) AS partition
                 FROM (SELECT topic, partition, sum(bytes) AS bytes FROM parts GROUP BY ALL) AS p GROUP BY topic)
SELECT p.topic, block, sum(CASE WHEN p.partition = f.partition THEN bytes ELSE 0 END) / sum(bytes) AS value
FROM parts p JOIN fullest f USING (topic) GROUP BY ALL
""", HIGHER, least=0.2, apart=0.5,
    ),
    Measure(
        "connections", "connections that a {role} opens a minute", "/min", """
SELECT role, block_of(c.first_ns) AS block, count(*) / (minutes() * any_value(clients)) AS value
FROM conns c JOIN roles USING (client_id) JOIN members_of USING (role) WHERE opened GROUP BY ALL
""", HIGHER, least=2.0, counts=True,
    ),
    Measure(
        "rebalances", "members of group {group_id} that join a minute", "/min", """
SELECT group_id, block_of(completed_ns) AS block, count(*) / minutes() AS value
FROM group_calls WHERE api = 'JOIN_GROUP' AND error IS NULL
   OR api = 'CONSUMER_GROUP_HEARTBEAT' AND generation = 0 AND error IS NULL GROUP BY ALL
""", HIGHER, least=2.0, counts=True,
    ),
    Measure(
        "errors", "{error} in 1,000 responses to {api}", "", """
WITH all_calls AS (SELECT api, block_of(ns) AS block, count(*) AS calls FROM calls GROUP BY ALL),
     failed AS (SELECT api, block_of(ns) AS block, unnest(errors) AS error FROM calls WHERE failed)
SELECT api, error, block, 1000 * count(*) / any_value(calls) AS value
FROM failed JOIN all_calls USING (api, block) GROUP BY ALL
""", HIGHER, least=1.0, counts=True,
    ),
    Measure(
        "throttling", "throttle time of a {role} a second", "ms", """
SELECT role, block_of(ns) AS block, sum(throttle_ms) / (60 * minutes() * any_value(clients)) AS value
FROM calls JOIN roles USING (client_id) JOIN members_of USING (role) WHERE throttle_ms > 0 GROUP BY ALL
""", HIGHER, least=5.0, counts=True,
    ),
    Measure(
        "round-trip", "shortest TCP round trips of {role}, for each connection", "ms", """
SELECT role, row_number() OVER (PARTITION BY role ORDER BY first_ns) AS block,
       least(syn_ms, CASE WHEN c_rtt_samples >= 5 THEN c_rtt_min_ms END)
       + least(ack_ms, CASE WHEN s_rtt_samples >= 5 THEN s_rtt_min_ms END) AS value
FROM conns JOIN roles USING (client_id) WHERE alive(first_ns, last_ns)
""", HIGHER, least=1.0, times=2.0, steady=True, by_time=False,
    ),
    Measure(
        "resent", "retransmitted segments of {role} and its brokers in 1,000, for each connection", "", """
SELECT role, row_number() OVER (PARTITION BY role ORDER BY first_ns) AS block,
       1000.0 * (c_resent + s_resent) / (c_data_segments + s_data_segments) AS value
FROM conns JOIN roles USING (client_id) WHERE c_data_segments + s_data_segments >= 50 AND alive(first_ns, last_ns)
""", HIGHER, least=5.0, times=3.0, by_time=False,
    ),
)  # fmt: skip
# Findings of diagnose that measures judge better: a limit that one of two like captures just passes says little. Where
# one of the measures could not be compared, the finding counts.
MEASURED = {
    "slow-broker": ("latency", "slow-answers"), "slow-cluster": ("latency", "slow-answers"),
    "slow-replication": ("latency",), "slow-network": ("round-trip",),
    "packet-loss": ("resent",), "rebalance-storm": ("rebalances",), "connection-churn": ("connections",),
    "throttled": ("throttling",), "tiny-batches": ("batching",), "errors-again": ("errors",),
    "fetch-session-evictions": ("full-fetches",), "hot-partition": ("partition-share",),
    "lagging-consumer": ("lag-growth",),
}  # fmt: skip
# The API whose rate a finding is a limit of: likewise, where both captures have that rate.
RATED = {"metadata-storm": "METADATA", "busy-fetch": "FETCH", "commit-per-record": "OFFSET_COMMIT"}
