"""All brokers answer late."""

from kcli.rules.prepared import AT_ONCE
from kcli.rules.rule import CRITICAL, Rule
from kcli.rules.windows import covered_time

# A broker works on one request of a connection at a time. So a request is served from when it came, or when the one
# before it on its connection was answered: a client that sends many at once waits for itself. Only requests count that
# a broker answers at once; 500 ms are a thousand times what these usually take. No other broker can be compared with if
# all are late, so the time decides: late answers came in 5 different seconds or more, and the longest of each second
# together make up a fifth of the time. It has to be true of each broker that is asked, and of several of its clients; a
# client that a quota holds back waits for that.
RULE = Rule(
    finding="slow-cluster",
    title="clusters whose brokers all answer late",
    severity=CRITICAL,
    when="steady_clock AND clocks_apart_ms < 500 AND stalled_answers >= 10",
    sql=f"""
WITH answered AS (
  SELECT server, client_id, api, acks, inner_client, awaits_replicas, ns, completed_ns,
         (completed_ns - greatest(ns, coalesce(lag(completed_ns) OVER (PARTITION BY connection ORDER BY completed_ns),
                                               ns))) / 1e6 AS served_ms
  FROM timed
),
served AS (
  SELECT *, served_ms > 500 AS late
  FROM answered
  WHERE NOT inner_client
    AND (api IN ({AT_ONCE}) OR (api = 'PRODUCE' AND NOT awaits_replicas))
    AND client_id NOT IN (SELECT client_id FROM calls WHERE throttle_ms > 0)
),
covered AS ({covered_time("served", "served_ms", 1_000_000_000)}),
by_server AS (
  SELECT server, count(*) AS answers, sum(CASE WHEN late THEN 1 ELSE 0 END) AS late_answers,
         count(DISTINCT client_id) AS clients, count(DISTINCT CASE WHEN late THEN client_id END) AS waiting,
         max(served_ms) AS longest_ms, min(CASE WHEN late THEN ns END) AS first_ns,
         max(CASE WHEN late THEN completed_ns END) AS last_ns
  FROM served
  GROUP BY server
  HAVING count(*) >= 20
),
judged AS (
  SELECT s.*, seconds, broker, broker_name, coalesce(late_slots, 0) AS late_seconds,
         late_slots >= 5 AND covered_seconds > 0.2 * seconds AND waiting >= least(2, clients) AS late
  FROM by_server s JOIN server_spans t ON s.server = t.server JOIN brokers b ON s.server = b.server
  LEFT JOIN covered c ON s.server = c.server
),
waiters AS (
  SELECT count(DISTINCT client_id) AS waiting, array_agg(DISTINCT client_id) AS clients
  FROM served
  WHERE late
)
SELECT brokers, servers, CASE WHEN servers = 1 THEN concat('broker ', names, ', the only one, answers')
                              ELSE concat('all ', servers, ' brokers, ', names, ', answer') END AS who_answers,
       answers, late_answers, least_seconds, seconds,
       longest_ms, waiting, clients, first_ns, last_ns, 1e9 AS weight
FROM (
  SELECT array_sort(flatten(array_agg(broker))) AS brokers,
         concat_ws(', ', array_sort(array_agg(broker_name))) AS names, count(*) AS servers, sum(answers) AS answers,
         sum(late_answers) AS late_answers, min(late_seconds) AS least_seconds, max(seconds) AS seconds,
         max(longest_ms) AS longest_ms, min(first_ns) AS first_ns, max(last_ns) AS last_ns
  FROM judged
  HAVING min(CASE WHEN late THEN 1 ELSE 0 END) = 1
) AS every CROSS JOIN waiters
""",
    subject={"broker": "brokers"},
    evidence=("answers", "late_answers", "least_seconds", "seconds", "longest_ms", "waiting", "clients"),
    text="{who_answers} late: {late_answers} of {answers} responses took over 500 ms (up to {longest_ms} ms), "
    "on each broker in {least_seconds} of {seconds} s or more; waiting: {waiting} clients",
    ruled_out="one slow broker: each broker with requests is late; requests that wait for earlier ones on a "
    "connection, for records, members or followers do not count",
    advice="look at what the brokers share: the hosts' CPU, a paused or throttled VM, the storage, the network; or "
    "give them less to do: RequestHandlerAvgIdlePercent near 0 and a high RequestQueueTimeMs mean overload",
    see="stats {files} --by broker --by api",
    source="kafka.server:KafkaRequestHandlerPool RequestHandlerAvgIdlePercent, kafka.network:RequestMetrics "
    "RequestQueueTimeMs",
    explains=dict.fromkeys(
        (
            "slow-replication", "request-timeout-too-short", "rebalance-storm", "slow-rebalance",
            "lagging-consumer", "under-min-isr", "errors-again", "long-transaction",
            "poll-interval-exceeded", "coordinator-unavailable", "queued-requests",
        ),
        (),
    ),
)  # fmt: skip
