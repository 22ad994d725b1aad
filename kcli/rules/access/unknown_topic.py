"""A client wants a topic that does not exist."""

from kcli.rules.rule import Rule

# It explains short connections only if these connections ask for the topic: several processes may share one client id.
# A client that asks only once on each connection, and only around a broker's stop and start, is a probe that waits for
# the broker.
RULE = Rule(
    finding="unknown-topic",
    title="topics that do not exist",
    when="errors LIKE '%,UNKNOWN_TOPIC_OR_PARTITION,%' OR errors LIKE '%,INVALID_TOPIC_EXCEPTION,%'",
    sql="""
WITH refused AS (
  SELECT connection, client_id, topic, completed_ns AS ns, error
  FROM metadata_topics
  WHERE error IN ('UNKNOWN_TOPIC_OR_PARTITION', 'INVALID_TOPIC_EXCEPTION') AND topic IS NOT NULL
  UNION ALL
  SELECT connection, client_id, topic, ns, error
  FROM fetched
  WHERE error = 'UNKNOWN_TOPIC_OR_PARTITION'
  UNION ALL
  SELECT connection, client_id, topic, ns, error
  FROM produced
  WHERE error = 'UNKNOWN_TOPIC_OR_PARTITION'
),
steady AS (
  SELECT DISTINCT client_id, topic
  FROM refused r
  WHERE NOT EXISTS (SELECT 1 FROM outage_windows o WHERE r.ns BETWEEN o.from_ns AND o.to_ns)
),
existing AS (
  SELECT topic
  FROM metadata_partitions
  UNION ALL
  SELECT DISTINCT topic
  FROM fetched
  WHERE answered AND error IS NULL
  UNION ALL
  SELECT DISTINCT topic
  FROM produced
  WHERE answered AND error IS NULL
)
SELECT coalesce(r.client_id, '') AS client_id, r.topic, r.topic AS cause, count(*) AS refused,
       array_agg(DISTINCT error) AS errors,
       CASE WHEN bool_or(error = 'INVALID_TOPIC_EXCEPTION') THEN 'which is not allowed as a name'
            ELSE 'which does not exist' END AS why,
       CASE WHEN bool_or(error = 'INVALID_TOPIC_EXCEPTION')
            THEN 'correct the name in {client_id}: a topic has letters, digits, ".", "_" and "-", at most 249 of them'
            END AS advised,
       (max(ns) - min(ns)) / 1e9 AS seconds, count(*) / greatest((max(ns) - min(ns)) / 1e9, 1) AS per_second,
       min(ns) AS first_ns, max(ns) AS last_ns, count(*) AS weight,
       CASE WHEN count(DISTINCT r.connection) < 0.3 * max(c.connections) THEN 'connection-churn' END AS spares
FROM refused r LEFT JOIN clients c ON coalesce(r.client_id, '') = c.client_id
LEFT JOIN steady s ON r.client_id IS NOT DISTINCT FROM s.client_id AND r.topic = s.topic
WHERE r.topic NOT IN (SELECT topic FROM existing WHERE topic IS NOT NULL)
GROUP BY 1, 2
HAVING count(*) >= 4 AND (max(ns) - min(ns)) / 1e9 >= 2
  AND (max(s.topic) IS NOT NULL OR count(*) >= 2 * count(DISTINCT r.connection))
""",
    subject={"topic": "topic", "client": "client_id"},
    evidence=("refused", "errors", "per_second", "seconds"),
    text="{client_id} asks for {topic}, {why}: {refused} times in {seconds} s ({errors})",
    ruled_out="a topic that is being created: it never appeared",
    advice="create the topic {topic}, or correct its name in {client_id}; a broker creates it by itself only with "
    "auto.create.topics.enable, for a client that wants it (allow.auto.create.topics) and has the right to",
    see="decode pcap {files} --topic {topic}",
    source="auto.create.topics.enable",
    explains=dict.fromkeys(
        ("errors-again", "metadata-storm", "connection-churn", "consumer-stuck", "no-partitions"), ("client",)
    ),
)
