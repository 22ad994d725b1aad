"""Fewer replicas are in sync than min.insync.replicas asks for."""

from kcli.rules.rule import CRITICAL, Rule

RULE = Rule(
    finding="under-min-isr",
    title="writes refused for want of replicas in sync",
    severity=CRITICAL,
    when="errors LIKE '%,NOT_ENOUGH_REPLICAS%'",
    sql="""
WITH refused AS (
  SELECT topic, partition, client_id, error, ns
  FROM produced
  WHERE error IN ('NOT_ENOUGH_REPLICAS', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND')
),
latest AS (
  SELECT topic, partition, max_by(replicas, completed_ns) AS replicas, max_by(isr, completed_ns) AS isr
  FROM metadata_partitions
  GROUP BY topic, partition
),
short AS (
  SELECT l.topic, replica, l.isr
  FROM (
    SELECT topic, isr, explode(split(replicas, ',')) AS replica
    FROM latest
    WHERE (topic, partition) IN (SELECT topic, partition FROM refused)
  ) AS l
  WHERE NOT concat(',', l.isr, ',') LIKE concat('%,', replica, ',%')
),
away AS (SELECT s.topic, replica, count(*) AS partitions FROM short s GROUP BY s.topic, replica),
named AS (SELECT a.topic, a.replica, n.server FROM away a LEFT JOIN nodes n ON CAST(n.node_id AS STRING) = a.replica)
SELECT r.topic, count(*) AS refused, array_agg(DISTINCT error) AS errors, array_agg(DISTINCT client_id) AS clients,
       array_agg(DISTINCT concat(r.topic, '-', r.partition)) AS partitions, (max(ns) - min(ns)) / 1e9 AS seconds,
       min(ns) AS first_ns, max(ns) AS last_ns,
       (SELECT array_agg(DISTINCT replica) FROM named n WHERE n.topic = r.topic) AS missing, count(*) AS weight,
       (
         SELECT array_agg(DISTINCT each)
         FROM (
           SELECT replica AS each
           FROM named n
           WHERE n.topic = r.topic
           UNION
           SELECT server
           FROM named n
           WHERE n.topic = r.topic AND server IS NOT NULL
         ) AS x
       ) AS broker,
       (SELECT coalesce(max(isr_count), 0) FROM metadata_partitions m WHERE m.topic = r.topic) AS most_in_sync
FROM refused r
WHERE r.topic IS NOT NULL
GROUP BY r.topic
HAVING count(*) >= 2
""",
    subject={"topic": "topic", "client": "clients", "broker": "broker", "partition": "partitions"},
    evidence=("refused", "errors", "missing", "seconds", "clients"),
    says="{topic}: {refused} batches with acks=all refused ({errors}) over {seconds} s to {clients}; "
    "replicas not in sync: broker {missing}",
    ruled_out="the producer: acks=1 and other topics are taken",
    advice="bring broker {missing} back, or have it catch up; do not lower min.insync.replicas to get rid of it",
    see="decode pcap {files} --errors=NOT_ENOUGH_REPLICAS",
    source="min.insync.replicas; kafka.cluster:Partition UnderMinIsr",
    explains={"errors-again": ("client",), "message-too-large": (), "broker-down": ("broker",)},
)
