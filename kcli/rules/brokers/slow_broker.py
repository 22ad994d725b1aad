"""A broker answers late, the others do not."""

from kcli.rules.rule import CRITICAL, Rule
from kcli.rules.windows import covered_time

# An answer is late after more than 100 ms and ten times the median of its API in the whole capture; a Fetch that is
# answered within the wait that it asks for has waited for nothing else. A broker is slow if
# its late answers come in bursts and are far more frequent than those of other brokers, or if its median is many times
# theirs, also API by API: a coordinator's heartbeats are not the others' ApiVersions. If it serves several clients,
# more than one has to wait: a client that sends many requests at once waits for itself. Without another broker to
# compare with (another listener of the same broker is none), nearly all clients have to wait for a good part of the
# time, and this has to hold when requests in flight together count once. Only delays of seconds make members leave
# their groups. Fetches within their wait and writes that wait for followers count among a broker's answers, too: other
# brokers may have hardly any others. A broker without connections at first may just have started: its first seconds do
# not count.
# If it then answers nobody for a second, again and again, while several clients wait for as long, a smaller part of the
# time is enough.
# OffsetForLeaderEpoch does not count: a leader that has just been elected is asked for it. If Metadata alone is late,
# it waits for leaders that move; the broker answers all other requests in time.
# A client that asks for one thing after another has one late answer in a pause, however long that is: its time counts.
# Produce with acks=all counts among those that wait if it is late together with others, and hardly on other brokers.
RULE = Rule(
    finding="slow-broker",
    title="one broker answers late",
    severity=CRITICAL,
    when="steady_clock AND clocks_apart_ms = 0 AND (late_answers >= 5 OR (servers >= 2 AND slow_answers >= 10))",
    sql=f"""
WITH usual AS (
  SELECT api, percentile_approx(CASE WHEN api = 'FETCH' THEN coalesce(own_ms, 0) ELSE own_ms END, 0.5) AS usual_ms
  FROM timed
  WHERE NOT awaits_replicas
  GROUP BY api
),
begun AS (
  SELECT server, min(first_ns) AS begun_ns, min_by(opened, first_ns) AS opened
  FROM tcp
  WHERE accepted OR NOT opened
  GROUP BY server
),
first_begun AS (
  SELECT s.server, min(b.begun_ns) AS begun_ns
  FROM server_spans s JOIN begun b ON b.begun_ns >= s.first_ns
  GROUP BY s.server
),
plain AS (
  SELECT t.*, own_ms > 100 AND own_ms > 10 * usual_ms AS late
  FROM timed t JOIN usual USING (api) LEFT JOIN begun b ON t.server = b.server
  LEFT JOIN first_begun f ON t.server = f.server
  WHERE own_ms IS NOT NULL AND NOT awaits_replicas AND NOT inner_client AND api != 'OFFSET_FOR_LEADER_EPOCH'
    AND NOT (coalesce(b.opened, false) AND b.begun_ns > f.begun_ns + 3000000000
             AND t.ns < b.begun_ns + 10000000000)
),
by_client AS (
  SELECT server, client_id, count(*) AS answers, sum(CASE WHEN late THEN 1 ELSE 0 END) AS late_answers,
         sum(CASE WHEN late THEN own_ms ELSE 0 END) / 1e3
           / greatest(count(DISTINCT CASE WHEN late THEN connection END), 1) AS late_seconds
  FROM plain
  GROUP BY server, client_id
  HAVING count(*) >= 20
),
shared AS (
  SELECT c.server, count(*) AS there,
         sum(CASE WHEN late_answers > 0.02 * answers OR late_seconds > 0.03 * seconds THEN 1 ELSE 0 END) AS touched
  FROM by_client c JOIN server_spans t ON c.server = t.server
  GROUP BY c.server
),
by_server AS (
  SELECT server, count(*) AS answers, sum(CASE WHEN late THEN 1 ELSE 0 END) AS late_answers,
         sum(CASE WHEN late AND api = 'METADATA' THEN 1 ELSE 0 END) AS late_metadata,
         count(DISTINCT CASE WHEN late THEN floor(completed_ns / 250000000) END) AS bursts,
         count(DISTINCT CASE WHEN late THEN connection END) AS links, max(CASE WHEN late THEN own_ms END) AS longest_ms,
         percentile_approx(own_ms, 0.5) AS median_ms, sum(CASE WHEN late THEN own_ms ELSE 0 END) AS late_ms,
         min(CASE WHEN late THEN ns END) AS first_ns, max(CASE WHEN late THEN ns END) AS last_ns
  FROM plain
  GROUP BY server
),
requests_by_server AS (
  SELECT server, count(*) AS requests
  FROM timed
  WHERE api != 'METADATA' AND own_ms IS NOT NULL AND NOT inner_client
  GROUP BY server
),
by_api AS (
  SELECT p.server, max(n.node_id) AS node_id, api, count(*) AS answers, percentile_approx(own_ms, 0.5) AS median_ms
  FROM plain p LEFT JOIN nodes n ON p.server = n.server
  GROUP BY p.server, api
  HAVING count(*) >= 5
),
slower AS (
  SELECT server, sum(answers) AS slower_answers
  FROM (
    SELECT o.server, o.api, max(o.answers) AS answers
    FROM by_api o JOIN by_api p ON o.api = p.api AND o.server != p.server AND coalesce(o.node_id != p.node_id, true)
    GROUP BY o.server, o.api
    HAVING max(o.median_ms) > 20 AND max(o.median_ms) > 5 * max(p.median_ms)
  ) AS a
  GROUP BY server
),
covered AS ({covered_time("plain", "own_ms", 250_000_000)}),
-- The longest bursts of answers that several clients have waited for; silent: nothing else was answered before.
awaited AS (
  SELECT *
  FROM (
    SELECT *, row_number() OVER (PARTITION BY server ORDER BY longest_ms DESC, to_ns) AS place
    FROM (
      SELECT server, min(completed_ns) AS to_ns, max(own_ms) AS longest_ms
      FROM (
        SELECT *, sum(CASE WHEN since_ns <= 250000000 THEN 0 ELSE 1 END)
                    OVER (PARTITION BY server ORDER BY completed_ns ROWS UNBOUNDED PRECEDING) AS burst
        FROM (
          SELECT server, client_id, completed_ns, own_ms,
                 completed_ns - lag(completed_ns) OVER (PARTITION BY server ORDER BY completed_ns) AS since_ns
          FROM plain
          WHERE own_ms >= 1000 AND (SELECT count(*) FROM by_server) = 1
        ) AS l
      ) AS m
      GROUP BY server, burst
      HAVING count(DISTINCT client_id) >= 2
    ) AS b
  ) AS n
  WHERE place <= 20
),
silent AS (
  SELECT server, count(*) AS standstills
  FROM (
    SELECT a.server, a.to_ns
    FROM awaited a
    LEFT JOIN calls c
      ON c.server = a.server AND c.response_bytes IS NOT NULL AND c.completed_ns > a.to_ns - 1000000000
      AND c.completed_ns < a.to_ns - 250000000
    GROUP BY a.server, a.to_ns
    HAVING count(c.server) = 0
  ) AS s
  GROUP BY server
),
late_writes AS (
  SELECT server, connection, client_id, floor(completed_ns / 250000000) AS burst,
         count(*) OVER (PARTITION BY server) >= 0.8 * count(*) OVER () AS mostly_here
  FROM timed
  WHERE awaits_replicas AND own_ms > 100 AND NOT inner_client
),
waiters AS (
  SELECT server, count(DISTINCT connection) AS links, count(DISTINCT client_id) AS waiting,
         array_agg(DISTINCT client_id) AS clients
  FROM (
    SELECT server, connection, client_id FROM plain WHERE late
    UNION ALL
    SELECT w.server, w.connection, w.client_id
    FROM late_writes w
    JOIN (SELECT DISTINCT server, floor(completed_ns / 250000000) AS burst FROM plain WHERE late) AS l
      ON w.server = l.server AND w.burst = l.burst
    WHERE mostly_here
  ) AS late_ones
  GROUP BY server
),
-- Answers of all kinds, on time or not.
served AS (
  SELECT server, count(*) AS served
  FROM timed
  WHERE NOT inner_client AND (own_ms IS NOT NULL OR api = 'FETCH')
  GROUP BY server
),
each_server AS (
  SELECT v.server, node_id, served, coalesce(answers, 0) AS answers, coalesce(late_answers, 0) AS late_answers,
         late_metadata, bursts, links, longest_ms, median_ms, late_ms, first_ns, last_ns
  FROM served v LEFT JOIN by_server s ON v.server = s.server LEFT JOIN nodes n ON v.server = n.server
),
compared AS (
  SELECT o.*, coalesce(sum(p.answers), 0) AS other_answers, coalesce(sum(p.late_answers), 0) AS other_late,
         coalesce(sum(p.served), 0) AS other_served, count(p.server) AS others,
         max(CASE WHEN p.answers >= 20 THEN p.median_ms END) AS other_median_ms
  FROM each_server o
  LEFT JOIN each_server p ON o.server != p.server AND p.served >= 20 AND coalesce(o.node_id != p.node_id, true)
  GROUP BY ALL
),
-- Servers with late answers in bursts, or at most times; the conditions behind these take more time to look at.
suspects AS (
  SELECT *
  FROM (
    SELECT *,
           late_answers >= 5 AND bursts >= 3 AND (last_ns - first_ns) / 1e9 > 1.5
             AND (others = 0 OR late_answers / served > 5.0 * (other_late + 1) / (other_served + 1)) AS in_bursts,
           answers >= 20 AND coalesce(median_ms > 20 AND median_ms > 5 * other_median_ms, false) AS usually
    FROM compared
    WHERE served >= 20
  ) AS c
  WHERE in_bursts OR usually
)
SELECT broker, broker_name, answers, late_answers, bursts, coalesce(waiting, 0) AS waiting, longest_ms, median_ms,
       other_answers, other_late, other_median_ms, (c.last_ns - c.first_ns) / 1e9 AS over_seconds, c.first_ns,
       c.last_ns, late_ms AS weight, clients,
       CASE WHEN longest_ms < 3000 THEN 'rebalance-storm,slow-rebalance' END AS spares,
       CASE WHEN r.server IS NOT NULL THEN ', acks=all waiting for followers' ELSE '' END AS followers,
       standstills,
       CASE WHEN others = 0 AND standstills > 1
              THEN concat('in ', standstills, ' of the pauses it answered nobody for a second or more')
            WHEN others = 0 THEN 'no other broker to compare with'
            ELSE concat('other brokers ', format_number(other_late, 0), ' of ',
                        format_number(CASE WHEN other_answers > 0 THEN other_answers ELSE other_served END, 0))
            END AS others_text
FROM suspects c JOIN brokers b ON c.server = b.server LEFT JOIN shared s ON c.server = s.server
LEFT JOIN covered v ON c.server = v.server
LEFT JOIN waiters w ON c.server = w.server
LEFT JOIN replicated r ON c.server = r.server
LEFT JOIN silent i ON c.server = i.server
LEFT JOIN requests_by_server e ON c.server = e.server
LEFT JOIN slower a ON c.server = a.server
JOIN server_spans t ON c.server = t.server
WHERE (s.touched >= 2 OR coalesce(s.there, 0) < 2)
  AND (late_metadata < late_answers OR late_answers = 0 OR coalesce(e.requests, 0) < 20)
  AND (usually AND slower_answers > 0.5 * answers
       OR in_bursts AND w.links >= 2
          AND CASE WHEN others > 0 THEN late_ms / c.links / 1e3 > 0.03 * seconds
                   ELSE (late_ms / c.links / 1e3 > 0.25 * seconds AND covered_seconds > 0.2 * seconds
                         OR coalesce(standstills, 0) >= 3 AND covered_seconds > 0.05 * seconds)
                        AND coalesce(touched, 0) >= 0.7 * coalesce(there, 0) END)
""",
    subject={"broker": "broker"},
    evidence=(
        "answers",
        "late_answers",
        "bursts",
        "longest_ms",
        "median_ms",
        "other_answers",
        "other_late",
        "other_median_ms",
        "over_seconds",
        "standstills",
        "clients",
    ),
    text="broker {broker_name}: {late_answers} of {answers} responses late (up to {longest_ms} ms) in {bursts} bursts; "
    "{others_text}; waiting: {waiting} clients",
    ruled_out="requested waits{followers}",
    absent={"throttled": "throttling", "slow-network": "a slow network"},
    advice="look at broker {broker_name}: GC pauses, a slow or full disk, CPU, a throttled VM; "
    "move leaders away until it has recovered",
    see="stats {files} --by broker --by api",
    source="kafka.network:RequestMetrics LocalTimeMs, RequestQueueTimeMs",
    explains={
        "slow-cluster": (),
        "slow-replication": (),
        "request-timeout-too-short": (),
        "rebalance-storm": (),
        "slow-rebalance": (),
        "lagging-consumer": (),
        "under-min-isr": ("broker",),  # a replica that lags
        "errors-again": (),
        "long-transaction": (),
        "queued-requests": (),
    },
    rests_on=("suspects",),
)
