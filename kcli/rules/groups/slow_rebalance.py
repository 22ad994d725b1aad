"""A rebalance that waits long for a member."""

from kcli.rules.prepared import CLIENT_END, SERVER_END
from kcli.rules.rule import Rule

# A coordinator answers JoinGroup when all members that it knows have joined. It waits for a dead member until its
# session times out; for a busy member until it polls, or the rebalance timeout ends; and for a member that got an id
# and never came back with it. SyncGroup waits for the group's leader. Members learn of a rebalance from their
# heartbeats, every 3 s, so shorter waits are usual. The group waits for the member that joins last, or never; a static
# member is identified by its instance id. A waiting member sends nothing but LeaveGroup: if it goes on without an
# answer, the capture lacks that answer. In the protocols of KIP-848 and KIP-1071 no request waits. A member that has to
# revoke partitions is told which ones it keeps, in its old epoch, and stays in that epoch until it has revoked them;
# other members are in a newer one. A member that dies silently keeps its partitions until its session times out; then
# the others get a newer epoch. If it is static and started again, it is refused until then, which is worth knowing
# only. A group that was empty waits for more members, again after each new one (group.initial.rebalance.delay.ms): a
# member that the capture lacks is assumed only long after the last request.
MODERN = "('CONSUMER_GROUP_HEARTBEAT', 'STREAMS_GROUP_HEARTBEAT')"
REQUEST = """CASE api WHEN 'JOIN_GROUP' THEN 'JoinGroup' WHEN 'SYNC_GROUP' THEN 'SyncGroup'
            WHEN 'STREAMS_GROUP_HEARTBEAT' THEN 'StreamsGroupHeartbeat' ELSE 'ConsumerGroupHeartbeat' END"""
KIND = "CASE WHEN api = 'STREAMS_GROUP_HEARTBEAT' THEN 'streams' ELSE 'consumer' END"
RULE = Rule(
    finding="slow-rebalance",
    title="rebalances that wait long for a member",
    when="steady_clock AND clocks_apart_ms < 500 AND seconds >= 6 "
    "AND (joins_that_wait > 0 OR apis LIKE '%,CONSUMER_GROUP_HEARTBEAT,%' OR apis LIKE '%,STREAMS_GROUP_HEARTBEAT,%')",
    sql=f"""
WITH asked AS (
  SELECT group_id, coalesce(client_id, '') AS client_id, connection, api, unix_micros(timestamp) * 1000 AS ns,
         completed_ns, coalesce(instance_id, said_id, member_id) AS member,
         coalesce(instance_id, said_id) IS NOT NULL AS is_static,
         coalesce(error, '') AS error, answered, session_timeout_ms, rebalance_timeout_ms,
         generation, answered_generation, assignment IS NOT NULL AS is_given,
         cardinality(assignment) AS given
  FROM (
    SELECT *, CASE WHEN member_id != '' THEN max(instance_id) OVER (PARTITION BY group_id, member_id) END AS said_id
    FROM group_calls
    WHERE group_id IS NOT NULL
  ) AS c
),
closed AS (
  SELECT connection, least(coalesce(c_ns, s_ns), coalesce(s_ns, c_ns)) AS closed_ns
  FROM (
    SELECT connection, {CLIENT_END} AS c_ns,
           {SERVER_END} AS s_ns
    FROM tcp
  ) AS ends
),
long_waits AS (
  SELECT *, max(to_ns) OVER (PARTITION BY group_id, api ORDER BY ns
                             ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
  FROM (
    SELECT a.*, CASE WHEN answered THEN completed_ns ELSE coalesce(closed_ns, s.last_ns) END AS to_ns
    FROM (
      SELECT *, max(CASE WHEN api != 'LEAVE_GROUP' THEN ns END) OVER (PARTITION BY connection) AS said_ns FROM asked
    ) AS a
    LEFT JOIN closed c ON a.connection = c.connection
    LEFT JOIN heard h ON a.connection = h.connection
    JOIN stretches s ON a.ns BETWEEN s.first_ns AND s.last_ns
    WHERE api IN ('JOIN_GROUP', 'SYNC_GROUP') AND (answered OR (h.ns <= a.ns AND said_ns = a.ns))
  ) AS w
  WHERE to_ns - ns >= 6000000000
),
rounds AS (
  SELECT *, count(*) OVER (PARTITION BY group_id) AS rounds,
         row_number() OVER (PARTITION BY group_id ORDER BY to_ns - from_ns DESC, from_ns) AS place
  FROM (
    SELECT group_id, api, round, min(ns) AS from_ns, max(to_ns) AS to_ns, bool_or(answered) AS ended,
           count(DISTINCT connection) AS waiting, array_agg(DISTINCT client_id) AS waiting_clients
    FROM (
      SELECT *, sum(CASE WHEN ns <= before_ns THEN 0 ELSE 1 END)
                  OVER (PARTITION BY group_id, api ORDER BY ns ROWS UNBOUNDED PRECEDING) AS round
      FROM long_waits
    ) AS n
    GROUP BY group_id, api, round
  ) AS r
),
longest AS (
  SELECT r.*, session_timeout_ms, rebalance_timeout_ms
  FROM rounds r
  JOIN (
    SELECT group_id, max(session_timeout_ms) AS session_timeout_ms, max(rebalance_timeout_ms) AS rebalance_timeout_ms
    FROM asked
    GROUP BY group_id
  ) AS t ON r.group_id = t.group_id
  WHERE place = 1
),
members AS (
  SELECT r.group_id, a.member, max_by(a.client_id, ns) AS client_id, max_by(a.connection, ns) AS connection,
         max(CASE WHEN r.api = 'JOIN_GROUP' AND ns < from_ns + 1000000000
                       AND ns >= from_ns - 1000000 * CAST(coalesce(r.session_timeout_ms, 60000) AS BIGINT)
                       AND error NOT IN ('UNKNOWN_MEMBER_ID', 'FENCED_INSTANCE_ID') THEN 1
                  WHEN r.api = 'SYNC_GROUP' AND a.api = 'JOIN_GROUP' AND error = ''
                       AND completed_ns BETWEEN from_ns - 3000000000 AND from_ns + 1000000000 THEN 1
                  ELSE 0 END) AS known,
         max(CASE WHEN ns < to_ns AND error != 'MEMBER_ID_REQUIRED' THEN 1 ELSE 0 END) AS came,
         bool_or(is_static) AS is_static,
         min(CASE WHEN a.api = r.api AND error != 'MEMBER_ID_REQUIRED'
                       AND ns >= from_ns - CASE WHEN r.api = 'SYNC_GROUP' THEN 3000000000 ELSE 0 END
                    THEN ns END) AS acted_ns,
         min(CASE WHEN a.api = 'LEAVE_GROUP' AND answered THEN ns END) AS left_ns,
         sum(CASE WHEN a.api = 'HEARTBEAT' AND ns > from_ns AND ns < to_ns THEN 1 ELSE 0 END) AS beats
  FROM longest r JOIN asked a ON r.group_id = a.group_id
  WHERE member != ''
  GROUP BY r.group_id, a.member
),
awaited AS (
  SELECT m.*, e.client, row_number() OVER (PARTITION BY m.group_id ORDER BY beats DESC, m.client_id, e.client) AS place,
         CASE WHEN beats > 0 OR acted_ns <= to_ns THEN 'works' WHEN came = 0 THEN 'given'
              WHEN closed_ns <= to_ns THEN 'closed' ELSE 'silent' END AS state
  FROM members m
  JOIN longest r ON m.group_id = r.group_id
  LEFT JOIN link_ends e ON m.connection = e.connection
  LEFT JOIN closed n ON m.connection = n.connection
  WHERE known = 1 AND (acted_ns IS NULL OR acted_ns >= to_ns - 1000000000)
    AND (left_ns IS NULL OR left_ns > from_ns + 1000000000)
),
named AS (
  SELECT group_id, array_agg(DISTINCT client_id) AS clients, array_agg(client) AS ends, sum(beats) AS heartbeats,
         count(*) AS awaited, min(CASE WHEN place = 1 THEN client_id END) AS first_client,
         min(CASE WHEN place = 1 THEN client END) AS first_end, min(CASE WHEN place = 1 THEN state END) AS state,
         bool_or(is_static) AS is_static
  FROM awaited
  GROUP BY group_id
),
epochs AS (
  SELECT *, max(answered_generation) OVER (PARTITION BY group_id ORDER BY completed_ns
                                           ROWS UNBOUNDED PRECEDING) AS newest
  FROM asked
  WHERE api IN {MODERN} AND answered AND answered_generation IS NOT NULL
),
kept AS (
  SELECT *, min(CASE WHEN is_given AND generation = answered_generation AND answered_generation < newest
                       THEN completed_ns END)
              OVER (PARTITION BY group_id, member, answered_generation, error) AS told_ns
  FROM epochs
),
stays AS (
  SELECT group_id, member, max(api) AS api, answered_generation AS epoch, max_by(client_id, ns) AS client_id,
         max_by(connection, ns) AS connection, min(told_ns) AS from_ns, max(completed_ns) AS last_ns,
         lead(min(completed_ns)) OVER (PARTITION BY group_id, member ORDER BY min(completed_ns)) AS next_ns,
         sum(CASE WHEN completed_ns > told_ns THEN 1 ELSE 0 END) AS beats, bool_or(is_static) AS is_static
  FROM kept
  GROUP BY group_id, member, answered_generation, error
),
keeping AS (
  SELECT *, coalesce(next_ns, last_ns) AS to_ns, count(*) OVER (PARTITION BY group_id) AS rounds,
         row_number() OVER (PARTITION BY group_id ORDER BY coalesce(next_ns, last_ns) - from_ns DESC, member) AS place
  FROM stays
  WHERE coalesce(next_ns, last_ns) - from_ns >= 6000000000 AND beats > 0
),
newer AS (
  SELECT k.group_id, count(DISTINCT e.member) AS waiting, array_agg(DISTINCT e.client_id) AS waiting_clients
  FROM keeping k
  JOIN epochs e
    ON e.group_id = k.group_id AND e.member != k.member AND e.answered_generation > k.epoch
    AND e.completed_ns BETWEEN k.from_ns AND k.to_ns
  WHERE place = 1
  GROUP BY k.group_id
),
lives AS (
  SELECT a.group_id, member, max(api) AS api, max_by(client_id, a.ns) AS client_id,
         max_by(connection, a.ns) AS connection,
         max(a.ns) AS from_ns, max_by(generation, a.ns) AS epoch, bool_or(is_static) AS is_static,
         max(a.ns - before_ns) AS pause_ns, max_by(partitions, a.ns) AS partitions
  FROM (
    SELECT *, lag(ns) OVER (PARTITION BY group_id, member ORDER BY ns) AS before_ns,
           given AS partitions
    FROM asked
    WHERE api IN {MODERN} AND member != '' AND error = ''
  ) AS a
  GROUP BY a.group_id, member
),
deaths AS (
  SELECT l.group_id, l.member, l.api, l.client_id, l.connection, from_ns, l.is_static, closed_ns, pause_ns,
         min(CASE WHEN e.newest > l.epoch AND e.completed_ns > from_ns THEN e.completed_ns END) AS next_ns,
         max(e.completed_ns) AS last_ns, count(DISTINCT e.member) AS waiting,
         array_agg(DISTINCT e.client_id) AS waiting_clients
  FROM lives l
  JOIN epochs e ON e.group_id = l.group_id AND e.member != l.member AND e.completed_ns > from_ns
  LEFT JOIN closed c ON l.connection = c.connection
  WHERE l.epoch > 0 AND coalesce(partitions, 1) > 0
  GROUP BY l.group_id, l.member, l.api, l.client_id, l.connection, from_ns, l.is_static, closed_ns, pause_ns
),
gone AS (
  SELECT *, coalesce(next_ns, last_ns) AS to_ns, count(*) OVER (PARTITION BY group_id) AS rounds,
         row_number() OVER (PARTITION BY group_id ORDER BY coalesce(next_ns, last_ns) - from_ns DESC, member) AS place
  FROM deaths
  WHERE coalesce(next_ns, last_ns) - from_ns >= 6000000000
    AND (closed_ns <= from_ns + 6000000000 OR next_ns - from_ns > 2.5 * pause_ns + 2000000000)
),
-- The request that came last: a group that was empty waits for more members after each new one.
latest AS (
  SELECT r.group_id, max(a.ns) AS ns
  FROM longest r JOIN asked a ON r.group_id = a.group_id AND r.api = a.api AND a.ns BETWEEN r.from_ns AND r.to_ns
  GROUP BY r.group_id
),
-- Static members whose successors are refused until their sessions end.
replaced AS (
  SELECT g.group_id, count(*) AS refused
  FROM gone g
  JOIN asked a
    ON a.group_id = g.group_id AND a.member = g.member AND a.error = 'UNRELEASED_INSTANCE_ID'
    AND a.ns BETWEEN g.from_ns AND g.to_ns
  WHERE place = 1
  GROUP BY g.group_id
),
told AS (
  SELECT r.group_id, a.clients, a.ends, rounds, waiting, waiting_clients, ended, session_timeout_ms,
         rebalance_timeout_ms, from_ns, to_ns, coalesce(awaited, 0) AS awaited, coalesce(heartbeats, 0) AS heartbeats,
         coalesce(state, 'unseen') AS state, is_static, first_client, first_end,
         r.api
  FROM longest r LEFT JOIN named a ON r.group_id = a.group_id LEFT JOIN latest n ON r.group_id = n.group_id
  WHERE a.group_id IS NOT NULL OR to_ns - n.ns >= 10000000000
  UNION ALL
  SELECT k.group_id, array_agg(k.client_id) OVER g, array_agg(e.client) OVER g, rounds, waiting, waiting_clients,
         next_ns IS NOT NULL, NULL, NULL, from_ns, to_ns, 1, beats, 'keeps', is_static, k.client_id, e.client, k.api
  FROM keeping k
  JOIN newer n ON k.group_id = n.group_id
  LEFT JOIN link_ends e ON k.connection = e.connection
  WHERE place = 1
  WINDOW g AS (PARTITION BY k.group_id)
  UNION ALL
  SELECT g.group_id, array_agg(g.client_id) OVER w, array_agg(e.client) OVER w, rounds, waiting, waiting_clients,
         next_ns IS NOT NULL, NULL, NULL, from_ns, to_ns, 1, 0, 'gone', is_static, g.client_id, e.client, g.api
  FROM gone g LEFT JOIN link_ends e ON g.connection = e.connection
  WHERE place = 1
  WINDOW w AS (PARTITION BY g.group_id)
),
found AS (
  SELECT group_id FROM long_waits
  UNION ALL
  SELECT group_id FROM keeping
  UNION ALL
  SELECT group_id FROM gone
)
SELECT group_id, clients, ends, rounds, waiting, waiting_clients, ended, session_timeout_ms, rebalance_timeout_ms,
       (to_ns - from_ns) / 1e9 AS waited_seconds, awaited, heartbeats, state, {REQUEST} AS request,
       concat(CASE WHEN first_client IS NULL THEN 'a member that the capture does not show'
                   ELSE concat(first_client, ' (', first_end, ')') END,
              CASE WHEN awaited > 1 THEN concat(' and ', awaited - 1, ' more') ELSE '' END) AS whom,
       CASE WHEN state = 'keeps' THEN 'in a newer epoch'
            WHEN state = 'gone' THEN 'its partitions wait for its session to end, though there are'
            ELSE concat('waiting for ', {REQUEST}) END AS of_whom,
       CASE state WHEN 'works' THEN ', alive: it had not polled yet'
                  WHEN 'keeps' THEN ', alive: it had to revoke partitions, and had not yet'
                  WHEN 'gone' THEN concat(', which sent nothing more, without leaving',
                                          CASE WHEN refused > 0
                                                 THEN '; a member with its group.instance.id is refused until then'
                                               ELSE '' END)
                  WHEN 'given' THEN ', which was given a member id and never came back with it'
                  WHEN 'closed' THEN ', whose connection had ended without LeaveGroup'
                  WHEN 'silent' THEN ', which did not leave and sent nothing more' ELSE '' END AS how,
       CASE WHEN state = 'keeps'
            THEN concat('do less between two polls of {{clients}} (lower max.poll.records) and in ',
                        'onPartitionsRevoked: a member revokes partitions when it polls; ',
                        'it is removed after max.poll.interval.ms')
            WHEN state = 'gone'
            THEN concat('find out what ended {{clients}}; let members leave when they stop, on SIGTERM too: close(); ',
                        'how long partitions wait is group.', {KIND}, '.session.timeout.ms of the brokers, or ',
                        {KIND}, '.session.timeout.ms of the group')
            WHEN state = 'works'
            THEN concat('do less between two polls of {{clients}}: lower max.poll.records, or hand the work to other ',
                        'threads; a rebalance waits for it up to max.poll.interval.ms ({{rebalance_timeout_ms}})')
            WHEN is_static
            THEN concat('take static members that are gone for good out of the group ',
                        '(removeMembersFromConsumerGroup of an Admin); a session.timeout.ms shorter than ',
                        '{{session_timeout_ms}}') END AS advised,
       CASE WHEN state IN ('keeps', 'gone') THEN concat('decode pcap {{files}} --api ', {REQUEST}) END AS look,
       from_ns AS first_ns, to_ns AS last_ns, (to_ns - from_ns) / 1e9 * waiting AS weight,
       CASE WHEN to_ns - from_ns >= 10000000000 AND (state != 'gone' OR refused IS NULL) THEN 'warning'
            ELSE 'info' END AS severity
FROM told LEFT JOIN replaced USING (group_id)
""",
    subject={"group": "group_id", "client": "clients"},
    evidence=(
        "waited_seconds",
        "waiting",
        "waiting_clients",
        "awaited",
        "state",
        "heartbeats",
        "request",
        "rounds",
        "ended",
        "session_timeout_ms",
        "rebalance_timeout_ms",
    ),
    text="a rebalance of group {group_id} waits {waited_seconds} s for {whom}{how}; {of_whom}: {waiting} members",
    advice="let members leave when they stop, on SIGTERM too: close(), of Streams with leaveGroup(true); for restarts "
    "static membership (group.instance.id); a session.timeout.ms shorter than {session_timeout_ms}",
    see="decode pcap {files} --api JoinGroup,SyncGroup,LeaveGroup",
    source="session.timeout.ms 45000, max.poll.interval.ms 300000; KIP-62, KIP-345, KIP-394",
    rests_on=("found",),
)
