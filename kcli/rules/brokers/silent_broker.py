"""A broker takes connections and answers nobody."""

from kcli.rules.brokers.broker_crash import ROLE
from kcli.rules.prepared import AT_ONCE
from kcli.rules.rule import CRITICAL, Rule

# The broker's kernel still acknowledges segments, so the host and the network are well. Between two answers, or from
# the last one to the end of the capture, requests that a broker answers at once wait for seconds on several
# connections. Requests that wait by design do not count: a Fetch up to its max wait, JoinGroup, acks=all. A request
# whose answer may be missing in the capture does not count either. If clients send the broker nothing more, its capture
# may have ended: it has to go on for 2 s. If the broker has a single connection, all its requests count, but they may
# wait for followers (acks=all). Pauses of the whole capture do not count: its machine paused, or its clock was set
# forward. Nor does the time between two captures, though connections may last from one to the other.
RULE = Rule(
    finding="silent-broker",
    title="brokers that accept connections but do not answer",
    severity=CRITICAL,
    when="steady_clock AND clocks_apart_ms < 500 AND (ignored_requests >= 2 OR stalled_answers >= 2)",
    sql=f"""
WITH moments AS (
  SELECT server, completed_ns AS ns, 1 AS answers
  FROM calls
  WHERE response_bytes IS NOT NULL
  UNION ALL
  SELECT server, ns, 0
  FROM (
    SELECT server, first_ns AS ns FROM server_stretches UNION ALL SELECT server, last_ns FROM server_stretches
  ) AS ends
  WHERE server IN (SELECT server FROM links)
),
each_second AS (
  SELECT server, min(ns) AS first_ns, max(ns) AS last_ns, min_by(answers, ns) AS answers
  FROM moments
  GROUP BY server, floor(ns / 1e9)
),
gaps AS (
  SELECT server, before_ns AS from_ns, spaced.first_ns AS to_ns, answers AS ended
  FROM (SELECT *, lag(last_ns) OVER (PARTITION BY server ORDER BY first_ns) AS before_ns FROM each_second) AS spaced
  JOIN stretches t ON before_ns >= t.first_ns AND spaced.first_ns <= t.last_ns
  WHERE spaced.first_ns - before_ns >= 5000000000
),
silences AS (
  SELECT server, s.from_ns, s.to_ns, ended,
         sum(CASE WHEN p.from_ns IS NULL THEN 0 ELSE least(s.to_ns, p.to_ns) - greatest(s.from_ns, p.from_ns)
                  END) AS paused_ns
  FROM gaps s
  LEFT JOIN pauses p ON p.from_ns < s.to_ns AND p.to_ns > s.from_ns
  GROUP BY server, s.from_ns, s.to_ns, ended
),
ends AS (
  SELECT connection, s_last_ns,
         least(coalesce(c_fin_ns, c_rst_ns, s_fin_ns, s_rst_ns), coalesce(c_rst_ns, c_fin_ns, s_rst_ns, s_fin_ns),
               coalesce(s_fin_ns, s_rst_ns, c_fin_ns, c_rst_ns),
               coalesce(s_rst_ns, s_fin_ns, c_rst_ns, c_fin_ns)) AS end_ns
  FROM tcp
  WHERE c_unacked_resent = 0 AND s_segments > 0
),
waiting AS (
  SELECT s.server, s.from_ns, s.to_ns, s.ended, s.paused_ns, c.connection, c.client_id, c.inner_client, c.ns,
         (least(s.to_ns, coalesce(e.end_ns, s.to_ns)) - c.ns - s.paused_ns) / 1e6 - CASE WHEN api = 'FETCH'
                                                                             THEN coalesce(max_wait_ms, 500)
                                                                           ELSE 0 END AS waited_ms
  FROM silences s
  JOIN calls c
    ON c.server = s.server AND c.ns < s.to_ns
    AND c.ns > s.from_ns - CASE WHEN api = 'FETCH' THEN CAST(coalesce(max_wait_ms, 500) AS BIGINT) * 1000000 ELSE 0 END
  JOIN ends e ON c.connection = e.connection
  LEFT JOIN heard h ON c.connection = h.connection
  WHERE (c.response_bytes IS NULL OR c.completed_ns >= s.to_ns) AND e.s_last_ns >= c.ns
    AND (c.response_bytes IS NOT NULL OR c.ns > coalesce(h.ns, 0))
    AND (c.api IN ({AT_ONCE}, 'SASL_HANDSHAKE', 'STREAMS_GROUP_HEARTBEAT', 'FETCH')
         OR (c.api = 'PRODUCE' AND c.acks = 1))
),
alone AS (
  SELECT s.server, s.from_ns, s.to_ns, s.ended, s.paused_ns, min(t.connection) AS connection
  FROM silences s
  JOIN tcp t
    ON t.server = s.server AND t.first_ns < s.to_ns
    AND coalesce(t.c_fin_ns, t.c_rst_ns, t.s_fin_ns, t.s_rst_ns, t.last_ns) >= s.from_ns
  GROUP BY s.server, s.from_ns, s.to_ns, s.ended, s.paused_ns
  HAVING count(*) = 1
),
of_one AS (
  SELECT s.server, s.from_ns, s.to_ns, s.ended, s.paused_ns, c.connection, c.client_id, c.inner_client, c.ns,
         (least(s.to_ns, coalesce(e.end_ns, s.to_ns)) - c.ns - s.paused_ns) / 1e6 AS waited_ms, c.acks
  FROM alone s
  JOIN calls c ON c.connection = s.connection AND c.ns BETWEEN s.from_ns AND s.to_ns
  JOIN ends e ON c.connection = e.connection
  LEFT JOIN heard h ON c.connection = h.connection
  WHERE (c.response_bytes IS NULL OR c.completed_ns >= s.to_ns) AND e.s_last_ns >= c.ns
    AND (c.response_bytes IS NOT NULL OR c.ns > coalesce(h.ns, 0))
    AND c.api = 'PRODUCE' AND c.acks != 0
    AND c.client_id NOT IN (SELECT client_id FROM calls WHERE throttle_ms > 0)
),
summed AS (
  SELECT server, from_ns, to_ns, ended, count(*) AS requests, 1 AS connections, max(waited_ms) AS longest_ms,
         min(ns) AS first_ns, array_agg(DISTINCT client_id) FILTER (WHERE NOT inner_client) AS clients, true AS single,
         min(acks) = -1 AS for_all
  FROM of_one JOIN (SELECT server, max(last_ns) AS seen_ns FROM tcp GROUP BY server) AS seen USING (server)
  WHERE waited_ms >= 1000
  GROUP BY server, from_ns, to_ns, ended
  HAVING count(*) >= 3 AND max(to_ns - paused_ns) - min(ns) >= 5000000000
    AND (ended = 1 OR max(seen_ns) >= min(ns) + 2000000000)
  UNION ALL
  SELECT server, from_ns, to_ns, ended, count(*) AS requests, count(DISTINCT connection) AS connections,
         max(waited_ms) AS longest_ms, min(ns) AS first_ns,
         array_agg(DISTINCT client_id) FILTER (WHERE NOT inner_client) AS clients, false, false
  FROM waiting JOIN (SELECT server, max(last_ns) AS seen_ns FROM tcp GROUP BY server) AS seen USING (server)
  WHERE waited_ms >= 1000
  GROUP BY server, from_ns, to_ns, ended
  HAVING count(DISTINCT connection) >= 2 AND max(to_ns - paused_ns) - min(ns) >= 5000000000
    AND (ended = 1 OR max(seen_ns) >= min(ns) + 2000000000)
),
longest AS (
  SELECT *, row_number() OVER (PARTITION BY server ORDER BY to_ns - first_ns DESC) AS place,
         count(*) OVER (PARTITION BY server) AS silences
  FROM summed
),
others AS (
  SELECT l.server, count(o.server) AS other_answers
  FROM longest l
  LEFT JOIN calls o
    ON o.server != l.server AND o.response_bytes IS NOT NULL AND o.completed_ns BETWEEN l.first_ns AND l.to_ns
  WHERE place = 1
  GROUP BY l.server
)
SELECT {ROLE}, broker, broker_name, requests, connections, longest_ms, silences, l.clients, other_answers,
       (to_ns - l.first_ns) / 1e9 AS seconds,
       CASE WHEN ended = 1 THEN 'then it answered again' ELSE 'until the end of the capture' END AS outcome, l.first_ns,
       CASE WHEN other_answers = 0 THEN 'no other broker answers in the capture meanwhile'
            ELSE concat('other brokers gave ', format_number(other_answers, 0),
                        CASE WHEN other_answers = 1 THEN ' answer' ELSE ' answers' END, ' meanwhile') END AS beside,
       to_ns AS last_ns, 1000 + (to_ns - l.first_ns) / 1e9 AS weight,
       CASE WHEN single THEN 'warning' ELSE 'critical' END AS severity,
       CASE WHEN for_all THEN '' ELSE '; requested waits' END AS asked,
       CASE WHEN for_all
            THEN 'look at broker {{broker_name}} (a process that is stopped or swapped out, a disk that hangs, a long '
                 'GC pause), and at the followers of its partitions: acks=all waits for those in sync'
            END AS advised,
       CASE WHEN ended = 1 THEN 'decode pcap {{files}} --slower-than 1s --connection {{server}}' END AS look, l.server
FROM longest l
JOIN brokers b ON l.server = b.server
JOIN others o ON l.server = o.server
LEFT JOIN controllers k ON l.server = k.server
WHERE place = 1
""",
    subject={"broker": "broker", "client": "clients"},
    evidence=("seconds", "requests", "connections", "longest_ms", "silences", "other_answers", "clients"),
    text="{role} {broker_name} accepts connections and answers no request for {seconds} s, {outcome}: "
    "{requests} requests on {connections} connections wait; {beside}",
    ruled_out="its host and the network: TCP acknowledges what clients send{asked}",
    advice="look at {role} {broker_name}: is its process stopped or swapped out, does its disk hang, is a GC "
    "pause this long? Take a thread dump (jstack), then restart it; its leaders move only when it loses its session",
    see="sql \"SELECT timestamp, connection, reason FROM undecodable WHERE event = 'unanswered-at-end' AND "
    "connection LIKE '{server}-%'\" {files}",
    source="request.timeout.ms 30000, broker.session.timeout.ms 9000 (KRaft)",
    explains={
        **dict.fromkeys(
            (
                "request-timeout-too-short", "connection-churn", "errors-again", "metadata-storm", "busy-fetch",
                "idle-connection-cut", "duplicate-writes", "consumer-stuck",
                "poll-interval-exceeded", "sessions-never-reused", "fetch-session-evictions",
            ),
            ("client",),
        ),
        **dict.fromkeys(
            (
                "rebalance-storm", "slow-rebalance", "slow-replication", "leader-moves",
                "coordinator-unavailable", "lagging-consumer", "quorum-elections", "slow-broker", "slow-cluster",
                "long-transaction",
            ),
            (),
        ),
        "under-min-isr": ("broker",),
    },
    rests_on=("gaps",),
)  # fmt: skip
