"""A group reads and commits nothing."""

from kcli.rules.rule import Rule

# The broker said that the group has committed nothing (OffsetFetch without an offset), and in all the capture it
# commits nothing of these partitions. It has read for longer than the usual intervals: 5 s of consumers, 30 s of Kafka
# Streams, 60 s of Kafka Connect. A program may keep offsets elsewhere. Partitions that nobody of the group reads have
# no known place, so that their lag is unknown; so is what a member has done that was killed before its first commit.
# Commits within transactions name no group in these facts: such captures are not judged.
RULE = Rule(
    finding="never-committed",
    title="groups that read and commit nothing",
    when="apis LIKE '%,OFFSET_FETCH,%' AND apis NOT LIKE '%,TXN_OFFSET_COMMIT,%' AND seconds >= 6",
    sql="""
WITH told AS (
  SELECT u.group_id, coalesce(u.topic, t.topic, u.topic_id) AS topic, u.partition, min(c.ns) AS ns
  FROM uncommitted u
  JOIN calls c ON u.connection = c.connection AND u.correlation_id = c.correlation_id
  LEFT JOIN topic_by_id t ON u.topic_id = t.topic_id
  WHERE u.group_id IN (SELECT group_id FROM group_clients)
  GROUP BY u.group_id, coalesce(u.topic, t.topic, u.topic_id), u.partition
),
without AS (
  SELECT t.*
  FROM told t
  LEFT JOIN (SELECT DISTINCT group_id, topic, partition FROM commits WHERE error IS NULL) AS c
    ON t.group_id = c.group_id AND t.topic = c.topic AND t.partition = c.partition
  WHERE c.group_id IS NULL
),
members AS (SELECT * FROM group_clients WHERE group_id IN (SELECT group_id FROM without)),
reads AS (
  SELECT w.group_id, w.topic, w.partition, f.client_id, min(f.ns) AS first_ns, max(f.ns) AS last_ns,
         sum(CASE WHEN f.records_bytes > 0 THEN 1 ELSE 0 END) AS answers,
         min(CASE WHEN f.records_bytes > 0 THEN f.ns END) AS began_ns,
         max(CASE WHEN f.records_bytes > 0 THEN f.ns END) AS ended_ns
  FROM without w
  JOIN members g ON w.group_id = g.group_id
  JOIN fetched f ON f.client_id = g.client_id AND f.topic = w.topic AND f.partition = w.partition AND f.ns > w.ns
  GROUP BY w.group_id, w.topic, w.partition, f.client_id
),
ends AS (SELECT max(completed_ns) AS ns FROM calls),
leaving AS (SELECT DISTINCT group_id, client_id FROM group_calls WHERE api = 'LEAVE_GROUP' OR generation < 0),
present AS (
  SELECT group_id, client_id, max(unix_micros(timestamp) * 1000) AS last_ns
  FROM group_calls
  WHERE group_id IN (SELECT group_id FROM without)
  GROUP BY group_id, client_id
),
readers AS (
  SELECT r.group_id, r.client_id, count(*) AS partitions, array_agg(DISTINCT topic) AS topics, max(answers) AS answers,
         max(ended_ns) AS ended_ns, max(p.last_ns) AS alive_ns, min(began_ns) AS began_ns
  FROM reads r JOIN present p ON r.group_id = p.group_id AND r.client_id = p.client_id
  WHERE answers > 0
  GROUP BY r.group_id, r.client_id
),
busy AS (
  SELECT group_id, array_agg(DISTINCT client_id) AS clients, min(began_ns) AS first_ns, max(ended_ns) AS last_ns,
         (max(ended_ns) - min(began_ns)) / 1e9 AS seconds, sum(answers) AS answers, sum(partitions) AS partitions
  FROM readers
  WHERE ended_ns - began_ns >= 60000000000 AND answers >= 10
  GROUP BY group_id
),
unread AS (
  SELECT w.group_id, w.topic, count(*) AS partitions
  FROM without w
  LEFT JOIN (SELECT DISTINCT group_id, topic, partition FROM reads) AS r
    ON w.group_id = r.group_id AND w.topic = r.topic AND w.partition = r.partition
  WHERE r.group_id IS NULL AND w.ns < (SELECT ns - 10000000000 FROM ends)
    AND w.topic IN (SELECT topic FROM produced)
    AND w.group_id IN (SELECT group_id FROM present WHERE last_ns >= (SELECT ns - 10000000000 FROM ends))
  GROUP BY w.group_id, w.topic
),
gone AS (
  SELECT r.*
  FROM readers r LEFT JOIN leaving l ON r.group_id = l.group_id AND r.client_id = l.client_id
  WHERE l.group_id IS NULL AND r.alive_ns < (SELECT ns - 10000000000 FROM ends)
    AND r.group_id NOT IN (SELECT group_id FROM commits WHERE error IS NULL)
    AND r.client_id NOT IN (SELECT client_id FROM calls WHERE ns > (SELECT ns - 5000000000 FROM ends))
),
said AS (
  SELECT group_id FROM busy UNION ALL SELECT group_id FROM unread UNION ALL SELECT group_id FROM gone
)
SELECT b.group_id, clients, partitions, answers, seconds, first_ns, last_ns, answers AS weight,
       (SELECT array_agg(DISTINCT topic) FROM reads r WHERE r.group_id = b.group_id AND answers > 0) AS topics,
       CAST(NULL AS STRING) AS unseen, CAST(NULL AS STRING) AS remedy
FROM busy b
WHERE b.group_id IN (SELECT group_id FROM said)
UNION ALL
SELECT group_id, NULL, partitions, NULL, NULL, NULL, NULL, NULL, NULL,
       concat('the lag of group ', group_id, ' in ', partitions, ' partitions of ', topic,
              ': it has committed nothing of them, and nobody of it reads them here'),
       concat('a longer capture; kafka-consumer-groups.sh --describe --group ', group_id)
FROM unread
UNION ALL
SELECT group_id, NULL, partitions, NULL, NULL, NULL, NULL, NULL, NULL,
       concat('what ', client_id, ' of group ', group_id, ' has done with records of ', concat_ws(', ', topics),
              ': it is gone before its first commit, and the next member begins where auto.offset.reset says'),
       concat('the log of ', client_id)
FROM gone
""",
    subject={"group": "group_id", "client": "clients", "topic": "topics"},
    evidence=("partitions", "answers", "seconds"),
    text="{clients} of group {group_id} read {partitions} partitions of {topics} for {seconds} s and commit nothing; "
    "nothing was committed before",
    ruled_out="an interval between commits: {answers} responses with records in {seconds} s",
    advice="commit: enable.auto.commit, or commitSync after the work on a batch; a program that keeps its offsets "
    "elsewhere (a database, checkpoints) is right without. Until then each restart begins where auto.offset.reset "
    "says, so that records are read again or skipped, and no monitoring sees a lag",
    see="decode pcap {files} --api OffsetFetch,OffsetCommit",
    source="enable.auto.commit, auto.commit.interval.ms 5000; auto.offset.reset latest",
    rests_on=("without", "said"),
)
