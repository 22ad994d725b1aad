"""Fewer replicas are in sync than min.insync.replicas asks for."""

from kcli.rules.rule import CRITICAL, Rule

# The missing replicas are those that the latest Metadata leaves out of the ISR. If clients have not requested Metadata
# since, they are followers that fetched from the refusing leader before and have stopped, or replicas whose broker is
# down.
# A broker that can't verify a transaction, as its coordinator moves or starts, answers with the same error, and says so
# (KIP-890): no replica is missing. Without that text, refusals at a single moment do not count. Those of a few seconds,
# as of a cluster that starts, are worth knowing only.
RULE = Rule(
    finding="under-min-isr",
    title="writes refused because of too few in-sync replicas",
    severity=CRITICAL,
    when="errors LIKE '%,NOT_ENOUGH_REPLICAS%'",
    sql="""
WITH refused AS (
  SELECT topic, partition, client_id, server, error, ns
  FROM produced p
  WHERE error IN ('NOT_ENOUGH_REPLICAS', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND')
    AND NOT EXISTS (
      SELECT 1
      FROM refused_records r
      WHERE r.connection = p.connection AND r.correlation_id = p.correlation_id AND r.partition = p.partition
        AND coalesce(r.topic, p.topic) = p.topic AND r.message LIKE '%been added to the transaction%'
    )
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
affected AS (
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
-- Of each topic.
turned AS (
  SELECT topic, count(*) AS refused, array_agg(DISTINCT error) AS errors, min(ns) AS first_ns,
         max(ns) AS last_ns, array_agg(DISTINCT concat(topic, '-', partition)) AS partitions
  FROM refused
  WHERE topic IS NOT NULL
  GROUP BY topic
  HAVING count(DISTINCT ns) >= 3 OR max(ns) - min(ns) >= 1000000000
),
replicas AS (
  SELECT topic, partition, isr, explode(split(replicas, ',')) AS replica
  FROM latest
  WHERE (topic, partition) IN (SELECT topic, partition FROM refused)
),
silent_followers AS (
  SELECT DISTINCT topic, CAST(replica_id AS STRING) AS replica
  FROM (
    SELECT t.topic, c.server, c.replica_id,
           sum(CASE WHEN c.ns BETWEEN t.first_ns + 1000000000 AND greatest(t.first_ns + 3000000000,
                                                                           t.last_ns - 2000000000)
                    THEN 1 ELSE 0 END) AS meanwhile
    FROM turned t
    JOIN (SELECT DISTINCT topic, server FROM refused) AS r ON t.topic = r.topic
    JOIN calls c ON c.server = r.server AND c.api = 'FETCH' AND c.replica_id >= 0
    JOIN server_spans s ON c.server = s.server AND s.last_ns >= t.first_ns + 3000000000
    GROUP BY t.topic, t.first_ns, c.server, c.replica_id
    HAVING min(c.ns) < t.first_ns
  ) AS f
  WHERE meanwhile = 0
),
missing_replicas AS (
  SELECT topic, replica, 'the ISR in Metadata' AS told_by
  FROM replicas
  WHERE NOT concat(',', isr, ',') LIKE concat('%,', replica, ',%')
  UNION
  SELECT q.topic, q.replica, 'a follower that no longer fetches'
  FROM silent_followers q
  WHERE q.topic NOT IN (SELECT topic FROM replicas) OR (q.topic, q.replica) IN (SELECT topic, replica FROM replicas)
  UNION
  SELECT t.topic, r.replica, 'a broker that went away'
  FROM turned t
  JOIN replicas r ON r.topic = t.topic
  JOIN nodes n ON CAST(n.node_id AS STRING) = r.replica
  JOIN outages o ON o.server = n.server AND o.gone_ns < t.last_ns AND coalesce(o.back_ns, t.last_ns) > t.first_ns
),
missing_by_topic AS (
  SELECT s.topic, array_agg(DISTINCT replica) AS missing, array_agg(DISTINCT told_by) AS told_by,
         array_agg(DISTINCT coalesce(b.broker_name, replica)) AS missing_brokers
  FROM missing_replicas s LEFT JOIN nodes n ON CAST(n.node_id AS STRING) = s.replica
  LEFT JOIN brokers b ON n.server = b.server
  GROUP BY s.topic
),
-- Topics of which each partition accepts writes again.
recovered AS (
  SELECT r.topic
  FROM (SELECT topic, partition, max(ns) AS ns FROM refused GROUP BY topic, partition) AS r
  LEFT JOIN (
    SELECT topic, partition, max(ns) AS ns
    FROM produced
    WHERE acks = -1 AND answered AND error IS NULL
    GROUP BY topic, partition
  ) AS p ON r.topic = p.topic AND r.partition = p.partition
  GROUP BY r.topic
  HAVING bool_and(coalesce(p.ns > r.ns, false))
),
-- Topics of which all missing brokers came back.
returned AS (
  SELECT s.topic
  FROM missing_replicas s
  LEFT JOIN nodes n ON CAST(n.node_id AS STRING) = s.replica
  LEFT JOIN outages o ON o.server = n.server AND o.back_ns IS NOT NULL
  GROUP BY s.topic
  HAVING count(DISTINCT s.replica) = count(DISTINCT CASE WHEN o.server IS NOT NULL THEN s.replica END)
),
-- What the same leaders take meanwhile.
taken AS (
  SELECT t.topic, sum(CASE WHEN p.topic = t.topic AND acks = 1 THEN 1 ELSE 0 END) AS unwaited,
         sum(CASE WHEN p.topic = t.topic THEN 0 ELSE 1 END) AS of_others
  FROM turned t
  JOIN (SELECT DISTINCT topic, server FROM refused) AS r ON t.topic = r.topic
  JOIN produced p ON p.server = r.server AND p.ns BETWEEN t.first_ns AND t.last_ns
  WHERE p.answered AND p.error IS NULL
  GROUP BY t.topic
),
named AS (
  SELECT topic, array_agg(DISTINCT name) AS broker
  FROM (
    SELECT topic, replica AS name
    FROM missing_replicas
    UNION
    SELECT topic, n.server
    FROM missing_replicas s JOIN nodes n ON CAST(n.node_id AS STRING) = s.replica
  ) AS names
  GROUP BY topic
)
SELECT t.topic, nullif(concat_ws(', ', array_sort(missing_brokers)), '') AS cause, refused, errors, clients,
       h.partitions, t.partitions AS hit_partitions,
       coalesce(writes, 0) AS unanswered,
       CASE WHEN writes > 0
            THEN concat(', ', writes, ' more without a response or timed out (',
                        concat_ws(', ', array_sort(w.partitions)), ')')
            ELSE '' END AS more,
       CASE WHEN v.topic IS NOT NULL AND last_ns - first_ns < 5000000000 THEN 'info' ELSE 'critical' END AS severity,
       CASE WHEN v.topic IS NOT NULL THEN '; since then they accept' ELSE '' END AS since,
       (last_ns - first_ns) / 1e9 AS seconds, first_ns, last_ns, missing, told_by, missing_brokers,
       refused AS weight, broker, coalesce(unwaited, 0) AS unwaited, coalesce(of_others, 0) AS of_others,
       CASE WHEN coalesce(unwaited, 0) + coalesce(of_others, 0) = 0 THEN 'the producer: the broker lacks replicas'
            ELSE concat('the producer, and a leader that accepts nothing: it accepted ', coalesce(unwaited, 0),
                        ' of the topic''s batches with acks=1, and ', coalesce(of_others, 0),
                        ' of other topics, meanwhile') END AS not_so,
       CASE WHEN missing IS NULL THEN 'unknown (Metadata is older, no follower in the capture stops)'
            ELSE concat('broker ', concat_ws(', ', array_sort(missing_brokers)), ', by ',
                        concat_ws(' and ', array_sort(told_by))) END AS not_in_sync,
       CASE WHEN v.topic IS NOT NULL AND last_ns - first_ns < 5000000000
            THEN 'nothing, if brokers started just then: retries were accepted; else find out why the ISR shrank'
            WHEN missing IS NULL
            THEN 'kafka-topics.sh --describe --topic {topic:word} names the replicas that are not in the ISR: bring '
                 'their brokers back, or let them catch up; do not lower min.insync.replicas to hide the problem'
            WHEN d.topic IS NOT NULL
            THEN 'broker {missing_brokers} came back; give {topic} more replicas than min.insync.replicas '
                 '(kafka-reassign-partitions.sh), so that its writes go on while one broker restarts'
       END AS advised
FROM turned t
JOIN affected h ON t.topic = h.topic
LEFT JOIN left_waiting w ON t.topic = w.topic
LEFT JOIN missing_by_topic a ON t.topic = a.topic
LEFT JOIN named n ON t.topic = n.topic
LEFT JOIN taken k ON t.topic = k.topic
LEFT JOIN returned d ON t.topic = d.topic
LEFT JOIN recovered v ON t.topic = v.topic
""",
    subject={"topic": "topic", "client": "clients", "broker": "broker", "partition": "partitions"},
    evidence=("refused", "unanswered", "errors", "missing", "told_by", "seconds", "clients", "unwaited", "of_others"),
    text="{topic}: {refused} batches with acks=all to {hit_partitions} refused ({errors}) over {seconds} s to "
    "{clients}{more}; replicas not in sync: {not_in_sync}{since}",
    ruled_out="{not_so}",
    advice="bring broker {missing_brokers} back, or let it catch up; do not lower min.insync.replicas to hide the "
    "problem",
    see="decode pcap {files} --errors={errors}",
    source="min.insync.replicas; kafka.cluster:Partition UnderMinIsr",
    # Where replicas no longer confirm what a client has read, the broker answers its Fetches at once.
    explains={
        "errors-again": ("client",),
        "message-too-large": (),
        "broker-down": ("broker",),
        "long-transaction": (),
        "busy-fetch": ("topic",),
    },
)
