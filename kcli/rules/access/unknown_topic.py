"""A client wants a topic that does not exist."""

from kcli.rules.rule import Rule

# It explains short connections only if these connections ask for the topic: several processes may share one client id.
# A client that asks only once on each connection, and only around a broker's stop and start, is a probe that waits for
# the broker.
# Java's producers wait in Metadata for a partition that a topic does not have: about once a second they ask, and are
# told of the topic without an error. They have their producer id by then, which health checks never ask for.
RULE = Rule(
    finding="unknown-topic",
    title="topics or partitions that do not exist",
    when="errors LIKE '%,UNKNOWN_TOPIC_OR_PARTITION,%' OR errors LIKE '%,INVALID_TOPIC_EXCEPTION,%' "
    "OR (metadata_requests >= 8 AND apis LIKE '%,INIT_PRODUCER_ID,%')",
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
),
with_ids AS (
  SELECT coalesce(client_id, '') AS client_id, min(completed_ns) AS since_ns
  FROM transaction_calls
  WHERE api = 'INIT_PRODUCER_ID' AND producer_id IS NOT NULL AND error IS NULL
    AND coalesce(client_id, '') NOT IN (
      SELECT client_id FROM calls
      WHERE api NOT IN ('METADATA', 'API_VERSIONS', 'INIT_PRODUCER_ID', 'FIND_COORDINATOR', 'SASL_HANDSHAKE',
                        'SASL_AUTHENTICATE', 'GET_TELEMETRY_SUBSCRIPTIONS', 'PUSH_TELEMETRY')
    )
  GROUP BY 1
),
waiting AS (
  SELECT w.client_id, s.topic, count(DISTINCT m.completed_ns) AS asked, max(s.partition) + 1 AS partitions,
         min(unix_micros(m.timestamp)) * 1000 AS first_ns, max(unix_micros(m.timestamp)) * 1000 AS last_ns
  FROM metadata_told m
  JOIN partition_states s ON m.told = s.told
  JOIN with_ids w ON coalesce(m.client_id, '') = w.client_id AND unix_micros(m.timestamp) * 1000 >= w.since_ns
  LEFT JOIN (SELECT DISTINCT server FROM calls WHERE response_bytes IS NOT NULL) AS a ON s.leader_address = a.server
  GROUP BY w.client_id, s.topic
  HAVING count(DISTINCT m.completed_ns) >= 8
    AND bool_and(s.error IS NULL AND s.leader >= 0 AND a.server IS NOT NULL)
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
       CASE WHEN count(DISTINCT r.connection) < 0.3 * max(c.connections) THEN 'connection-churn' END AS spares,
       CAST(NULL AS STRING) AS sentence, 'a topic that is being created: it never appeared' AS not_so,
       CAST(NULL AS INT) AS partitions, CAST(NULL AS INT) AS last_index
FROM refused r LEFT JOIN clients c ON coalesce(r.client_id, '') = c.client_id
LEFT JOIN steady s ON r.client_id IS NOT DISTINCT FROM s.client_id AND r.topic = s.topic
WHERE r.topic NOT IN (SELECT topic FROM existing WHERE topic IS NOT NULL)
GROUP BY 1, 2
HAVING count(*) >= 4 AND (max(ns) - min(ns)) / 1e9 >= 2
  AND (max(s.topic) IS NOT NULL OR count(*) >= 2 * count(DISTINCT r.connection))
UNION ALL
SELECT client_id, topic, topic, asked, NULL, NULL,
       'send to partitions 0 to {last_index} of {topic} (which number does {client_id} or its partitioner choose?), or '
       'add partitions to it (kafka-topics.sh --alter --partitions)',
       (last_ns - first_ns) / 1e9, asked / greatest((last_ns - first_ns) / 1e9, 1), first_ns, last_ns, asked, NULL,
       '{client_id} asks for {topic} {refused} times in {seconds} s and writes nothing, though it is told of '
       '{partitions} partitions with leaders: it waits for a partition that the topic does not have',
       'the topic and its leaders: Metadata has them, without an error', CAST(partitions AS INT),
       CAST(partitions - 1 AS INT)
FROM waiting
WHERE last_ns - first_ns >= 5000000000 AND asked >= 0.5 * (last_ns - first_ns) / 1e9
""",
    subject={"topic": "topic", "client": "client_id"},
    evidence=("refused", "errors", "per_second", "seconds", "partitions"),
    text="{client_id} asks for {topic}, {why}: {refused} times in {seconds} s ({errors})",
    ruled_out="{not_so}",
    advice="create the topic {topic}, or correct its name in {client_id}; a broker creates it by itself only with "
    "auto.create.topics.enable, for a client that wants it (allow.auto.create.topics) and has the right to",
    see="decode pcap {files} --topic {topic}",
    source="auto.create.topics.enable",
    explains=dict.fromkeys(
        ("errors-again", "metadata-storm", "connection-churn", "consumer-stuck", "no-partitions"), ("client",)
    ),
)
