"""A producer's requests wait for each other."""

from kcli.rules.rule import Rule

# A broker works on one request of a connection at a time, so a producer that sends them faster than they are answered
# makes a queue. It counts from the moment at which a connection has a request in flight to the one at which it has
# none. Small requests count, as only these can be put together, and at least ten of them in flight: Java sends five.
# A queue that is worked off, or shorter than the usual request.timeout.ms (30 s), is worth a word only: all is written.
# A broker, a follower or a network that stands still for half a second is another cause; its answers after that come in
# a row. So is a quota, which holds the next request of the connection back.
RULE = Rule(
    finding="queued-requests",
    title="a producer's requests that wait for each other",
    when="steady_clock AND clocks_apart_ms < 500 AND stalled_answers >= 50 AND longest_produce_ms >= 2000",
    sql="""
WITH late AS (
  SELECT connection
  FROM calls
  WHERE latency_ms >= 2000 AND api = 'PRODUCE' AND NOT inner_client
  GROUP BY connection
  HAVING count(*) >= 50
),
writers AS (
  SELECT connection, avg(request_bytes) AS bytes, min(ns) AS from_ns, max(completed_ns) AS to_ns
  FROM calls
  WHERE api = 'PRODUCE' AND connection IN (SELECT connection FROM late)
  GROUP BY connection
  HAVING avg(request_bytes) < 16384 AND max(throttle_ms) = 0
),
in_turn AS (
  SELECT connection, server, client_id, api, ns, completed_ns, latency_ms,
         lag(completed_ns) OVER (PARTITION BY connection ORDER BY completed_ns) AS before_ns
  FROM calls
  WHERE latency_ms IS NOT NULL AND connection IN (SELECT connection FROM writers)
),
numbered AS (
  SELECT *, (completed_ns - greatest(ns, coalesce(before_ns, ns))) / 1e6 AS alone_ms,
         sum(CASE WHEN ns <= before_ns THEN 0 ELSE 1 END)
           OVER (PARTITION BY connection ORDER BY completed_ns ROWS UNBOUNDED PRECEDING) AS period
  FROM in_turn
),
queues AS (
  SELECT client_id, server, connection, count(*) AS requests, min(ns) AS first_ns, max(completed_ns) AS last_ns,
         (max(completed_ns) - min(ns)) / 1e9 AS seconds, max(latency_ms) AS longest_ms,
         sum(latency_ms) AS waited_ms, sum(alone_ms) AS alone_ms
  FROM numbered
  GROUP BY client_id, server, connection, period
  HAVING max(completed_ns) - min(ns) >= 10000000000
    AND sum(CASE WHEN latency_ms >= 2000 THEN 1 ELSE 0 END) >= 0.5 * count(*)
    AND avg(alone_ms) < 200 AND sum(latency_ms) >= 10 * sum(alone_ms)
    AND sum(CASE WHEN alone_ms > 500 THEN alone_ms ELSE 0 END) < 0.2 * sum(alone_ms)
    AND sum(CASE WHEN api = 'PRODUCE' THEN 1 ELSE 0 END) > 0.9 * count(*)
)
SELECT client_id, count(DISTINCT connection) AS connections, sum(requests) AS requests, max(seconds) AS seconds,
       sum(waited_ms) / sum(requests) AS mean_ms, max(longest_ms) AS longest_ms,
       sum(alone_ms) / sum(requests) AS alone_ms, sum(waited_ms) / sum(alone_ms) AS in_flight,
       avg(bytes) AS bytes_per_request, min(first_ns) AS first_ns, max(last_ns) AS last_ns, sum(waited_ms) AS weight,
       CASE WHEN max(CASE WHEN longest_ms >= 30000 AND (to_ns - last_ns < 2000000000
                                                        OR last_ns - first_ns > 0.5 * (to_ns - from_ns)) THEN 1
                          ELSE 0 END) = 1 THEN 'warning' ELSE 'info' END AS severity
FROM queues JOIN writers USING (connection)
GROUP BY client_id
""",
    subject={"client": "client_id"},
    evidence=(
        "connections", "requests", "seconds", "mean_ms", "longest_ms", "alone_ms", "in_flight", "bytes_per_request",
    ),
    text="{client_id} sends Produce requests faster than they are answered: with {in_flight} of them in flight on a "
    "connection each took {mean_ms} ms (up to {longest_ms} ms), though the broker answers one in {alone_ms} "
    "ms; {bytes_per_request} bytes each",
    ruled_out="a broker or followers that stand still: the responses come in a steady row",
    absent={
        "slow-broker": "a slow broker", "slow-cluster": "slow brokers", "slow-replication": "a slow follower",
        "slow-network": "a slow network", "packet-loss": "loss",
    },
    advice="put more records into fewer requests: a longer linger.ms and a larger batch.size; at most 5 requests in "
    "flight (max.in.flight.requests.per.connection), so that waiting records share a batch; if an answer takes long "
    "with few in flight, too, look at the broker's disk and followers",
    see="stats {files} --client {client_id} --by connection --by api",
    source="linger.ms, batch.size 16384, max.in.flight.requests.per.connection (Java 5, librdkafka 1000000); "
    "produce-latency, requests-in-flight",
    explains={"request-timeout-too-short": ("client",)},
    rests_on=("late", "writers", "queues"),
)  # fmt: skip
