"""The times in which captures ran, as far as their clocks tell: prepared tables (see `kcli.rules.prepared`)."""

# APIs whose answers wait by design: for other members, or for events.
WAITING_APIS = ("JOIN_GROUP", "SYNC_GROUP", "SHARE_FETCH", "CONTROLLER_REGISTRATION", "BROKER_HEARTBEAT")
WAITING = "('" + "', '".join(WAITING_APIS) + "')"
BETWEEN_CAPTURES_NS = 60_000_000_000  # without any connection for this long, one capture has ended and another begins
# gaps that separate captured periods: only the longest, to bound the number of periods in a hostile capture
MOST_GAPS = 1000
# A TCP connection (a row of `tcp`) during which the capture's clock was set back by more than a second.
SET_BACK = "(back_ms > 1000 OR last_ns < first_ns - 1000000000)"
# How far ahead (ns) the clock of the server's packets of a connection is of that of the client's; null: it is the same,
# as far as it shows. Network and capture do not put packets in such a wrong order: the server accepts before it is
# asked, the client sends data before it is accepted, or either acknowledges before the other has sent.
AHEAD_NS = """
CASE WHEN s_syn_ns < c_syn_ns - 2000000 OR c_first_data_ns < s_syn_ns - 2000000 THEN s_syn_ns - c_syn_ns
     WHEN s_early >= 5 AND s_early > 0.2 * s_data_segments AND s_early_ms > 1 THEN s_early_ms * 1e6
     WHEN c_early >= 5 AND c_early > 0.2 * c_data_segments AND c_early_ms > 1 THEN -c_early_ms * 1e6 END
""".strip()

# The unit in which a batch's timestamp is the packet's time, within a day, though Kafka reads it as milliseconds; null:
# none. No record of that age or future is written by chance.
OTHER_UNIT = """
CASE WHEN abs(max_timestamp - ns / 1e9) < 86400 THEN 'seconds'
     WHEN abs(max_timestamp / 1e6 - ns / 1e9) < 86400 THEN 'microseconds'
     WHEN abs(max_timestamp / 1e9 - ns / 1e9) < 86400 THEN 'nanoseconds' END
""".strip()

TIMES: dict[str, str] = {
    # Times of a minute and more that lie between two captures, though connections may last over them: nobody sends a
    # request or gets a response, although something was sent: a request waits all the time for a response that a broker
    # gives at once, or a connection lasts of which bytes are missing.
    "between_captures": f"""
WITH moments AS (
  SELECT floor(ns / 1e9) AS second, min(ns) AS first_ns, max(ns) AS last_ns
  FROM (SELECT ns FROM calls UNION ALL SELECT completed_ns FROM calls WHERE response_bytes IS NOT NULL) AS every
  GROUP BY floor(ns / 1e9)
),
quiet AS (
  SELECT before_ns AS from_ns, first_ns AS to_ns
  FROM (SELECT first_ns, lag(last_ns) OVER (ORDER BY second) AS before_ns FROM moments) AS spaced
  WHERE first_ns - before_ns >= {BETWEEN_CAPTURES_NS}
  ORDER BY first_ns - before_ns DESC LIMIT {MOST_GAPS}
)
SELECT q.from_ns, q.to_ns
FROM quiet q JOIN calls c ON c.ns BETWEEN q.from_ns - 10000000000 AND q.from_ns
JOIN tcp t ON c.connection = t.connection AND coalesce(c_fin_ns, q.to_ns) >= q.to_ns
  AND coalesce(s_fin_ns, q.to_ns) >= q.to_ns AND coalesce(c_rst_ns, s_rst_ns, q.to_ns) >= q.to_ns
WHERE (c.response_bytes IS NULL AND NOT (c.api = 'PRODUCE' AND c.acks = 0) OR c.completed_ns >= q.to_ns)
  AND c.api NOT IN {WAITING} AND (c.api != 'FETCH' OR q.to_ns - c.ns > 1e6 * coalesce(c.max_wait_ms, 500))
UNION
SELECT q.from_ns, q.to_ns
FROM quiet q JOIN tcp t ON t.first_ns <= q.from_ns AND t.last_ns >= q.to_ns
WHERE c_holes > c_out_of_order + c_resent OR s_holes > s_out_of_order + s_resent
""",
    # The captured periods. Captures may be of different days and clusters, and the time between them does not count. A
    # request without an answer is completed when the next capture begins, so its own time counts. Connections that
    # begin within the same second count as one, as the gap between two captures is longer.
    "stretches": f"""
WITH ends AS (
  SELECT first_ns, last_ns, first_ns - max(last_ns) OVER (ORDER BY first_ns, last_ns
                                                          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS gap_ns
  FROM (
    SELECT min(first_ns) AS first_ns, max(last_ns) AS last_ns
    FROM (SELECT first_ns, last_ns FROM tcp UNION ALL SELECT first_ns, seen_ns FROM links) AS each_link
    GROUP BY floor(first_ns / 1e9)
  ) AS e
),
shortest AS (
  SELECT coalesce(max(gap_ns), {BETWEEN_CAPTURES_NS}) AS gap_ns
  FROM (
    SELECT gap_ns FROM ends WHERE gap_ns > {BETWEEN_CAPTURES_NS} ORDER BY gap_ns DESC LIMIT 1 OFFSET {MOST_GAPS}
  ) AS g
),
unbroken AS (
  SELECT min(first_ns) AS first_ns, max(last_ns) AS last_ns
  FROM (
    SELECT e.first_ns, last_ns, sum(CASE WHEN e.gap_ns > l.gap_ns THEN 1 ELSE 0 END)
                                  OVER (ORDER BY first_ns, last_ns ROWS UNBOUNDED PRECEDING) AS stretch
    FROM ends e CROSS JOIN shortest l
  ) AS numbered
  GROUP BY stretch
),
captures AS (
  SELECT coalesce(lag(to_ns) OVER (ORDER BY to_ns), 0) AS from_ns, from_ns AS to_ns FROM between_captures
  UNION ALL
  SELECT coalesce(max(to_ns), 0), 9223372036854775807 FROM between_captures
)
SELECT greatest(u.first_ns, c.from_ns) AS first_ns, least(u.last_ns, c.to_ns) AS last_ns
FROM unbroken u JOIN captures c ON u.first_ns <= c.to_ns AND u.last_ns >= c.from_ns
""",
    "server_stretches": """
SELECT DISTINCT server, t.first_ns, t.last_ns
FROM (SELECT server, first_ns FROM tcp UNION ALL SELECT server, first_ns FROM links) AS seen
JOIN stretches t ON seen.first_ns BETWEEN t.first_ns AND t.last_ns
""",
    # The captured time of each server: a threshold that is a share of the time is a share of this.
    "server_spans": """
SELECT server, min(first_ns) AS first_ns, max(last_ns) AS last_ns,
       greatest(sum(last_ns - first_ns) / 1e9, 0.001) AS seconds
FROM server_stretches
GROUP BY server
""",
    # Times of two seconds and more without a message from anyone, though requests wait: the capturing machine paused,
    # its clock was set forward, or a file is missing. The requests are to several brokers, and wait longer than they
    # ask to; or a member misses its heartbeats and then goes on with them, as it was not waiting for one; or bytes are
    # missing behind that time. A broker that answers nobody keeps no client from sending a heartbeat.
    "pauses": """
WITH still AS (
  SELECT 250000000 * (before + 1) AS from_ns, 250000000 * slot AS to_ns
  FROM (
    SELECT slot, lag(slot) OVER (ORDER BY slot) AS before
    FROM (
      SELECT DISTINCT CAST(floor(ns / 2.5e8) AS BIGINT) AS slot
      FROM (SELECT ns FROM calls UNION ALL SELECT completed_ns FROM calls WHERE completed_ns IS NOT NULL) AS every
    ) AS slots
  ) AS spaced
  WHERE slot > before + 8
),
-- two heartbeats of a connection, the first of which was answered, with the usual time between them (ns)
beats AS (
  SELECT connection, ns, lag(ns) OVER in_turn AS before_ns, lag(completed_ns) OVER in_turn AS answered_ns
  FROM calls
  WHERE api LIKE '%HEARTBEAT'
  WINDOW in_turn AS (PARTITION BY connection ORDER BY ns)
),
breaks AS (
  SELECT before_ns, ns, usual_ns
  FROM beats
  JOIN (
    SELECT connection, percentile_approx(ns - before_ns, 0.5) AS usual_ns
    FROM beats
    GROUP BY connection
    HAVING count(*) >= 4
  ) AS usual USING (connection)
  WHERE answered_ns < before_ns + usual_ns
)
SELECT s.from_ns, s.to_ns
FROM still s JOIN timed t ON t.ns < s.from_ns AND t.completed_ns > s.to_ns LEFT JOIN nodes n ON t.server = n.server
WHERE own_ms > 1000
GROUP BY s.from_ns, s.to_ns
HAVING count(DISTINCT coalesce(CAST(node_id AS STRING), t.server)) >= 2
UNION
SELECT s.from_ns, s.to_ns
FROM still s JOIN breaks b ON b.before_ns < s.from_ns AND b.ns >= s.to_ns AND b.ns < s.to_ns + 2e0 * usual_ns
WHERE s.to_ns - s.from_ns > 1.5 * usual_ns
UNION
SELECT s.from_ns, s.to_ns
FROM still s JOIN undecodable u ON unix_micros(u.timestamp) * 1000 BETWEEN s.to_ns AND s.to_ns + 2000000000
WHERE u.event = 'gap'
""",
}
