"""A group rebalances over and over."""

from kcli.rules.rule import Rule

# A deployment replaces each member once, with two or three rounds for each. In a storm the same members join again and
# again. One round is expected for members that join together, one for members that leave together, and one for a member
# that disappears without LeaveGroup (Streams). A cooperative assignor needs one more round for revoked partitions; some
# clients say so in the reason, where it is not redacted. A client with far more members than it ever had at once is no
# deployment. Workers of Connect join again for each connector that is created or changed: of these only new members
# count. A job that is started repeatedly has one member at a time, a new process each time. It leaves at its end, and
# the next one continues from its last offset, so nobody waits. Nor does anybody wait for a member that is alone, and
# joins again by itself as its pattern matches new topics: it is given more partitions then. Causes: a member leaves by
# itself; or it is removed for lack of heartbeats although it is alive (its old member id is refused then); or members
# see changed topics or partitions (Java says so).
RULE = Rule(
    finding="rebalance-storm",
    title="groups that rebalance repeatedly",
    when="joins >= 4 AND seconds >= 4",
    sql="""
WITH rounds AS (
  SELECT group_id, coalesce(client_id, '') AS client_id, completed_ns AS ns, member_id, error,
         answered_generation AS generation, reason
  FROM group_calls
  WHERE api = 'JOIN_GROUP'
),
epochs AS (
  SELECT group_id, client_id, ns, generation
  FROM rounds
  WHERE error IS NULL AND generation >= 0
  UNION ALL
  SELECT group_id, coalesce(client_id, ''), completed_ns, answered_generation
  FROM group_calls
  WHERE api IN ('CONSUMER_GROUP_HEARTBEAT', 'SHARE_GROUP_HEARTBEAT', 'STREAMS_GROUP_HEARTBEAT')
    AND answered_generation > 0
),
each AS (
  SELECT group_id, client_id, count(*) AS joins
  FROM rounds
  WHERE error IS NULL
  GROUP BY group_id, client_id
  UNION ALL
  SELECT group_id, coalesce(client_id, ''), count(*)
  FROM group_calls
  WHERE api IN ('CONSUMER_GROUP_HEARTBEAT', 'STREAMS_GROUP_HEARTBEAT') AND generation = 0 AND error IS NULL
  GROUP BY 1, 2
),
groups AS (
  SELECT group_id, count(DISTINCT generation) AS generations, min(generation) AS first_generation,
         max(generation) AS last_generation, min(ns) AS first_ns, max(ns) AS last_ns,
         array_agg(DISTINCT client_id) AS clients
  FROM epochs
  GROUP BY group_id
  HAVING count(DISTINCT generation) >= 4 AND max(ns) - min(ns) >= 4000000000
),
busiest AS (
  SELECT group_id, max(joins) AS most_joins, sum(joins) AS joins,
         min_by(client_id, struct(-joins, client_id)) AS most_client
  FROM each
  GROUP BY group_id
),
members AS (
  SELECT group_id, coalesce(client_id, '') AS client_id, member_id,
         min(completed_ns) = min(CASE WHEN api = 'JOIN_GROUP' OR api LIKE '%GROUP_HEARTBEAT' AND generation = 0
                                        THEN completed_ns END) AS came,
         min(CASE WHEN api = 'JOIN_GROUP' AND error IS NULL THEN answered_generation END) AS first_generation,
         sum(CASE WHEN api = 'LEAVE_GROUP' OR api LIKE '%GROUP_HEARTBEAT' AND generation < 0 THEN 1
                  ELSE 0 END) AS leaves
  FROM group_calls
  GROUP BY 1, 2, 3
),
connect AS (
  SELECT m.group_id, sum(CASE WHEN came THEN 1 ELSE 0 END) AS workers
  FROM members m
  WHERE group_id IN (SELECT group_id FROM group_calls WHERE protocols LIKE 'connect:%')
  GROUP BY m.group_id
),
sizes AS (
  SELECT group_id, client_id, max(n) AS size
  FROM (
    SELECT group_id, coalesce(client_id, '') AS client_id, answered_generation, count(DISTINCT member_id) AS n
    FROM group_calls
    WHERE (api = 'JOIN_GROUP' OR api LIKE '%GROUP_HEARTBEAT' AND answered_generation > 0) AND error IS NULL
    GROUP BY 1, 2, 3
  ) AS s
  GROUP BY group_id, client_id
),
orderly AS (
  SELECT group_id, client_id, greatest(members - goers - size, 0) AS lost
  FROM (
    SELECT m.group_id, m.client_id, sum(CASE WHEN came THEN 1 ELSE 0 END) AS comers, sum(leaves) AS goers,
           max(size) AS size, count(*) AS members
    FROM members m JOIN sizes s ON m.group_id = s.group_id AND m.client_id = s.client_id
    GROUP BY m.group_id, m.client_id
  ) AS c
  WHERE comers <= 2 * size AND goers <= 2 * size
),
departures AS (
  SELECT group_id, client_id, member_id, api,
         max(generation) OVER (PARTITION BY group_id ORDER BY ns ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
           AS generation
  FROM (
    SELECT group_id, client_id, NULL AS member_id, NULL AS api, ns, generation
    FROM epochs
    UNION ALL
    SELECT group_id, coalesce(client_id, ''), member_id, api, completed_ns, NULL
    FROM group_calls
    WHERE api = 'LEAVE_GROUP' OR api LIKE '%GROUP_HEARTBEAT' AND generation < 0
  ) AS d
),
expected AS (
  SELECT group_id, count(DISTINCT came_in) AS comers, count(DISTINCT left_in) AS goers
  FROM (
    SELECT group_id, client_id, coalesce(CAST(first_generation AS STRING), member_id) AS came_in, NULL AS left_in
    FROM members
    WHERE came
    UNION ALL
    SELECT d.group_id, client_id, NULL,
           CASE WHEN api != 'LEAVE_GROUP' THEN member_id
                WHEN generation < last_generation THEN CAST(generation AS STRING) END
    FROM departures d JOIN groups g ON d.group_id = g.group_id
    WHERE api IS NOT NULL
  ) AS e
  JOIN orderly o USING (group_id, client_id)
  GROUP BY group_id
),
silent AS (SELECT group_id, sum(lost) AS lost FROM orderly GROUP BY group_id),
cooperative AS (
  SELECT group_id, bool_and(protocols LIKE 'consumer: cooperative%')
                     AND NOT bool_or(replace(coalesce(reason, ''), 'x', '') != '') AS mute
  FROM group_calls
  WHERE protocols IS NOT NULL
  GROUP BY group_id
),
given AS (
  SELECT group_id, count(DISTINCT generation) AS given_up
  FROM rounds
  WHERE lower(reason) LIKE '%revok%' AND error IS NULL
  GROUP BY group_id
),
leaves AS (
  SELECT group_id, sum(n) AS leaves, min_by(client_id, struct(-n, client_id)) AS leaver, max(n) AS most_leaves
  FROM (
    SELECT group_id, client_id, count(*) AS n
    FROM group_calls
    WHERE api = 'LEAVE_GROUP' OR generation < 0 AND api IN ('CONSUMER_GROUP_HEARTBEAT', 'STREAMS_GROUP_HEARTBEAT')
    GROUP BY 1, 2
  ) AS l
  GROUP BY group_id
),
expelled AS (
  SELECT group_id, min_by(client_id, struct(-n, client_id)) AS expelled, max(n) AS most_expelled,
         min_by(timeout_ms, struct(-n, client_id)) AS timeout_ms
  FROM (
    SELECT group_id, coalesce(client_id, '') AS client_id, max(session_timeout_ms) AS timeout_ms,
           count(DISTINCT CASE WHEN error IN ('UNKNOWN_MEMBER_ID', 'FENCED_MEMBER_EPOCH') AND generation > 0
                                 THEN generation END) AS n
    FROM group_calls
    GROUP BY 1, 2
  ) AS x
  WHERE n >= 2
  GROUP BY group_id
),
changes AS (
  SELECT group_id, count(DISTINCT generation) AS changed
  FROM rounds
  WHERE error IS NULL
    AND (lower(reason) LIKE '%metadata has changed%' OR lower(reason) LIKE '%subscription has changed%')
  GROUP BY group_id
),
failed AS (
  SELECT group_id, array_agg(DISTINCT error) AS errors, count(*) AS refusals
  FROM group_calls
  WHERE error IN ('REBALANCE_IN_PROGRESS', 'UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION', 'FENCED_MEMBER_EPOCH')
  GROUP BY group_id
),
storms AS (
  SELECT g.*, joins, most_joins, most_client
  FROM groups g
  JOIN busiest b ON g.group_id = b.group_id
  LEFT JOIN expected e ON g.group_id = e.group_id
  LEFT JOIN silent d ON g.group_id = d.group_id
  LEFT JOIN given v ON g.group_id = v.group_id
  LEFT JOIN cooperative p ON g.group_id = p.group_id
  LEFT JOIN connect w ON g.group_id = w.group_id
  WHERE most_joins >= 4 AND coalesce(workers, 4) >= 4
    AND generations >= 2 + coalesce(comers, 0) + coalesce(goers, 0) + coalesce(lost, 0)
                         + CASE WHEN mute THEN coalesce(comers, 0) ELSE coalesce(given_up, 0) END
),
positions AS (
  SELECT m.group_id, f.client_id, topic, partition, fetch_offset, f.ns, records_bytes > 0 AS came,
         fetch_offset < lag(fetch_offset) OVER w OR f.connection != lag(f.connection) OVER w AS anew
  FROM fetched f JOIN storms m ON f.client_id = m.most_client
  WHERE f.asked AND f.answered AND f.fetch_offset >= 0
  WINDOW w AS (PARTITION BY m.group_id, f.client_id, topic, partition ORDER BY f.ns)
),
jobs AS (
  SELECT c.group_id, max(size) AS size, max(came) AS came, max(links) AS links
  FROM (
    SELECT group_id, answered_generation, count(DISTINCT member_id) AS size
    FROM group_calls
    WHERE (api = 'JOIN_GROUP' OR api LIKE '%GROUP_HEARTBEAT') AND answered_generation > 0 AND error IS NULL
    GROUP BY group_id, answered_generation
  ) AS c
  JOIN (
    SELECT group_id, count(DISTINCT member_id) AS came, count(DISTINCT connection) AS links
    FROM group_calls
    WHERE api = 'JOIN_GROUP' AND answered_generation > 0 AND error IS NULL
    GROUP BY group_id
  ) AS m
    ON c.group_id = m.group_id
  GROUP BY c.group_id
),
grown AS (
  SELECT group_id, count(DISTINCT cardinality(assignment)) AS given
  FROM group_calls
  WHERE api = 'SYNC_GROUP' AND assignment IS NOT NULL
  GROUP BY group_id
),
returned AS (
  SELECT group_id, min_by(place, struct(struct(-times, place), fetch_offset)) AS returned_to,
         min_by(fetch_offset, struct(struct(-times, place), fetch_offset)) AS returned_offset, max(times) AS returns
  FROM (
    SELECT group_id, concat(topic, '-', partition) AS place, fetch_offset,
           sum(CASE WHEN coalesce(anew, true) THEN 1 ELSE 0 END) AS times
    FROM positions
    GROUP BY group_id, topic, partition, fetch_offset
    HAVING max(CASE WHEN came THEN 1 ELSE 0 END) = 1
  ) AS p
  WHERE times >= 4
  GROUP BY group_id
)
SELECT g.group_id, g.clients, generations, first_generation, last_generation, joins, most_joins, most_client,
       coalesce(leaves, 0) AS leaves, leaver, most_leaves, errors, refusals, (g.last_ns - g.first_ns) / 1e9 AS seconds,
       g.first_ns, g.last_ns, joins AS weight,
       CASE WHEN most_leaves >= 2 THEN concat(leaver, ' left ', most_leaves, ' times')
            WHEN expelled IS NOT NULL
            THEN concat(expelled, ' was removed ', most_expelled, ' times and rejoined',
                        coalesce(concat(' (no heartbeat for session.timeout.ms, ', timeout_ms, ')'), ''))
            WHEN 2 * changed >= generations
            THEN concat('members say in ', changed, ' generations that topics or partitions changed')
            ELSE 'no member gives a reason for leaving' END AS why, returned_to, returned_offset, returns,
       CASE WHEN 2 * returns >= most_joins
            THEN concat('; each time ', most_client, ' reads ', returned_to, ' from offset ', returned_offset, ' again')
            ELSE '' END AS again,
       CASE WHEN 2 * returns >= most_joins
            THEN concat('look at the records of ', returned_to, ' from offset ', returned_offset,
                        ' on (kcli records): it does not get past them, one of them may make it fail; ')
            ELSE '' END AS read_first,
       CASE WHEN most_leaves >= 2
            THEN concat('read the log of ', leaver, ': it leaves by itself (restarts, close(), max.poll.interval.ms)')
            WHEN expelled IS NOT NULL
            THEN concat('look at the process of ', expelled, ': it is killed and restarted, or pauses for ',
                        'longer than its session timeout (GC, CPU limits, swapping), or loses its network; ',
                        'longer session.timeout.ms')
            ELSE 'find the member that flaps; longer session.timeout.ms' END AS step,
       CASE WHEN most_leaves >= 2 OR expelled IS NOT NULL OR coalesce(2 * changed, 0) < generations THEN NULL
            ELSE concat('find who creates or deletes topics, or adds partitions, to which the group subscribes; ',
                        'a narrower pattern; a longer metadata.max.age.ms') END AS advised,
       CASE WHEN most_leaves >= 2 THEN 'decode pcap {files} --client {leaver} --api JoinGroup,LeaveGroup'
            WHEN expelled IS NOT NULL THEN 'decode pcap {files} --client {expelled} --api JoinGroup,Heartbeat'
            END AS look, expelled, most_expelled, changed
FROM storms g
LEFT JOIN leaves l ON g.group_id = l.group_id
LEFT JOIN expelled x ON g.group_id = x.group_id
LEFT JOIN changes n ON g.group_id = n.group_id
LEFT JOIN failed f ON g.group_id = f.group_id
LEFT JOIN returned t ON g.group_id = t.group_id
LEFT JOIN jobs o ON g.group_id = o.group_id
LEFT JOIN grown w ON g.group_id = w.group_id
WHERE NOT coalesce(o.size = 1 AND leaves >= o.came - 1 AND o.links >= o.came AND joins <= 2 * o.came
                   AND coalesce(2 * returns, 0) < most_joins, false)
  AND NOT coalesce(o.size = 1 AND o.came = 1 AND refusals IS NULL AND 2 * w.given >= generations, false)
""",
    subject={"group": "group_id", "client": "clients"},
    evidence=(
        "generations",
        "first_generation",
        "last_generation",
        "joins",
        "most_joins",
        "leaves",
        "leaver",
        "most_leaves",
        "expelled",
        "most_expelled",
        "changed",
        "errors",
        "refusals",
        "seconds",
        "returned_to",
        "returned_offset",
        "returns",
    ),
    text="group {group_id} rebalances again and again: {generations} generations in {seconds} s, "
    "{joins} joins of {clients}; {why}{again}",
    ruled_out="a deployment: {most_client} alone joins {most_joins} times",
    advice="{read_first}{step}; static membership (group.instance.id), the CooperativeStickyAssignor",
    see='sql "SELECT * FROM groups" {files}',
    source="session.timeout.ms 45000, group.initial.rebalance.delay.ms 3000; rebalance-rate-per-hour",
    rests_on=("groups", "storms"),
    explains={
        "connection-churn": ("client",),
        "errors-again": ("client",),
        "consumer-stuck": ("group",),
        "slow-rebalance": ("group",),
    },
)
