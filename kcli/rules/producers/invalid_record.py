"""Records that a broker does not take: without a key, with a timestamp out of bounds, or not what it validates."""

from kcli.rules.prepared import OF_BATCH
from kcli.rules.rule import CRITICAL, Rule

# Nothing of the batch is written, so one refusal is enough. From Produce v8 on, the broker tells the reason and the
# records (KIP-467). For older versions, the timestamps of the batch are compared with the time of the packet.
RULE = Rule(
    finding="invalid-record",
    title="records that the broker refuses as invalid",
    severity=CRITICAL,
    when="errors LIKE '%,INVALID_RECORD,%' OR errors LIKE '%,INVALID_TIMESTAMP,%'",
    sql=f"""
WITH refused AS (
  SELECT p.client_id, p.topic, p.partition, p.connection, p.correlation_id, p.ns, p.error,
         coalesce(r.record_message, r.message) AS message, r.first_record
  FROM produced p
  LEFT JOIN refused_records r
    ON r.connection = p.connection AND r.correlation_id = p.correlation_id AND r.partition = p.partition
    AND coalesce(r.topic, p.topic) = p.topic
  WHERE p.error IN ('INVALID_RECORD', 'INVALID_TIMESTAMP')
),
stamped AS (
  SELECT client_id, topic, max_by(hours, abs(hours)) AS ahead_hours
  FROM (
    SELECT p.client_id, p.topic, b.max_timestamp / 3.6e6 - b.ns / 3.6e12 AS hours
    FROM refused p JOIN batches b ON {OF_BATCH}
    WHERE b.max_timestamp > 0
  ) AS s
  GROUP BY client_id, topic
),
wrote AS (
  SELECT r.client_id, r.topic, count(*) AS batches
  FROM (SELECT DISTINCT client_id, topic FROM refused) AS r
  JOIN produced p ON p.client_id = r.client_id AND p.topic = r.topic
  WHERE p.answered
  GROUP BY r.client_id, r.topic
),
refused_by_topic AS (
  SELECT client_id, topic, count(*) AS refused, array_agg(DISTINCT error) AS errors,
         array_agg(DISTINCT concat(topic, '-', partition)) AS partitions, min_by(message, ns) AS message,
         min_by(first_record, ns) AS record, min(ns) AS first_ns, max(ns) AS last_ns,
         CASE WHEN max(CASE WHEN message LIKE '%key%' THEN 1 ELSE 0 END) = 1 THEN 'key'
              WHEN max(CASE WHEN error = 'INVALID_TIMESTAMP' OR lower(message) LIKE '%timestamp%' THEN 1
                            ELSE 0 END) = 1 THEN 'time'
              WHEN max(message) IS NULL THEN 'untold'
              ELSE 'other' END AS kind
  FROM refused
  WHERE topic IS NOT NULL
  GROUP BY client_id, topic
)
SELECT t.client_id, t.topic, refused, batches, errors, partitions, message, record, ahead_hours, kind, t.first_ns,
       t.last_ns, (t.last_ns - t.first_ns) / 1e9 AS seconds, refused AS weight,
       CASE WHEN message IS NULL THEN 'the broker gives no reason to this version of Produce'
            ELSE concat('the broker: "', message, '"') END AS why,
       CASE WHEN refused = batches THEN ''
            ELSE concat('the broker and the topic as a whole: ', batches - refused, ' batches of it were accepted here')
       END AS not_so,
       CASE WHEN ahead_hours IS NULL THEN ''
            ELSE concat('; here up to ', round(abs(ahead_hours), 1), ' h ',
                        CASE WHEN ahead_hours > 0 THEN 'ahead of' ELSE 'behind' END, ' the packets') END AS off,
       CASE kind
            WHEN 'key' THEN 'give each record of {{topic}} a key, as the topic is compacted; or set '
                            'cleanup.policy=delete if its records are not the latest of their key'
            WHEN 'time' THEN 'look at how {{client_id}} sets timestamps (the clock of its host, seconds for '
                             'milliseconds{{off}}); old data that is sent late needs a larger '
                             'message.timestamp.before.max.ms of {{topic}} (ahead of the clock: '
                             'message.timestamp.after.max.ms, 1 h from Kafka 4.0 on), or LogAppendTime'
            WHEN 'other' THEN 'correct what {{client_id}} sends as the broker says; a validation on the broker (a '
                              'record interceptor, a schema) has its own log there'
            ELSE 'look at cleanup.policy of {{topic}} (a compacted topic takes no record without a key) and at its '
                 'message.timestamp.*.max.ms; a client with Produce v8 or newer gets the reason'
       END AS advised
FROM refused_by_topic t
LEFT JOIN wrote w ON t.client_id = w.client_id AND t.topic = w.topic
LEFT JOIN stamped s ON t.client_id = s.client_id AND t.topic = s.topic
""",
    subject={"client": "client_id", "topic": "topic", "partition": "partitions"},
    evidence=("refused", "batches", "errors", "message", "record", "ahead_hours", "seconds"),
    text="{topic} refuses {refused} of {batches} batches of {client_id} as invalid ({errors}): {why}",
    ruled_out="{not_so}",
    advice="{advised}",
    see="decode pcap {files} --client {client_id} --api Produce --errors",
    source="KIP-467 (record_errors); cleanup.policy, message.timestamp.before.max.ms and .after.max.ms (KIP-937)",
    explains={"errors-again": ("client",)},
)
