"""Fewer replicas are in sync than min.insync.replicas asks for."""

from kcli.rules.rule import CRITICAL, Rule

# Refusals at a single moment do not count: a broker of 4.x that can't verify a transaction at that moment answers old
# clients with the same error (KIP-890), and accepts their retry a moment later.
RULE = Rule(
    finding="under-min-isr",
    title="writes refused because of too few in-sync replicas",
    severity=CRITICAL,
    when="errors LIKE '%,NOT_ENOUGH_REPLICAS%'",
    sql="""
WITH refused AS (
  SELECT topic, partition, client_id, error, ns
  FROM produced
  WHERE error IN ('NOT_ENOUGH_REPLICAS', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND')
),
-- Writes of the same topic that wait for the same replicas: appended before these left the ISR.
waiting AS (
  SELECT p.topic, p.partition, p.client_id, p.ns
  FROM produced p
  JOIN (SELECT topic, min(ns) AS first_ns, max(ns) AS last_ns FROM refused GROUP BY topic) AS r ON p.topic = r.topic
  LEFT JOIN heard h ON p.connection = h.connection
  JOIN stretches s ON p.ns BETWEEN s.first_ns AND s.last_ns
  WHERE acks = -1 AND p.ns BETWEEN r.first_ns - 30000000000 AND r.last_ns + 30000000000
    AND (error = 'REQUEST_TIMED_OUT'
         OR (NOT answered AND p.ns > coalesce(h.ns, 0) AND p.ns < s.last_ns - 500000000))
),
left_waiting AS (
  SELECT topic, count(*) AS writes, array_agg(DISTINCT concat(topic, '-', partition)) AS partitions
  FROM waiting
  GROUP BY topic
),
hit AS (
  SELECT topic, array_agg(DISTINCT client_id) AS clients,
         array_agg(DISTINCT concat(topic, '-', partition)) AS partitions
  FROM (SELECT topic, partition, client_id FROM refused UNION SELECT topic, partition, client_id FROM waiting) AS w
  GROUP BY topic
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
away AS (
  SELECT topic, array_agg(DISTINCT replica) AS missing
  FROM short
  GROUP BY topic
),
named AS (
  SELECT topic, array_agg(DISTINCT name) AS broker
  FROM (
    SELECT topic, replica AS name
    FROM short
    UNION
    SELECT topic, n.server
    FROM short s JOIN nodes n ON CAST(n.node_id AS STRING) = s.replica
  ) AS names
  GROUP BY topic
),
-- Of each topic.
turned AS (
  SELECT topic, count(*) AS refused, array_agg(DISTINCT error) AS errors, min(ns) AS first_ns, max(ns) AS last_ns
  FROM refused
  WHERE topic IS NOT NULL
  GROUP BY topic
  HAVING count(DISTINCT ns) >= 3 OR max(ns) - min(ns) >= 1000000000
)
SELECT t.topic, refused, errors, clients, h.partitions, coalesce(writes, 0) AS unanswered,
       CASE WHEN writes > 0
            THEN concat(', ', writes, ' more without an answer or timed out (',
                        concat_ws(', ', array_sort(w.partitions)), ')')
            ELSE '' END AS more,
       (last_ns - first_ns) / 1e9 AS seconds, first_ns, last_ns, missing, refused AS weight, broker
FROM turned t
JOIN hit h ON t.topic = h.topic
LEFT JOIN left_waiting w ON t.topic = w.topic
LEFT JOIN away a ON t.topic = a.topic
LEFT JOIN named n ON t.topic = n.topic
""",
    subject={"topic": "topic", "client": "clients", "broker": "broker", "partition": "partitions"},
    evidence=("refused", "unanswered", "errors", "missing", "seconds", "clients"),
    says="{topic}: {refused} batches with acks=all refused ({errors}) over {seconds} s to {clients}{more}; "
    "replicas not in sync: broker {missing}",
    ruled_out="the producer: its writes with acks=1 and to other topics succeed",
    advice="bring broker {missing} back, or let it catch up; do not lower min.insync.replicas to hide the problem",
    see="decode pcap {files} --errors=NOT_ENOUGH_REPLICAS",
    source="min.insync.replicas; kafka.cluster:Partition UnderMinIsr",
    explains={"errors-again": ("client",), "message-too-large": (), "broker-down": ("broker",), "long-transaction": ()},
)
