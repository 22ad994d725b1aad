"""The timestamps of a producer are hours off: its clock, local time taken for UTC, or seconds for milliseconds."""

from kcli.rules.captured_times import OTHER_UNIT
from kcli.rules.rule import OF_TOPIC, Rule

ONE_UNIT = "CASE WHEN count(unit) = count(*) AND min(unit) = max(unit) THEN min(unit) END"  # of all rows
# A connection belongs to one process, with one clock; connections with few batches count together. A mirror that is
# behind writes old timestamps, too, and all about as old; but the difference drifts as it catches up or falls behind.
# Timestamps in another unit than milliseconds drift, too, but are the packets' times in that unit.
# Old producers leave the timestamp of a compressed message set (magic 1) at 0 or -1: only the records within have one.
RULE = Rule(
    finding="clock-skew",
    title="producers with a wrong clock",
    when="steady_clock AND skewed_batches >= 5",
    sql=f"""
WITH stamped AS (
  SELECT client_id, topic, partition, ns, max_timestamp / 1e3 - ns / 1e9 AS ahead, {OTHER_UNIT} AS unit,
         CASE WHEN count(*) OVER (PARTITION BY client_id, topic, connection) >= 5 THEN connection END AS connection
  FROM batches
  WHERE api = 'PRODUCE' AND max_timestamp > 0 AND timestamp_type != 'LogAppendTime' AND NOT is_control
),
skewed AS (
  SELECT client_id, topic, count(*) AS batches, min(ahead) AS least, max(ahead) AS most,
         percentile_approx(ahead, 0.5) AS ahead_seconds, percentile_approx(ahead, 0.1) AS p10,
         percentile_approx(ahead, 0.9) AS p90, corr(ahead, ns / 1e9) AS drift, min(ns) AS first_ns, max(ns) AS last_ns,
         {ONE_UNIT} AS unit
  FROM stamped
  WHERE topic IS NOT NULL
  GROUP BY client_id, topic, connection
),
refused AS (
  SELECT client_id, topic, count(*) AS refused FROM produced WHERE error = 'INVALID_TIMESTAMP' GROUP BY client_id, topic
),
skewed_topics AS (
  SELECT client_id, topic, sum(batches) AS batches, min(least) AS least, max(most) AS most,
         min_by(ahead_seconds, abs(ahead_seconds)) AS ahead_seconds, min(first_ns) AS first_ns, max(last_ns) AS last_ns,
         {ONE_UNIT} AS unit
  FROM skewed
  WHERE batches >= 5 AND abs(ahead_seconds) >= 600 AND p90 - p10 <= greatest(60, 0.02 * abs(ahead_seconds))
    AND (p90 - p10 < 1 OR abs(drift) < 0.8 OR unit IS NOT NULL
         OR EXISTS (SELECT 1 FROM refused r WHERE r.client_id = skewed.client_id AND r.topic = skewed.topic))
  GROUP BY client_id, topic
),
unstamped AS (
  SELECT client_id, count(*) AS batches
  FROM batches
  WHERE api = 'PRODUCE' AND magic = 1 AND compression != 'none' AND max_timestamp <= 0
    AND client_id NOT IN (SELECT client_id FROM stamped)
  GROUP BY client_id
  HAVING count(*) >= 5
),
judged AS (
  SELECT client_id, topic, CAST(NULL AS BIGINT) AS unstamped FROM skewed_topics
  UNION ALL
  SELECT client_id, NULL, batches FROM unstamped
),
written_partitions AS (
  SELECT client_id, topic, array_agg(concat(topic, '-', partition)) AS partitions
  FROM (SELECT DISTINCT client_id, topic, partition FROM stamped) AS s
  GROUP BY client_id, topic
),
client_hosts AS (
  SELECT client_id, array_agg(DISTINCT address) AS hosts
  FROM (
    SELECT DISTINCT client_id, address FROM calls WHERE client_id IN (SELECT client_id FROM skewed_topics)
  ) AS c
  GROUP BY client_id
)
SELECT j.client_id, j.client_id AS cause, j.topic, p.partitions, w.hosts, s.batches,
       s.most - s.least AS spread_seconds, s.first_ns, s.last_ns, s.ahead_seconds, s.least, s.most,
       coalesce(r.refused, 0) AS refused, abs(s.ahead_seconds) / 3600.0 AS hours,
       CASE WHEN s.ahead_seconds > 0 THEN 'ahead of' ELSE 'behind' END AS way,
       CASE WHEN s.ahead_seconds > 0 THEN 'after' ELSE 'before' END AS bound,
       CASE WHEN abs(s.ahead_seconds - round(s.ahead_seconds / 900.0) * 900) <= 2 AND abs(s.ahead_seconds) <= 50402
              THEN 'the application takes local time for UTC (the difference is whole quarter hours); else NTP on'
            ELSE 'how the application sets timestamps (seconds for milliseconds?); NTP on' END AS to_mend,
       CASE WHEN s.client_id = (SELECT max(client_id) FROM skewed HAVING count(DISTINCT client_id) = 1)
              THEN 'first compare the clock of the machine that captured, as no other producer is here; ' ELSE '' END
         AS first_look,
       (
         SELECT max(abs(o.ahead_seconds)) FROM skewed o WHERE o.client_id != s.client_id AND abs(o.ahead_seconds) < 600
       ) AS others_seconds, CASE WHEN coalesce(r.refused, 0) > 0 THEN 'critical' ELSE 'warning' END AS severity,
       s.batches AS weight, s.unit,
       CASE WHEN s.unit IS NOT NULL
            THEN concat('{{client_id}}: the timestamps of {{batches}} batches to {{topic}} are the time in {{unit}}; ',
                        'Kafka reads milliseconds, ',
                        CASE WHEN s.unit = 'seconds' THEN 'so a day in 1970' ELSE 'so a day in the far future' END,
                        '; {{refused}} refused (INVALID_TIMESTAMP)') END AS sentence,
       CASE WHEN s.unit IS NOT NULL
            THEN concat('give milliseconds since 1970 as the timestamps of {{client_id}}, not {{unit}}: ',
                        CASE WHEN s.unit = 'seconds'
                             THEN 'retention.ms deletes these records as soon as their segment is closed'
                             ELSE 'retention.ms never deletes these records' END,
                        '; message.timestamp.{{bound}}.max.ms of the topic makes brokers refuse them ',
                        '(before Kafka 3.6: message.timestamp.difference.max.ms)') END AS advised,
       CASE WHEN j.unstamped > 0
            THEN concat('whether the clock of ', j.client_id, ' is right: its ', j.unstamped,
                        ' compressed message sets (magic 1) have no timestamp, only the records in them') END AS unseen,
       concat('kcli records FILE --client ', j.client_id, ' shows the records with theirs') AS remedy
FROM judged j
LEFT JOIN skewed_topics s ON j.client_id = s.client_id AND j.topic = s.topic
LEFT JOIN written_partitions p ON s.client_id = p.client_id AND s.topic = p.topic
LEFT JOIN refused r ON s.client_id = r.client_id AND s.topic = r.topic
LEFT JOIN client_hosts w ON s.client_id = w.client_id
""",
    subject={"client": "client_id", "topic": "topic", "partition": "partitions", "host": "hosts"},
    evidence=("batches", "ahead_seconds", "least", "most", "refused", "others_seconds", "unit"),
    text="{client_id}: the timestamps of {batches} batches to {topic} are {hours} h {way} the packets, all alike; "
    "{refused} refused (INVALID_TIMESTAMP)",
    ruled_out="old data that is caught up on: the difference varies by {spread_seconds} s in all",
    advice="{first_look}{to_mend} the host of {client_id}; whether brokers take such records is set by "
    "message.timestamp.{bound}.max.ms of the topic (before Kafka 3.6: message.timestamp.difference.max.ms)",
    see='sql "SELECT client_id, count(*) AS batches, min(max_timestamp - epoch_ms(timestamp)) AS least_ms, '
    f"max(max_timestamp - epoch_ms(timestamp)) AS most_ms FROM record_batches p {OF_TOPIC} "
    'AND max_timestamp > 0 GROUP BY ALL" {files}',
    source="message.timestamp.after.max.ms 3600000 (from 4.0 on, KIP-1030); KIP-937",
    explains={"errors-again": ("client",), "message-too-large": ("client",), "invalid-record": ("client", "topic")},
    rests_on=("judged",),
)
