"""Records larger than the topic accepts."""

from kcli.rules.prepared import OF_BATCH
from kcli.rules.rule import CRITICAL, Rule

# A producer of Java splits a batch that is refused once, and all of it is accepted then. A batch of one record can't be
# split, and other clients give up: then the first refusal counts.
RULE = Rule(
    finding="message-too-large",
    title="records that are too large",
    severity=CRITICAL,
    when="errors LIKE '%TOO_LARGE%'",
    sql=f"""
WITH refused AS (
  SELECT client_id, topic, partition, connection, correlation_id, ns, error
  FROM produced
  WHERE error IN ('MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE')
),
sizes AS (
  SELECT p.client_id, p.topic, max(b.size_in_bytes) AS largest, min(b.size_in_bytes) AS smallest,
         max(b.compression) AS compression, min(b.records) AS fewest
  FROM refused p JOIN batches b ON {OF_BATCH}
  GROUP BY 1, 2
),
accepted AS (
  SELECT b.topic, max(b.size_in_bytes) AS largest_taken
  FROM batches b JOIN produced p ON {OF_BATCH}
  WHERE p.answered AND p.error IS NULL
  GROUP BY b.topic
),
latest AS (SELECT client_id, max(ns) AS ns FROM produced WHERE answered AND error IS NULL GROUP BY client_id)
SELECT r.client_id, r.topic, count(*) AS refused, array_agg(DISTINCT error) AS errors, max(s.largest) AS largest,
       max(s.smallest) AS smallest, max(t.largest_taken) AS largest_taken, max(s.compression) AS compression,
       (max(r.ns) - min(r.ns)) / 1e9 AS seconds, min(r.ns) AS first_ns, max(r.ns) AS last_ns, count(*) AS weight,
       array_agg(DISTINCT concat(r.topic, '-', r.partition)) AS partitions,
       CASE WHEN max(t.largest_taken) IS NULL THEN 'none is accepted'
            ELSE concat('the largest that was accepted has ', max(t.largest_taken)) END AS taken,
       CASE WHEN max(l.ns) > max(r.ns) THEN '' ELSE '; since then nothing of this client is accepted' END AS since,
       CASE WHEN count(*) = 1 AND max(l.ns) > max(r.ns) THEN 'warning' END AS severity,
       CASE WHEN max(t.largest_taken) IS NULL THEN ''
            ELSE 'a topic that accepts nothing: other batches to it are accepted' END AS not_so,
       CASE WHEN bool_and(r.error = 'RECORD_LIST_TOO_LARGE')
              THEN 'make segment.bytes of {{topic}} larger than its batches, or send smaller ones (max.request.size, '
                   'batch.size)' END AS advised,
       CASE max(s.compression) WHEN 'none' THEN 'not compressed' ELSE max(s.compression) END AS packed
FROM refused r
LEFT JOIN sizes s ON r.client_id = s.client_id AND r.topic = s.topic
LEFT JOIN accepted t ON r.topic = t.topic
LEFT JOIN latest l ON r.client_id = l.client_id
CROSS JOIN (SELECT max(last_ns) AS ns FROM stretches) AS e
GROUP BY r.client_id, r.topic
HAVING count(*) >= 2 OR max(s.fewest) = 1
  OR (max(e.ns) - max(r.ns) >= 5000000000 AND coalesce(max(l.ns) < max(r.ns), true))
""",
    subject={"client": "client_id", "topic": "topic", "partition": "partitions"},
    evidence=("refused", "errors", "largest", "smallest", "largest_taken", "compression", "seconds"),
    text="{topic} refuses batches of {client_id}: {refused} times {errors}, up to {largest} bytes ({packed}); {taken}"
    "{since}",
    ruled_out="{not_so}",
    advice="make max.message.bytes of {topic} and max.request.size of {client_id} fit each other (then "
    "replica.fetch.max.bytes and fetch.max.bytes), set compression.type zstd, or send smaller records with a reference "
    "to the data",
    see="decode pcap {files} --errors={errors}",
    source="max.message.bytes 1048588, max.request.size 1048576",
    explains={"errors-again": ("client",), "connection-churn": ("client",)},
)
