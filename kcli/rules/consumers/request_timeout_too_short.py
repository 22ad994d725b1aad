"""A client does not wait for the answer it asked for."""

from kcli.rules.prepared import CLIENT_END, SERVER_END
from kcli.rules.rule import Rule

# A broker that answers nobody in the meantime hangs, and its clients are right to give up. An answer that is missing in
# the capture does not count as one that the client did not wait for. If the broker may answer within the timeout, and
# mostly does, it was late by exception.
# A process that ends closes all its connections at once, each with a waiting Fetch; that counts once. If it ends in
# JoinGroup or SyncGroup, which wait for other members, and closes idle connections with it, no timeout is too short.
# If only a piece of the answer comes, after the client's FIN, as a RST cuts it, the client did not wait for it.
RULE = Rule(
    finding="request-timeout-too-short",
    title="clients that do not wait for responses",
    when="steady_clock AND clocks_apart_ms < 500 AND left_connections >= 3 AND left_seconds >= 2",
    sql=f"""
WITH closed_early AS (
  SELECT *
  FROM (
    SELECT c.connection, coalesce(c.client_id, '') AS client_id,
           {CLIENT_END} AS end_ns,
           {SERVER_END} AS server_ns, c.unanswered,
           l.last_ns AS answered_ns
    FROM conns c JOIN links l ON c.connection = l.connection
    WHERE NOT c.inner_client AND c_unacked_resent = 0
  ) AS e
  WHERE end_ns IS NOT NULL AND (server_ns IS NULL OR server_ns >= end_ns) AND (unanswered > 0 OR answered_ns > end_ns)
),
reset AS (
  SELECT h.connection
  FROM closed_early h JOIN undecodable u ON u.connection = h.connection
  WHERE event IN ('gap', 'truncated', 'undecodable')
  GROUP BY h.connection
  HAVING min(unix_micros(u.timestamp) * 1000 - h.end_ns) > 0
),
open AS (
  SELECT h.client_id, h.connection, h.end_ns, x.server, x.api, x.ns, x.max_wait_ms, x.completed_ns, x.response_bytes,
         r.connection IS NOT NULL AS is_reset
  FROM closed_early h
  JOIN calls x
    ON x.connection = h.connection AND x.ns < h.end_ns
    AND (x.unanswered OR (x.response_bytes IS NOT NULL AND x.completed_ns > h.end_ns))
  LEFT JOIN heard a ON a.connection = h.connection AND x.response_bytes IS NULL AND x.ns <= a.ns
  LEFT JOIN reset r ON r.connection = h.connection
  WHERE a.connection IS NULL OR r.connection IS NOT NULL
),
quits AS (
  SELECT q.connection
  FROM (SELECT DISTINCT client_id, connection, end_ns FROM open WHERE api IN ('JOIN_GROUP', 'SYNC_GROUP')) AS q
  JOIN (
    SELECT client_id, connection, first_ns, unanswered, {CLIENT_END} AS end_ns FROM conns
  ) AS o
    ON o.client_id = q.client_id AND o.connection != q.connection AND o.first_ns < q.end_ns
  GROUP BY q.connection
  HAVING bool_or(unanswered = 0 AND abs(o.end_ns - q.end_ns) <= 100000000)
    AND NOT bool_or(o.end_ns IS NULL OR o.end_ns - q.end_ns > 100000000)
),
answered AS (
  SELECT DISTINCT server, floor(completed_ns / 1e9) AS second
  FROM calls
  WHERE response_bytes IS NOT NULL AND server IN (SELECT server FROM open WHERE response_bytes IS NULL)
),
pending AS (
  SELECT client_id, connection, end_ns, min_by(api, ns) AS api, min(ns) AS ns, max(max_wait_ms) AS max_wait_ms,
         bool_or(is_reset OR (completed_ns > end_ns AND response_bytes IS NOT NULL)) AS answered_later
  FROM open x
  WHERE connection NOT IN (SELECT connection FROM quits)
    AND (response_bytes IS NOT NULL OR is_reset
         OR EXISTS (
           SELECT 1
           FROM answered a
           WHERE a.server = x.server AND a.second BETWEEN floor(x.ns / 1e9) AND floor(x.end_ns / 1e9)
         ))
  GROUP BY client_id, connection, end_ns
),
moments AS (
  SELECT client_id, count(*) AS moments
  FROM (
    SELECT client_id, end_ns - lag(end_ns) OVER (PARTITION BY client_id ORDER BY end_ns) AS since_ns FROM pending
  ) AS p
  WHERE since_ns IS NULL OR since_ns > 100000000
  GROUP BY client_id
),
summed AS (
  SELECT client_id, count(*) AS gave_up, count(DISTINCT api) AS apis, max_by(api, ns) AS api,
         percentile_approx((end_ns - ns) / 1e6, 0.5) AS after_ms, percentile_approx((end_ns - ns) / 1e6, 0.2) AS p20_ms,
         percentile_approx((end_ns - ns) / 1e6, 0.8) AS p80_ms, min((end_ns - ns) / 1e6) AS least_ms,
         max(max_wait_ms) AS max_wait_ms, sum(CASE WHEN answered_later THEN 1 ELSE 0 END) AS answered_later,
         (max(end_ns) - min(end_ns)) / 1e9 AS seconds, min(ns) AS first_ns, max(end_ns) AS last_ns
  FROM pending
  GROUP BY client_id
),
requests_sent AS (
  SELECT s.client_id, count(*) AS requests
  FROM summed s JOIN calls c ON c.client_id = s.client_id AND c.api = s.api
  GROUP BY s.client_id
),
connections_opened AS (SELECT client_id, count(*) AS connections
                       FROM conns WHERE client_id IS NOT NULL GROUP BY client_id)
SELECT s.client_id, g.groups, gave_up, api, requests, after_ms, least_ms, max_wait_ms, answered_later, seconds,
       connections,
       CASE WHEN max_wait_ms IS NULL THEN ''
            ELSE concat('; it had let the broker wait up to ', max_wait_ms, ' ms') END AS wait, s.first_ns,
       s.last_ns, gave_up AS weight,
       CASE WHEN max_wait_ms < least_ms AND gave_up < 0.1 * requests THEN 'info' ELSE 'warning' END AS severity
FROM summed s
JOIN connections_opened a ON s.client_id = a.client_id
JOIN requests_sent q ON s.client_id = q.client_id
JOIN moments m ON s.client_id = m.client_id
LEFT JOIN client_groups g ON s.client_id = g.client_id
WHERE moments >= 3 AND seconds >= 2 AND p20_ms >= 50 AND p80_ms - p20_ms <= greatest(0.35 * after_ms, 250)
  AND p80_ms <= 2 * p20_ms
""",
    subject={"client": "client_id", "group": "groups"},
    evidence=(
        "gave_up",
        "api",
        "requests",
        "after_ms",
        "least_ms",
        "max_wait_ms",
        "answered_later",
        "connections",
        "seconds",
    ),
    text="{client_id} closes connections before the response: {gave_up} connections closed {after_ms} ms after a "
    "request ({api}, of which it sent {requests}), always about as long{wait}; {answered_later} responses came later",
    ruled_out="the broker: it closes no connection, and answers others",
    advice="set request.timeout.ms (default 30000) of {client_id} above fetch.max.wait.ms, and above the time "
    "that acks=all takes",
    see='sql "SELECT client_id, connection, last_request, closed, closed_by, '
    "date_diff('millisecond', last_request, closed) AS ms_between, unanswered FROM connections "
    "WHERE client_id = '{client_id}' ORDER BY closed\" {files}",
    source="request.timeout.ms 30000 (consumer, producer), fetch.max.wait.ms 500",
    explains={
        "connection-churn": ("client",),
        "rebalance-storm": ("group",),
        "slow-rebalance": ("group",),
        "errors-again": ("client",),
        "poll-interval-exceeded": ("client",),
        "fetch-session-evictions": ("client",),
        "sessions-never-reused": ("client",),
    },
    rests_on=("closed_early",),
)
