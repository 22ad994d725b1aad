"""acks=all waits for a follower."""

from kcli.rules.rule import CRITICAL, Rule

# Produce with acks=all is late while the same brokers answer all other requests at once, for at least a tenth of the
# time: a single delay is no trouble, unless it takes five seconds, as when a follower dies and the leader waits for
# it until it leaves the ISR. A client that sends nothing more meanwhile has one late answer then, however long it
# waits, and the other requests are compared by their longest. Commits of offsets wait for followers, too, and what a
# client asks behind them. A broker answers the requests of a connection in order, so only the time since the previous
# answer counts. The follower to blame has its Fetch answered and does not send the next one during the wait; its pauses
# have to make up much of the waits at brokers that it follows: else all followers are slow alike, as on a machine that
# is too busy. Its own late answers, as the leader of other partitions, are left out of the comparison. Metadata tells
# which server it is, if that address is in the capture; otherwise it is the one to which it sends no Fetch.
RULE = Rule(
    finding="slow-replication",
    title="acks=all that waits for a slow follower",
    severity=CRITICAL,
    when="steady_clock AND clocks_apart_ms = 0 AND replicated AND (longest_produce_ms > 100 OR unsure_produces > 0)",
    sql="""
WITH usual AS (SELECT percentile_approx(latency_ms, 0.5) AS usual_ms FROM timed WHERE api = 'PRODUCE'),
answering AS (SELECT server, max(completed_ns) AS last_ns FROM timed WHERE NOT inner_client GROUP BY server),
-- Writes that still wait at the end of the capture, of connections that last, on brokers that answer others.
left_waiting AS (
  SELECT c.ns, s.last_ns AS completed_ns, c.connection, c.server, c.client_id, (s.last_ns - c.ns) / 1e6 AS latency_ms
  FROM calls c
  JOIN replicated r ON c.server = r.server
  JOIN answering a ON c.server = a.server AND a.last_ns >= c.ns + 5000000000
  JOIN stretches s ON c.ns BETWEEN s.first_ns AND s.last_ns
  JOIN tcp t ON c.connection = t.connection
  LEFT JOIN heard h ON c.connection = h.connection
  WHERE c.unanswered AND c.api = 'PRODUCE' AND c.acks = -1 AND s.last_ns - c.ns >= 5000000000
    AND c.ns > coalesce(h.ns, 0) AND coalesce(t.c_fin_ns, t.c_rst_ns, t.s_fin_ns, t.s_rst_ns, s.last_ns) >= s.last_ns
),
awaited AS (
  SELECT t.ns, t.completed_ns, t.connection, t.server, t.client_id, t.latency_ms,
         latency_ms > 100 AND latency_ms > 5 * u.usual_ms OR (latency_ms > 100 AND u.usual_ms > 100) AS late,
         (completed_ns - greatest(ns, coalesce(lag(completed_ns) OVER (PARTITION BY connection ORDER BY completed_ns),
                                               ns))) / 1e6 AS alone_ms
  FROM (
    SELECT ns, completed_ns, connection, server, client_id, latency_ms FROM timed WHERE awaits_replicas
    UNION ALL
    SELECT * FROM left_waiting
  ) AS t
  CROSS JOIN usual u
),
summed AS (
  SELECT count(*) AS answers, sum(CASE WHEN late THEN 1 ELSE 0 END) AS late_answers,
         percentile_approx(latency_ms, 0.5) AS median_ms, max(latency_ms) AS longest_ms,
         count(DISTINCT CASE WHEN late THEN server END) AS leaders,
         count(DISTINCT CASE WHEN late THEN floor(completed_ns / 250000000) END) AS bursts,
         min(CASE WHEN late THEN ns END) AS first_ns, max(CASE WHEN late THEN ns END) AS last_ns,
         sum(CASE WHEN late THEN latency_ms ELSE 0 END) AS late_ms,
         sum(CASE WHEN late AND alone_ms > 100 AND (alone_ms > 10 * usual_alone_ms OR usual_alone_ms > 100)
                    THEN alone_ms ELSE 0 END)
           / greatest(count(DISTINCT CASE WHEN late THEN connection END), 1) AS stalled_ms
  FROM awaited CROSS JOIN (SELECT percentile_approx(alone_ms, 0.5) AS usual_alone_ms FROM awaited) AS u
),
stalls AS (
  SELECT s.*
  FROM summed s
  CROSS JOIN (SELECT max(seconds) AS seconds FROM server_spans WHERE server IN (SELECT server FROM awaited)) AS t
  WHERE (late_answers >= 5 AND bursts >= 3 OR stalled_ms >= 5000) AND leaders >= 1 AND stalled_ms / 1e3 > 0.1 * seconds
),
-- The clients that wait, without those that wait for a small part of the time of another one.
waiters AS (
  SELECT array_agg(client_id) AS clients
  FROM (
    SELECT client_id, sum(latency_ms) AS late_ms, max(sum(latency_ms)) OVER () AS most_ms
    FROM awaited
    WHERE late
    GROUP BY client_id
  ) AS c
  WHERE late_ms >= 0.1 * most_ms
),
asks AS (
  SELECT replica_id, server, ns, lag(completed_ns) OVER (PARTITION BY replica_id, server ORDER BY ns) AS told_ns
  FROM calls
  WHERE api = 'FETCH' AND replica_id >= 0 AND server IN (SELECT server FROM awaited)
),
pauses AS (
  SELECT replica_id, told_ns AS from_ns, ns AS to_ns
  FROM asks
  WHERE ns - told_ns > 100000000
  UNION ALL
  SELECT replica_id, max(ns), max(s.last_ns)
  FROM asks a JOIN server_spans s ON a.server = s.server
  GROUP BY replica_id
  HAVING max(s.last_ns) - max(ns) > 2000000000
),
blamed AS (
  SELECT p.replica_id, count(*) AS matched, max(paused_ms) AS paused_ms
  FROM awaited w
  JOIN (SELECT DISTINCT replica_id, server FROM asks) AS f ON w.server = f.server
  JOIN (SELECT *, sum(to_ns - from_ns) OVER (PARTITION BY replica_id) / 1e6 AS paused_ms FROM pauses) AS p
    ON p.replica_id = f.replica_id AND w.late AND w.completed_ns > p.from_ns AND w.ns < p.to_ns
  GROUP BY p.replica_id
  ORDER BY sum(least(w.completed_ns, p.to_ns) - greatest(w.ns, p.from_ns)) DESC, p.replica_id
  LIMIT 1
),
known_nodes AS (
  SELECT n.node_id, n.server
  FROM nodes n JOIN server_spans s ON n.server = s.server
  WHERE n.node_id IS NOT NULL
),
own AS (
  SELECT n.server AS own
  FROM known_nodes n JOIN blamed b ON n.node_id = b.replica_id
  UNION
  SELECT r.server
  FROM replicated r
  JOIN blamed b ON b.replica_id NOT IN (SELECT node_id FROM known_nodes)
  WHERE r.server NOT IN (SELECT a.server FROM asks a JOIN blamed b ON a.replica_id = b.replica_id)
),
plain AS (
  SELECT count(*) AS answers, sum(CASE WHEN own_ms > 100 THEN 1 ELSE 0 END) AS late,
         percentile_approx(own_ms, 0.5) AS median_ms, coalesce(max(own_ms), 0) AS longest_ms
  FROM timed t LEFT JOIN own f ON t.server = f.own
  WHERE own_ms IS NOT NULL AND NOT awaits_replicas AND t.server IN (SELECT server FROM awaited)
    AND connection NOT IN (
      SELECT connection
      FROM timed
      WHERE api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT') AND own_ms > 100
    )
    AND (f.own IS NULL OR own_ms <= 100)
)
SELECT s.*, clients, p.late AS plain_late, p.answers AS plain_answers, p.median_ms AS plain_median_ms,
       b.replica_id AS follower, b.matched,
       coalesce(n.broker, split(CAST(b.replica_id AS STRING), ',')) AS broker,
       concat('follower ', coalesce(n.broker_name, CAST(b.replica_id AS STRING))) AS named,
       late_ms AS weight
FROM stalls s
CROSS JOIN plain p
CROSS JOIN blamed b
CROSS JOIN waiters
LEFT JOIN (SELECT node_id, broker, broker_name FROM nodes JOIN brokers USING (server)) n ON n.node_id = b.replica_id
WHERE paused_ms > 0.5 * stalled_ms
  AND (s.late_answers / s.answers > 5.0 * (coalesce(p.late, 0) + 1) / (p.answers + 1)
       OR stalled_ms >= 5000 AND s.longest_ms > 5 * p.longest_ms AND p.median_ms < 100)
""",
    subject={"broker": "broker"},
    evidence=(
        "answers",
        "late_answers",
        "median_ms",
        "longest_ms",
        "leaders",
        "bursts",
        "plain_answers",
        "plain_late",
        "plain_median_ms",
        "follower",
        "matched",
        "clients",
    ),
    text="acks=all waits for {named}: {late_answers} of {answers} Produce requests waited up to {longest_ms} ms on "
    "{leaders} leaders, all other requests there {plain_late} of {plain_answers}; waiting: {clients}",
    ruled_out="slow leaders: half of all other requests there took {plain_median_ms} ms or less",
    advice="look at {named}: disk, network, GC, num.replica.fetchers; do not lower acks or min.insync.replicas to "
    "hide the problem",
    see="stats {files} --api Produce --by broker --by client",
    source="kafka.network:RequestMetrics RemoteTimeMs (Produce); replica.lag.time.max.ms 30000",
    explains={"request-timeout-too-short": (), "errors-again": (), "long-transaction": (), "queued-requests": ()},
    rests_on=("stalls",),
)
