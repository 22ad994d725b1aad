"""Processing between two polls takes longer than max.poll.interval.ms."""

from kcli.rules.rule import Rule

# The member leaves by itself, at the earliest max.poll.interval.ms (the rebalance timeout of its JoinGroup) after it
# joined, and joins again on the same connection: a consumer that is closed closes its connection, too. Java gives this
# reason in LeaveGroup. A rebalance timeout that equals the session timeout is not that interval (aiokafka has an option
# for it).
RULE = Rule(
    finding="poll-interval-exceeded",
    title="members that exceed max.poll.interval.ms",
    when="steady_clock AND clocks_apart_ms < 500 AND leaves > 0",
    sql="""
WITH joins AS (
  SELECT group_id, coalesce(client_id, '') AS client_id, connection, unix_micros(timestamp) * 1000 AS ns,
         CASE WHEN rebalance_timeout_ms != coalesce(session_timeout_ms, -1) THEN rebalance_timeout_ms END AS limit_ms
  FROM group_calls
  WHERE api = 'JOIN_GROUP'
    OR (api IN ('CONSUMER_GROUP_HEARTBEAT', 'STREAMS_GROUP_HEARTBEAT') AND generation = 0)
),
leaves AS (
  SELECT group_id, coalesce(client_id, '') AS client_id, connection, unix_micros(timestamp) * 1000 AS ns, reason,
         lower(coalesce(reason, '')) LIKE '%poll timeout%'
           OR lower(coalesce(reason, '')) LIKE '%max.poll.interval%' AS is_said
  FROM group_calls
  WHERE api = 'LEAVE_GROUP'
    OR (api IN ('CONSUMER_GROUP_HEARTBEAT', 'STREAMS_GROUP_HEARTBEAT') AND generation < 0)
),
suspects AS (
  SELECT l.*
  FROM leaves l
  LEFT JOIN (SELECT connection, group_id, max(ns) AS ns FROM joins GROUP BY connection, group_id) AS j
    ON l.connection = j.connection AND l.group_id = j.group_id
  WHERE is_said OR j.ns >= l.ns + 200000000
),
limits AS (SELECT group_id, client_id, max(limit_ms) AS limit_ms FROM joins GROUP BY group_id, client_id),
ends AS (SELECT client_id, max(ns) AS alive_ns FROM calls GROUP BY client_id),
steps AS (
  SELECT *, min(join_ns) OVER (PARTITION BY client_id, group_id
                               ORDER BY ns RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS again_ns,
         max(join_ns) OVER (PARTITION BY client_id, group_id
                            ORDER BY ns RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS joined_ns,
         min(join_ns) OVER (PARTITION BY connection, group_id
                            ORDER BY ns RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS same_ns
  FROM (
    SELECT group_id, client_id, connection, ns, reason, is_said, CAST(NULL AS BIGINT) AS join_ns FROM suspects
    UNION ALL
    SELECT group_id, client_id, connection, ns, NULL, NULL, ns FROM joins WHERE group_id IS NOT NULL
  ) AS asked
),
seen AS (
  SELECT s.*, m.limit_ms, e.alive_ns, t.first_ns AS begun_ns
  FROM steps s
  LEFT JOIN limits m ON s.group_id = m.group_id AND s.client_id = m.client_id
  LEFT JOIN ends e ON s.client_id = e.client_id
  LEFT JOIN stretches t ON s.ns BETWEEN t.first_ns AND t.last_ns
  WHERE join_ns IS NULL
),
late AS (
  SELECT *, (coalesce(again_ns, ns) - ns) / 1e6 AS pause_ms
  FROM seen
  WHERE is_said
    OR (alive_ns > ns + 1000000 AND same_ns IS NOT NULL
        AND (ns - coalesce(joined_ns, begun_ns)) / 1e6 >= 0.9 * coalesce(limit_ms, 3000)
        AND (same_ns - ns) / 1e6 >= 200)
),
failed AS (
  SELECT group_id, coalesce(client_id, '') AS client_id, count(*) AS refused, array_agg(DISTINCT error) AS errors
  FROM group_calls
  WHERE error IN ('UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION', 'REBALANCE_IN_PROGRESS') AND api = 'OFFSET_COMMIT'
  GROUP BY 1, 2
)
SELECT l.client_id, l.group_id, count(*) AS left_by_itself, max(limit_ms) AS max_poll_interval_ms,
       CASE WHEN max(limit_ms) IS NULL THEN '' ELSE concat(' (', format_number(max(limit_ms), 0), ')') END AS of_limit,
       percentile_approx(CASE WHEN again_ns IS NOT NULL THEN pause_ms END, 0.5) / 1e3 AS pause_seconds,
       sum(CASE WHEN again_ns IS NOT NULL THEN 1 ELSE 0 END) AS joined_again, max(reason) AS reason,
       CASE WHEN max(again_ns) IS NULL THEN 'did not join again'
            ELSE concat('joined again ', CASE WHEN count(again_ns) = 1 THEN 'once'
                                              ELSE concat(count(again_ns), ' times') END, ', ',
                        round(percentile_approx(CASE WHEN again_ns IS NOT NULL THEN pause_ms END, 0.5) / 1e3, 1),
                        ' s later') END AS back, coalesce(max(f.refused), 0) AS commits_refused,
       min(ns) AS first_ns, max(ns) AS last_ns, count(*) AS weight
FROM late l LEFT JOIN failed f ON l.client_id = f.client_id AND l.group_id = f.group_id
GROUP BY l.client_id, l.group_id
""",
    subject={"client": "client_id", "group": "group_id"},
    evidence=("left_by_itself", "joined_again", "max_poll_interval_ms", "pause_seconds", "commits_refused", "reason"),
    text="{client_id} left group {group_id} by itself {left_by_itself} times, "
    "because max.poll.interval.ms{of_limit} passed without a poll, and {back}; "
    "{commits_refused} commits refused",
    ruled_out="a dead member: it sends LeaveGroup itself",
    advice="lower max.poll.records (default 500), raise max.poll.interval.ms (default 300000), or "
    "process faster (hand the work to other threads)",
    see="decode pcap {files} --client {client_id} --api LeaveGroup",
    source="max.poll.interval.ms 300000, max.poll.records 500; KIP-62",
    explains={
        "rebalance-storm": ("group",),
        "slow-rebalance": ("group",),
        "consumer-stuck": ("client",),
        "errors-again": ("client",),
        "lagging-consumer": ("client",),
        "connection-churn": ("client",),
    },
    rests_on=("suspects",),
)
