"""A group's committed offsets are gone."""

from kcli.rules.rule import Rule

# A group that has committed an offset is told later that there is none. A broker removes offsets after
# offsets.retention.minutes without members; somebody may have removed them, or the topic. Only a member that reads then
# from another offset is worth a warning: it begins where auto.offset.reset says. Offsets of a topic that was deleted in
# between, or has another id since, are gone with it.
RULE = Rule(
    finding="offsets-lost",
    title="committed offsets that expired or were deleted",
    when="commit_requests > 0 AND apis LIKE '%,OFFSET_FETCH,%'",
    sql="""
WITH asked AS (
  SELECT c.ns, c.client_id, u.group_id, coalesce(u.topic, t.topic, u.topic_id) AS topic, u.partition
  FROM uncommitted u JOIN calls c ON u.connection = c.connection AND u.correlation_id = c.correlation_id
  LEFT JOIN topic_by_id t ON u.topic_id = t.topic_id
  WHERE u.group_id IN (SELECT group_id FROM commits)
),
deleted AS (
  SELECT coalesce(t.topic, c.topic) AS topic, completed_ns AS ns
  FROM topic_changes c LEFT JOIN topic_by_id t ON c.topic = t.topic_id
  WHERE api = 'DELETE_TOPICS' AND error IS NULL
  UNION ALL
  SELECT topic, ns
  FROM (
    SELECT topic, min(completed_ns) AS ns, lag(topic_id) OVER (PARTITION BY topic ORDER BY min(completed_ns)) AS before
    FROM metadata_partitions
    WHERE topic_id IS NOT NULL
    GROUP BY topic, topic_id
  ) AS ids
  WHERE before IS NOT NULL
),
lost AS (
  SELECT group_id, topic, partition, min(ns) AS ns, min_by(committed_ns, ns) AS committed_ns,
         min_by(committed_offset, ns) AS committed_offset
  FROM (
    SELECT a.group_id, a.topic, a.partition, a.ns, max(d.completed_ns) AS committed_ns,
           max_by(d.committed_offset, d.completed_ns) AS committed_offset
    FROM asked a
    JOIN commits d
      ON a.group_id = d.group_id AND a.topic = d.topic AND a.partition = d.partition AND d.completed_ns < a.ns
    WHERE d.error IS NULL AND d.committed_offset >= 0
    GROUP BY a.group_id, a.topic, a.partition, a.ns
  ) AS each
  WHERE NOT EXISTS (
    SELECT 1 FROM deleted r WHERE r.topic = each.topic AND r.ns BETWEEN each.committed_ns AND each.ns
  )
  GROUP BY group_id, topic, partition
),
begun AS (
  SELECT l.group_id, l.topic, l.partition, min_by(f.client_id, f.ns) AS client_id,
         min_by(f.fetch_offset, f.ns) AS fetch_offset
  FROM lost l
  JOIN group_clients g ON l.group_id = g.group_id
  JOIN fetched f
    ON f.client_id = g.client_id AND f.topic = l.topic AND f.partition = l.partition AND f.ns > l.ns AND f.asked
  GROUP BY l.group_id, l.topic, l.partition
),
removals AS (
  SELECT l.group_id, array_agg(DISTINCT c.client_id) AS clients
  FROM lost l JOIN calls c ON c.ns BETWEEN l.committed_ns AND l.ns
  WHERE api IN ('DELETE_GROUPS', 'OFFSET_DELETE', 'DELETE_TOPICS') AND NOT failed
  GROUP BY l.group_id
)
SELECT *, CASE WHEN effect = '' THEN '' ELSE concat(', so that ', effect) END AS so_that
FROM (
  SELECT l.group_id, array_agg(DISTINCT b.client_id) FILTER (WHERE b.client_id IS NOT NULL) AS clients,
         array_agg(DISTINCT l.topic) AS topics,
         array_agg(DISTINCT concat(l.topic, '-', l.partition)) AS partitions, count(*) AS lost,
         max(l.committed_offset) AS committed_offset, max(l.committed_ns) AS committed_at, min(l.ns) AS lost_at,
         (min(l.ns) - max(l.committed_ns)) / 1e9 AS seconds,
         sum(greatest(l.committed_offset - b.fetch_offset, 0)) AS read_again,
         sum(greatest(b.fetch_offset - l.committed_offset, 0)) AS skipped,
         concat_ws(' and ',
                   CASE WHEN sum(greatest(l.committed_offset - b.fetch_offset, 0)) > 0
                          THEN concat(format_number(sum(greatest(l.committed_offset - b.fetch_offset, 0)), 0),
                                      ' are read again') END,
                   CASE WHEN sum(greatest(b.fetch_offset - l.committed_offset, 0)) > 0
                          THEN concat(format_number(sum(greatest(b.fetch_offset - l.committed_offset, 0)), 0),
                                      ' are skipped') END) AS effect,
         CASE WHEN max(r.clients) IS NOT NULL
                THEN concat('; ', concat_ws(', ', max(r.clients)), ' deleted groups, offsets or topics in between')
              ELSE '' END AS removal,
         CASE WHEN max(r.clients) IS NOT NULL OR coalesce(sum(abs(l.committed_offset - b.fetch_offset)), 0) = 0
              THEN 'info' ELSE 'warning' END AS severity,
         max(l.committed_ns) AS first_ns, max(l.ns) AS last_ns,
         coalesce(sum(abs(l.committed_offset - b.fetch_offset)), 0) AS weight
  FROM lost l LEFT JOIN begun b ON l.group_id = b.group_id AND l.topic = b.topic AND l.partition = b.partition
  LEFT JOIN removals r ON l.group_id = r.group_id
  GROUP BY l.group_id
) AS g
""",
    subject={"group": "group_id", "client": "clients", "topic": "topics", "partition": "partitions"},
    evidence=("lost", "committed_offset", "seconds", "read_again", "skipped"),
    text="group {group_id} had committed offsets of {lost} partitions, up to {committed_offset}, at {committed_at}; "
    "{seconds} s later there were none{so_that}{removal}",
    ruled_out="a new group: it has committed in this capture; a coordinator that loads: that is another error",
    absent={"topic-recreated": "a recreated topic"},
    advice="set the brokers' offsets.retention.minutes above the time for which the group has no members (a weekly "
    "job: above 10080), or commit more often; set auto.offset.reset to none where neither reading again nor skipping "
    "is right, and reset the group's offsets knowingly (kafka-consumer-groups.sh --reset-offsets)",
    see="decode pcap {files} --api OffsetFetch,OffsetCommit",
    source="offsets.retention.minutes 10080 (KIP-186, KIP-211); auto.offset.reset latest",
    explains={"lagging-consumer": ("group",)},
    rests_on=("asked", "lost"),
)
