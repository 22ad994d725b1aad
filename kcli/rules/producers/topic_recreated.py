"""A topic was deleted under running clients, and perhaps recreated."""

from kcli.rules.rule import CRITICAL, Rule

INSTEAD = (
    "do not recreate topics that are in use: delete records instead (kafka-delete-records.sh, retention.ms); "
    "reset the offsets of groups knowingly (kafka-consumer-groups.sh --reset-offsets); restart clients that still ask "
    "with the old id"
)
# If Metadata denies the topic to the end, and nothing shows a new one, the topic was only deleted.
# A new leader's high watermark is lower for a moment, until its followers have fetched: that is no smaller log.
RULE = Rule(
    finding="topic-recreated",
    title="topics that were deleted, or deleted and recreated, under running clients",
    severity=CRITICAL,
    when="errors LIKE '%,UNKNOWN_TOPIC_%' OR "
    "errors LIKE '%,INCONSISTENT_TOPIC_ID,%' OR errors LIKE '%,OFFSET_OUT_OF_RANGE,%'",
    sql=f"""
WITH ids AS (
  SELECT topic, count(DISTINCT topic_id) AS topic_ids
  FROM (
    SELECT topic, topic_id
    FROM metadata_partitions
    WHERE topic_id IS NOT NULL
    UNION
    SELECT topic, topic_id
    FROM topic_by_id
  ) AS k
  GROUP BY topic
),
changes AS (
  SELECT coalesce(t.topic, c.topic) AS topic, api = 'DELETE_TOPICS' AS deletes, client,
         CASE WHEN coalesce(client_id, '') = '' THEN 'a client without an id' ELSE client_id END AS who
  FROM topic_changes c LEFT JOIN topic_by_id t ON c.topic = t.topic_id
  WHERE error IS NULL AND c.topic IS NOT NULL
),
changers AS (
  SELECT topic, deletes, who, count(*) AS times,
         concat(min(client), CASE WHEN count(DISTINCT client) > 1
                                  THEN concat(' and ', count(DISTINCT client) - 1, ' more') ELSE '' END) AS place
  FROM changes
  GROUP BY topic, deletes, who
),
changed AS (
  SELECT topic, sum(CASE WHEN deletes THEN times ELSE 0 END) AS deletes,
         sum(CASE WHEN deletes THEN 0 ELSE times END) AS creates,
         array_agg(concat(who, ' at ', place)) FILTER (WHERE deletes) AS deleters
  FROM changers
  GROUP BY topic
),
failed AS (
  SELECT coalesce(t.topic, e.topic) AS topic, client_id, error, ns
  FROM (
    SELECT topic, client_id, error, ns
    FROM fetched
    WHERE error IN ('UNKNOWN_TOPIC_ID', 'INCONSISTENT_TOPIC_ID', 'UNKNOWN_TOPIC_OR_PARTITION', 'OFFSET_OUT_OF_RANGE')
    UNION ALL
    SELECT topic, client_id, error, ns
    FROM produced
    WHERE error IN ('UNKNOWN_TOPIC_ID', 'INCONSISTENT_TOPIC_ID', 'UNKNOWN_TOPIC_OR_PARTITION')
    UNION ALL
    SELECT topic, coalesce(client_id, ''), error, completed_ns
    FROM metadata_topics
    WHERE error IN ('UNKNOWN_TOPIC_ID', 'UNKNOWN_TOPIC_OR_PARTITION')
    UNION ALL
    SELECT topic, coalesce(client_id, ''), error, completed_ns
    FROM commits
    WHERE error = 'UNKNOWN_TOPIC_OR_PARTITION'
  ) AS e
  LEFT JOIN topic_by_id t ON e.topic = t.topic_id
),
errors AS (
  SELECT topic, min(ns) AS first_ns, max(ns) AS last_ns, count(*) AS errors, array_agg(DISTINCT error) AS names,
         array_agg(DISTINCT client_id) AS clients,
         sum(CASE WHEN error IN ('UNKNOWN_TOPIC_ID', 'INCONSISTENT_TOPIC_ID') THEN 1 ELSE 0 END) AS by_id
  FROM failed
  WHERE topic IS NOT NULL AND client_id NOT IN (SELECT client_id FROM inner_clients)
  GROUP BY topic
  HAVING count(*) >= 2
),
said AS (
  SELECT topic, array_agg(line) AS changes
  FROM (
    SELECT topic, concat(CASE WHEN deletes THEN 'deleted ' ELSE 'recreated ' END,
                         CASE WHEN times = 1 THEN 'once' ELSE concat(times, ' times') END,
                         ' by ', who, ' (', place, ')') AS line
    FROM changers
    UNION ALL
    SELECT topic, 'the capture does not show who deleted it'
    FROM errors
    WHERE topic NOT IN (SELECT topic FROM changers WHERE deletes)
  ) AS lines
  GROUP BY topic
),
denied AS (
  SELECT topic, max(CASE WHEN error = 'UNKNOWN_TOPIC_OR_PARTITION' THEN completed_ns END) AS denied_ns,
         max(CASE WHEN error IS NULL THEN completed_ns END) AS known_ns
  FROM metadata_topics
  GROUP BY topic
),
steps AS (
  SELECT topic, partition, base_offset, ns,
         max(base_offset) OVER (PARTITION BY topic,
                                partition ORDER BY ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM produced
  WHERE base_offset >= 0 AND error IS NULL AND topic IN (SELECT topic FROM errors)
),
back AS (
  SELECT topic, count(*) AS back_to_start FROM steps WHERE base_offset < before - 20 AND base_offset < 20 GROUP BY topic
),
marks AS (
  SELECT topic, partition, high_watermark, ns,
         max(high_watermark) OVER (PARTITION BY topic,
                                   partition ORDER BY ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before,
         max(high_watermark) OVER (PARTITION BY topic,
                                   partition ORDER BY ns RANGE BETWEEN CURRENT ROW AND 5000000000 FOLLOWING) AS soon
  FROM fetched
  WHERE high_watermark >= 0 AND error IS NULL AND topic IN (SELECT topic FROM errors)
),
shrunk AS (
  SELECT topic, count(*) AS shrunk
  FROM marks
  WHERE high_watermark < 0.5 * before AND before > 40 AND soon < before
  GROUP BY topic
)
SELECT w.*,
       CASE WHEN gone THEN 'was deleted under running clients and not recreated'
            ELSE 'was deleted and recreated under running clients' END AS what,
       CASE WHEN gone THEN ''
            ELSE concat(topic_ids, CASE WHEN topic_ids = 1 THEN ' topic id' ELSE ' topic ids' END,
                        ', offsets back at the start on ', back_to_start,
                        CASE WHEN back_to_start = 1 THEN ' write, ' ELSE ' writes, ' END) END AS proof,
       CASE WHEN gone
            THEN concat('stop {{clients}}, or take {{topic}} out of their settings; if it is still needed, make it ',
                        'again (its records are gone)',
                        CASE WHEN deletes >= 1 THEN '; find the job that deleted it: {{deleters}}' ELSE '' END)
            WHEN deletes >= 1 THEN 'first find the job that deletes it: {{deleters}}; {INSTEAD}' END AS advised
FROM (
  SELECT e.topic, e.errors, e.names, e.clients, e.first_ns, e.last_ns, coalesce(i.topic_ids, 0) AS topic_ids,
         coalesce(b.back_to_start, 0) AS back_to_start, coalesce(c.deletes, 0) AS deletes,
         coalesce(c.creates, 0) AS creates, coalesce(s.shrunk, 0) AS shrunk, e.errors AS weight, e.by_id, d.changes,
         CASE WHEN c.deletes >= 1 THEN c.deleters END AS deleters,
         coalesce(i.topic_ids, 0) <= 1 AND b.topic IS NULL AND s.topic IS NULL AND coalesce(c.creates, 0) = 0
         AND coalesce(n.denied_ns > e.first_ns AND n.denied_ns > coalesce(n.known_ns, 0), false) AS gone
  FROM errors e
  LEFT JOIN ids i ON e.topic = i.topic
  LEFT JOIN changed c ON e.topic = c.topic
  LEFT JOIN said d ON e.topic = d.topic
  LEFT JOIN back b ON e.topic = b.topic
  LEFT JOIN shrunk s ON e.topic = s.topic
  LEFT JOIN denied n ON e.topic = n.topic
) AS w
WHERE topic_ids >= 2 OR back_to_start >= 1 OR shrunk >= 1 OR (deletes >= 1 AND creates >= 1)
  OR (by_id >= 3 AND topic_ids >= 1)
""",
    subject={"topic": "topic", "client": "clients"},
    evidence=("errors", "names", "topic_ids", "back_to_start", "deletes", "creates", "deleters", "shrunk", "clients"),
    text="{topic} {what} ({changes}): {proof}{errors} times {names} to {clients}",
    ruled_out="a topic that never existed",
    advice=f"first find who deletes it: a capture of all brokers shows that, as any may be asked; {INSTEAD}",
    see="decode pcap {files} --topic {topic} --errors",
    source="KIP-516",
    explains={
        "unknown-topic": ("topic",),
        "offset-out-of-range": ("topic",),
        "lost-writes": ("topic",),
        "offsets-lost": ("topic",),
        "errors-again": ("client",),
        "leader-moves": ("topic",),
        "busy-fetch": ("client",),
        "metadata-storm": ("client",),
        "connection-churn": ("client",),
        "sequence-gap": ("client",),
        "consumer-stuck": ("client",),  # it knows the deleted topic
        "hot-partition": ("topic",),  # the new topic may have fewer partitions
    },
    rests_on=("errors",),
)
