"""A member is alive and does nothing."""

from kcli.rules.rule import CRITICAL, Rule

# A member is stuck in the longest gap between two of its Fetches, or after its last, if it sends heartbeats in that gap
# and the gap is far longer than any other. Slow work is excluded: every batch takes that long, or this one takes as
# long for its bytes as earlier ones. Most of the gap has to lie behind the answer, as reading an answer may take long.
# There may be two or three such gaps if the client fetches for longer than one gap in between. A Fetch that closes a
# session asks for nothing, and a commit of the same offset is no work: a client that polls without reading goes on
# committing. A member that has no partitions for most of the gap waits, and so does a throttled one. A client that
# fetches ahead (sarama) is judged by its commits, which stop while records still arrive: for three times the longest
# gap before, if they stop for good. Two filters save time. Clients that fetch in all slices of 3 s, which are most, are
# left out first, because sorting their Fetches is expensive. Of the gaps, only those over 1.5 s are sorted: no shorter
# one is a fourth of a gap that counts. If members share a client id, each is identified by its connection for Fetches:
# the connection stays open, and nobody else of that id reads its partitions on. A member that joins again, or that does
# not commit, and sends fewer heartbeats has no coordinator. A member whose JoinGroup or SyncGroup is unanswered waits
# for another member. A member that was stuck before the capture began fetches nothing in it. Its partitions grow,
# belong to topics that its group reads, and nobody of the group fetches them. At most as many such members are reported
# as there are such partitions, as other members may have none. If no other member fetches, and the member does not
# repeat a commit, it may still work on its records. A rejected heartbeat is no sign of life, as its sender is no
# member (its instance id is held by another one, KIP-848), and gets no records. Records that come just before it goes
# on may be what it waited for. A member of a share group that acknowledges (it may renew its locks, KIP-1222) works.
# So does a thread of Kafka Streams whose producer writes on: the records of one poll may take it longer than all of
# this capture.
READS = "('FETCH', 'SHARE_FETCH', 'SHARE_ACKNOWLEDGE')"
RULE = Rule(
    finding="consumer-stuck",
    title="members that are alive but consume nothing",
    severity=CRITICAL,
    when="heartbeats >= 3 AND seconds >= 6",
    sql=f"""
WITH asked AS (
  SELECT group_id, coalesce(client_id, '') AS client_id, member_id, api, unix_micros(timestamp) * 1000 AS ns,
         api LIKE '%HEARTBEAT'
           AND coalesce(generation, 1) >= 0
           AND coalesce(error, 'REBALANCE_IN_PROGRESS') = 'REBALANCE_IN_PROGRESS' AS beats,
         assignment, completed_ns
  FROM group_calls
),
heartbeats AS (
  SELECT group_id, client_id, member_id, ns,
         ns - lag(ns) OVER (PARTITION BY group_id, client_id, member_id ORDER BY ns) AS pause_ns
  FROM asked
  WHERE beats
),
ends AS (
  SELECT client_id, max(ns) AS end_ns, percentile_approx(pause_ns, 0.5) AS usual_ns FROM heartbeats GROUP BY client_id
),
shared AS (
  SELECT client_id
  FROM (
    SELECT client_id, min(ns) AS first_ns, max(ns) AS last_ns FROM heartbeats GROUP BY client_id, group_id, member_id
  ) AS m
  GROUP BY client_id
  HAVING sum(last_ns - first_ns) > 1.5 * (max(last_ns) - min(first_ns))
),
fetches AS (
  SELECT client_id, connection, count(*) AS fetches, min(ns) AS ns, max_by(from_ns, ns) AS from_ns,
         max(done_ns) AS done_ns
  FROM (
    SELECT c.client_id, CASE WHEN s.client_id IS NOT NULL THEN connection END AS connection, ns,
           ns + 1000000 * CAST(throttle_ms AS BIGINT) AS from_ns,
           CASE WHEN response_bytes IS NULL THEN ns ELSE completed_ns END AS done_ns
    FROM calls c LEFT JOIN shared s ON c.client_id = s.client_id
    WHERE api IN {READS} AND NOT inner_client AND NOT (session_epoch = -1 AND coalesce(session_id, 0) > 0)
      AND c.client_id IN (SELECT client_id FROM ends)
  ) AS f
  GROUP BY client_id, connection, CAST(floor(ns / 1e9) AS BIGINT)
),
commit_steps AS (
  SELECT c.client_id, ns, CASE WHEN s.client_id IS NULL THEN '' ELSE member_id END AS unit, onward
  FROM (
    SELECT coalesce(client_id, '') AS client_id, coalesce(member_id, '') AS member_id,
           unix_micros(timestamp) * 1000 AS ns,
           committed_offset > coalesce(lag(committed_offset) OVER (PARTITION BY group_id, client_id, topic,
                                                                   partition ORDER BY timestamp), -1) AS onward
    FROM commits
  ) AS c
  LEFT JOIN shared s ON c.client_id = s.client_id
),
commit_times AS (SELECT DISTINCT client_id, unit, ns FROM commit_steps WHERE onward),
seconds AS (
  SELECT client_id, coalesce(CAST(connection AS STRING), '') AS unit, connection, false AS by_commits, 0 AS times,
         fetches, ns, from_ns, done_ns
  FROM fetches
  UNION ALL
  SELECT client_id, unit, NULL, true, count(*), 0, min(ns), max(ns), max(ns)
  FROM commit_times
  GROUP BY client_id, unit, CAST(floor(ns / 1e9) AS BIGINT)
),
gaps AS (
  SELECT s.client_id, unit, connection, by_commits, from_ns, done_ns, coalesce(next_ns, end_ns) AS to_ns,
         next_ns IS NOT NULL AS resumed, times, fetches, end_ns - since_ns AS lived_ns
  FROM (
    SELECT client_id, unit, connection, by_commits, from_ns, done_ns,
           min(ns) OVER (PARTITION BY client_id, unit, by_commits) AS since_ns,
           lead(ns) OVER (PARTITION BY client_id, unit, by_commits ORDER BY ns) AS next_ns,
           sum(times) OVER (PARTITION BY client_id, unit) AS times,
           sum(fetches) OVER (PARTITION BY client_id, unit) AS fetches
    FROM seconds
  ) AS s
  JOIN ends e ON s.client_id = e.client_id
),
ranked AS (
  SELECT *, row_number() OVER w AS place, lead(to_ns - from_ns) OVER w AS other_ns,
         max(to_ns - from_ns) OVER (PARTITION BY client_id, unit, by_commits) AS most_ns
  FROM gaps
  WHERE to_ns - from_ns > 1500000000
  WINDOW w AS (PARTITION BY client_id, unit, by_commits ORDER BY to_ns - from_ns DESC)
),
stops AS (
  SELECT *, sum(CASE WHEN 2e0 * (to_ns - from_ns) >= most_ns THEN 1 ELSE 0 END) OVER u AS stops,
         sum(CASE WHEN 2e0 * (to_ns - from_ns) >= most_ns THEN to_ns - from_ns ELSE 0 END) OVER u AS stopped_ns,
         max(CASE WHEN 2e0 * (to_ns - from_ns) < most_ns THEN to_ns - from_ns ELSE 0 END) OVER u AS rest_ns
  FROM ranked
  WINDOW u AS (PARTITION BY client_id, unit, by_commits)
),
widest AS (
  SELECT *
  FROM stops
  WHERE place = 1 AND 2e0 * (to_ns - done_ns) >= to_ns - from_ns
    AND (to_ns - from_ns > CASE WHEN by_commits AND NOT resumed THEN 3e0 ELSE 4e0 END * coalesce(other_ns, 0)
      OR (NOT by_commits AND stops <= 3 AND to_ns - from_ns > 4e0 * rest_ns
        AND lived_ns - stopped_ns >= to_ns - from_ns))
    AND to_ns - from_ns >= CASE WHEN resumed OR by_commits THEN 10000000000 ELSE 6000000000 END
    AND (NOT by_commits OR times >= 5)
),
fed AS (
  SELECT client_id, unit, to_ns, min(came_ns) OVER (PARTITION BY client_id ORDER BY ns
                                                    RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS came_ns
  FROM (
    SELECT client_id, unit, to_ns, from_ns + 1000000000 AS ns, CAST(NULL AS BIGINT) AS came_ns
    FROM widest
    WHERE by_commits
    UNION ALL
    SELECT client_id, NULL, NULL, max(ns), min(ns)
    FROM fetched
    WHERE records_bytes > 0 AND client_id IN (SELECT client_id FROM widest WHERE by_commits)
    GROUP BY client_id, CAST(floor(ns / 1e9) AS BIGINT)
  ) AS f
),
longest AS (
  SELECT *
  FROM widest
  WHERE NOT by_commits
    OR (client_id, unit) IN (SELECT client_id, unit FROM fed WHERE unit IS NOT NULL AND came_ns <= to_ns - 6000000000)
),
staying AS (
  SELECT l.client_id, l.unit, l.connection, l.from_ns, l.to_ns
  FROM longest l JOIN tcp t ON t.connection = l.connection
  WHERE coalesce(t.c_fin_ns, t.c_rst_ns, t.s_fin_ns, t.s_rst_ns, l.to_ns) >= l.to_ns
),
held_by AS (
  SELECT DISTINCT l.client_id, l.unit, f.topic, f.partition, l.from_ns, l.to_ns
  FROM staying l
  JOIN fetched f
    ON f.client_id = l.client_id AND f.connection = l.connection
    AND f.ns BETWEEN l.from_ns - 10000000000 AND l.from_ns
),
reads_behind AS (
  SELECT client_id, unit, topic, partition, to_ns,
         min(read_ns) OVER (PARTITION BY client_id, topic, partition ORDER BY ns
                            RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next_ns
  FROM (
    SELECT client_id, unit, topic, partition, to_ns, from_ns + 1000000000 AS ns, CAST(NULL AS BIGINT) AS read_ns
    FROM held_by
    UNION ALL
    SELECT client_id, '', topic, partition, NULL, ns, ns
    FROM fetched
    WHERE client_id IN (SELECT client_id FROM held_by)
  ) AS r
),
left_alone AS (
  SELECT client_id, unit, topic, partition
  FROM (
    SELECT b.*, min(coalesce(next_ns, b.to_ns)) OVER (PARTITION BY client_id, unit) AS read_on_ns
    FROM reads_behind b
    WHERE unit != ''
  ) AS l
  WHERE read_on_ns >= to_ns
  UNION
  -- Members of a share group read the same partitions, and others go on with these; its own heartbeats tell who stays.
  SELECT l.client_id, l.unit, coalesce(t.topic, s.topic), s.partition
  FROM staying l
  JOIN (SELECT DISTINCT connection, member_id, topic, partition FROM share_calls) AS s ON l.connection = s.connection
  JOIN heartbeats h ON s.member_id = h.member_id AND h.ns BETWEEN l.from_ns AND l.to_ns
  LEFT JOIN topic_by_id t ON s.topic = t.topic_id
  GROUP BY l.client_id, l.unit, coalesce(t.topic, s.topic), s.partition
  HAVING count(*) >= 3
),
alone AS (
  SELECT *, row_number() OVER (PARTITION BY client_id ORDER BY by_commits, to_ns - from_ns DESC) AS choice
  FROM longest l
  WHERE unit = '' OR EXISTS (SELECT 1 FROM left_alone a WHERE a.client_id = l.client_id AND a.unit = l.unit)
),
idle AS (SELECT * FROM alone WHERE choice = 1),
pace AS (
  SELECT client_id, sum(CASE WHEN pause_ns IS NULL THEN response_bytes END) AS last_bytes,
         1.0 * sum(CASE WHEN pause_ns IS NOT NULL THEN response_bytes END)
           / nullif(sum(CASE WHEN pause_ns > 0 THEN pause_ns END), 0) AS bytes_per_ns
  FROM (
    SELECT c.client_id, response_bytes,
           lead(c.ns) OVER (PARTITION BY c.client_id, c.connection ORDER BY c.ns) - completed_ns AS pause_ns
    FROM calls c
    JOIN idle i
      ON c.client_id = i.client_id AND c.ns <= i.from_ns AND (i.connection IS NULL OR c.connection = i.connection)
    WHERE api IN {READS} AND NOT by_commits
  ) AS answers
  GROUP BY client_id
),
rejoined AS (
  SELECT a.client_id, max(CASE WHEN i.unit = '' THEN least(completed_ns, i.to_ns) - a.ns ELSE 0 END) AS waited_ns,
         sum(CASE WHEN a.api = 'JOIN_GROUP' THEN 1 ELSE 0 END) AS joins
  FROM asked a
  JOIN idle i
    ON a.client_id = i.client_id AND a.api IN ('JOIN_GROUP', 'SYNC_GROUP') AND a.ns BETWEEN i.from_ns AND i.to_ns
  GROUP BY a.client_id
),
beats AS (
  SELECT b.group_id, b.client_id, count(*) AS heartbeats, max(b.ns) AS last_beat_ns
  FROM heartbeats b
  JOIN idle i ON b.client_id = i.client_id AND b.ns > i.from_ns AND b.ns <= i.to_ns
  JOIN ends e ON b.client_id = e.client_id
  LEFT JOIN rejoined r ON b.client_id = r.client_id
  GROUP BY b.group_id, b.client_id, i.from_ns, i.to_ns, i.by_commits
  HAVING coalesce(max(waited_ns), 0) < 0.3 * (i.to_ns - i.from_ns)
    AND ((coalesce(max(joins), 0) = 0 AND NOT i.by_commits)
         OR sum(CASE WHEN pause_ns > 2.5 * usual_ns + 1000000000 THEN pause_ns ELSE 0 END)
              < 0.3 * (i.to_ns - i.from_ns))
),
held AS (
  SELECT client_id, sum(CASE WHEN partitions = 0 THEN greatest(until_ns - ns, 0) END) AS without_ns
  FROM (
    SELECT a.client_id, cardinality(assignment) AS partitions, greatest(a.ns, i.from_ns) AS ns,
           coalesce(lead(a.ns) OVER (PARTITION BY a.client_id ORDER BY a.ns), i.to_ns) AS until_ns
    FROM asked a JOIN idle i ON a.client_id = i.client_id AND a.ns <= i.to_ns AND i.unit = ''
    WHERE assignment IS NOT NULL
  ) AS a
  GROUP BY client_id
),
commits_after AS (
  SELECT c.client_id, count(*) AS commits
  FROM commit_times c
  JOIN idle i
    ON c.client_id = i.client_id AND c.unit = i.unit AND c.ns > i.from_ns + 6000000000
    AND c.ns <= i.to_ns - CASE WHEN resumed THEN 1000000000 ELSE 0 END
  GROUP BY c.client_id
),
reads AS (
  SELECT DISTINCT f.client_id, f.topic, CAST(NULL AS INT) AS partition
  FROM fetched f JOIN idle i ON f.client_id = i.client_id AND i.unit = ''
  UNION
  SELECT i.client_id, coalesce(t.topic, s.topic), NULL
  FROM share_calls s
  JOIN asked a ON s.group_id = a.group_id AND s.member_id = a.member_id
  JOIN idle i ON a.client_id = i.client_id AND i.unit = ''
  LEFT JOIN topic_by_id t ON s.topic = t.topic_id
  UNION ALL
  SELECT a.client_id, a.topic, a.partition
  FROM left_alone a JOIN idle i ON a.client_id = i.client_id AND a.unit = i.unit
),
grown AS (
  SELECT r.client_id, sum(b.records) AS produced, array_agg(DISTINCT b.topic) AS topics
  FROM reads r
  JOIN idle i ON r.client_id = i.client_id
  JOIN batches b
    ON b.topic = r.topic AND b.partition = coalesce(r.partition, b.partition) AND b.api = 'PRODUCE'
    AND b.ns > i.from_ns + 1000000000 AND b.ns < i.to_ns - CASE WHEN resumed THEN 2000000000 ELSE 0 END
  GROUP BY r.client_id
),
others AS (
  SELECT r.client_id, count(*) AS other_fetches
  FROM reads r
  JOIN idle i ON r.client_id = i.client_id
  JOIN fetched f
    ON f.topic = r.topic AND f.partition = coalesce(r.partition, f.partition) AND f.client_id != r.client_id
    AND f.ns > i.from_ns + 1000000000 AND f.ns < i.to_ns - CASE WHEN resumed THEN 2000000000 ELSE 0 END
    AND f.records_bytes > 0
  GROUP BY r.client_id
),
beating AS (
  SELECT group_id, client_id, count(*) AS heartbeats, min(ns) AS from_ns, max(ns) AS to_ns
  FROM heartbeats
  GROUP BY group_id, client_id
  HAVING count(*) >= 3 AND max(ns) - min(ns) >= 15000000000
),
hardly AS (
  SELECT b.*
  FROM beating b
  JOIN (SELECT client_id, sum(requests) AS requests FROM conns GROUP BY client_id) AS c ON b.client_id = c.client_id
  WHERE requests <= 3 * heartbeats + 10
),
quiet AS (
  SELECT *
  FROM hardly
  WHERE client_id NOT IN (
    SELECT client_id
    FROM calls
    WHERE api IN {READS} AND client_id IN (SELECT client_id FROM hardly)
    GROUP BY client_id
    HAVING count(*) > 1
  )
),
stands AS (
  SELECT client_id, max(commits) AS commits, max(onward) AS onward
  FROM (
    SELECT client_id, count(*) AS commits, max(committed_offset) - min(committed_offset) AS onward
    FROM (SELECT coalesce(client_id, '') AS client_id, group_id, topic, partition, committed_offset FROM commits) AS c
    WHERE client_id IN (SELECT client_id FROM quiet)
    GROUP BY group_id, client_id, topic, partition
  ) AS p
  GROUP BY client_id
),
mute AS (
  SELECT q.*, coalesce(commits, 0) AS commits
  FROM quiet q LEFT JOIN stands s ON q.client_id = s.client_id
  WHERE coalesce(onward, 0) = 0
),
read_by_others AS (
  SELECT m.group_id, f.topic, f.partition, count(*) AS fetches
  FROM (SELECT DISTINCT group_id FROM mute) AS m
  JOIN group_clients g ON m.group_id = g.group_id
  JOIN fetched f ON f.client_id = g.client_id
  GROUP BY m.group_id, f.topic, f.partition
),
unread AS (
  SELECT m.group_id, b.topic, b.partition, sum(records) AS produced
  FROM (SELECT group_id, min(from_ns) AS from_ns, max(to_ns) AS to_ns FROM mute GROUP BY group_id) AS m
  JOIN (
    SELECT group_id, topic FROM read_by_others
    UNION
    SELECT group_id, topic FROM commits WHERE group_id IN (SELECT group_id FROM mute)
  ) AS t ON m.group_id = t.group_id
  JOIN batches b ON b.topic = t.topic AND b.api = 'PRODUCE' AND b.ns BETWEEN m.from_ns AND m.to_ns
  LEFT JOIN read_by_others r ON r.group_id = m.group_id AND r.topic = b.topic AND r.partition = b.partition
  WHERE r.group_id IS NULL
  GROUP BY m.group_id, b.topic, b.partition
  HAVING max(b.ns) - min(b.ns) >= 6000000000
),
left_unread AS (
  SELECT group_id, sum(produced) AS produced, count(*) AS partitions, array_agg(DISTINCT topic) AS topics
  FROM unread
  GROUP BY group_id
),
never_read AS (
  SELECT m.*, u.produced, u.topics
  FROM (SELECT *, count(*) OVER (PARTITION BY group_id) AS members FROM mute) AS m
  JOIN left_unread u ON m.group_id = u.group_id AND m.members <= u.partitions
  LEFT JOIN (SELECT group_id, sum(fetches) AS fetches FROM read_by_others GROUP BY group_id) AS r
    ON m.group_id = r.group_id
  WHERE client_id NOT IN (SELECT client_id FROM idle) AND (coalesce(r.fetches, 0) >= 10 OR commits >= 2)
),
-- Members that began to be silent before the capture, of groups that read nothing in it.
unknown AS (
  SELECT m.*
  FROM mute m
  LEFT JOIN (SELECT group_id, sum(fetches) AS fetches FROM read_by_others GROUP BY group_id) AS r
    ON m.group_id = r.group_id
  WHERE coalesce(r.fetches, 0) < 10 AND commits < 2
    AND m.client_id NOT IN (SELECT client_id FROM idle)
    AND m.client_id NOT IN (SELECT client_id FROM never_read)
    AND m.client_id NOT IN (SELECT client_id FROM asked WHERE assignment IS NOT NULL OR api = 'JOIN_GROUP')
),
threads AS (
  SELECT i.client_id, i.from_ns
  FROM idle i
  JOIN calls c
    ON c.client_id = regexp_replace(i.client_id, '-consumer$', '-producer') AND c.api = 'PRODUCE'
    AND c.ns BETWEEN i.from_ns AND i.to_ns
  WHERE i.client_id LIKE '%-StreamThread-%-consumer'
  GROUP BY i.client_id, i.from_ns, i.to_ns
  HAVING max(c.ns) >= i.from_ns + (i.to_ns - i.from_ns) / 2
),
found AS (SELECT client_id FROM idle UNION ALL SELECT client_id FROM mute)
SELECT i.client_id, b.group_id, i.fetches, b.heartbeats, (i.to_ns - i.from_ns) / 1e9 AS idle_seconds,
       coalesce(g.produced, 0) AS produced, i.resumed,
       CASE WHEN i.resumed THEN ', then it continued' ELSE '' END AS afterwards,
       CASE WHEN i.by_commits THEN 'no commit; records that it fetched ahead wait'
            ELSE 'no Fetch, no commit' END AS did,
       coalesce(o.other_fetches, 0) AS other_fetches, g.topics, coalesce(c.commits, 0) AS commits_after,
       (i.from_ns - s.first_ns) / 1e9 AS last_fetch_at_second, i.from_ns AS first_ns,
       CASE WHEN i.resumed THEN i.to_ns ELSE b.last_beat_ns END AS last_ns, (i.to_ns - i.from_ns) / 1e9 AS weight,
       CASE WHEN i.resumed THEN 'warning' ELSE 'critical' END AS severity,
       CASE WHEN coalesce(g.produced, 0) > 0
            THEN concat(format_number(g.produced, 0), ' records came to ', concat_ws(', ', g.topics))
            ELSE 'others continued' END AS meanwhile,
       concat_ws('; ', CASE WHEN o.other_fetches > 0
                              THEN concat('the broker: it answered ', o.other_fetches, ' Fetches of others') END,
                 CASE WHEN g.produced > 0 THEN 'a topic without new data' END) AS not_so,
       CAST(NULL AS STRING) AS unseen, CAST(NULL AS STRING) AS remedy
FROM idle i
JOIN beats b ON i.client_id = b.client_id
LEFT JOIN stretches s ON i.from_ns BETWEEN s.first_ns AND s.last_ns
LEFT JOIN grown g ON i.client_id = g.client_id
LEFT JOIN others o ON i.client_id = o.client_id
LEFT JOIN commits_after c ON i.client_id = c.client_id
LEFT JOIN held h ON i.client_id = h.client_id
LEFT JOIN pace p ON i.client_id = p.client_id
WHERE b.heartbeats >= 3 AND i.to_ns - i.from_ns > coalesce(2 * last_bytes / bytes_per_ns, 0)
  AND coalesce(c.commits, 0) = 0 AND 2e0 * coalesce(without_ns, 0) < i.to_ns - i.from_ns
  AND (coalesce(g.produced, 0) > 0 OR coalesce(o.other_fetches, 0) > 0)
  AND i.client_id NOT IN (SELECT client_id FROM threads)
UNION ALL
SELECT client_id, group_id, 0, heartbeats, (to_ns - from_ns) / 1e9, produced, false,
       ': nobody of the group asks for those partitions', 'no Fetch, no new commit in all the capture', 0, topics, 0,
       NULL, from_ns, to_ns, (to_ns - from_ns) / 1e9, 'critical',
       concat(format_number(produced, 0), ' records came to ', concat_ws(', ', topics)), 'a topic without new data',
       NULL, NULL
FROM never_read
UNION ALL
SELECT client_id, group_id, 0, heartbeats, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL, from_ns, to_ns, NULL,
       NULL, NULL, NULL,
       concat('whether ', client_id, ' of group ', group_id, ' works: ', heartbeats, ' heartbeats and no Fetch; what '
              'it is to read was said before the capture'),
       concat('a capture that begins before it joins; its lag: kafka-consumer-groups.sh --describe --group ', group_id)
FROM unknown
UNION ALL
SELECT t.client_id, group_id, 0, heartbeats, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL, from_ns,
       last_beat_ns, NULL, NULL, NULL, NULL,
       concat('how far ', t.client_id, ' of group ', group_id,
              ' has come: its producer writes, and it neither fetches nor commits for ',
              CAST(round((last_beat_ns - from_ns) / 1e9) AS BIGINT), ' s: it works on what it has'),
       concat('a longer capture; its lag: kafka-consumer-groups.sh --describe --group ', group_id)
FROM threads t JOIN beats b ON t.client_id = b.client_id
WHERE heartbeats >= 3
""",
    subject={"client": "client_id", "group": "group_id"},
    evidence=(
        "heartbeats",
        "idle_seconds",
        "last_fetch_at_second",
        "fetches",
        "produced",
        "other_fetches",
        "topics",
        "commits_after",
        "resumed",
    ),
    text="{client_id} of group {group_id} is alive and does nothing: {heartbeats} heartbeats in {idle_seconds} s, "
    "{did}, while {meanwhile}{afterwards}",
    ruled_out="{not_so}",
    advice="take a stack trace of {client_id} (jstack, py-spy): what does it wait for? is it paused?",
    see="decode pcap {files} --client {client_id}",
    source="last-poll-seconds-ago, time-between-poll-max",
    rests_on=("found",),
    explains={"lagging-consumer": ("client",), "slow-rebalance": ("client", "group")},
)
