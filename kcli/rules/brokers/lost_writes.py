"""Acknowledged records that are lost: their offsets are given to others."""

from kcli.rules.prepared import OF_BATCH
from kcli.rules.rule import Rule

# A leader that lacks the newest records of the one before gives their offsets again, to other records. An unclean
# election makes such a leader, or a failover where the leader alone had what it acknowledged (acks=1). A retry of an
# idempotent producer gets the offset that its records have already: what was sent before, byte for byte, does not
# count; and as its offset is below one that was acknowledged behind it, so is its end. Two leaders that
# take turns all the time are of two clusters. What is lost of the last second before a leader is replaced, and was
# written with acks=1, is what acks=1 risks at each restart: worth knowing.
RULE = Rule(
    finding="lost-writes",
    title="acknowledged records that are lost",
    when="batches > 0 AND servers >= 2",
    sql=f"""
WITH terms AS (
  SELECT topic, partition, server, min(base_offset) AS lowest, max(base_offset) AS highest, min(ns) AS first_ns
  FROM produced
  WHERE error IS NULL AND base_offset >= 0
  GROUP BY topic, partition, server
),
suspects AS (
  SELECT DISTINCT n.topic, n.partition
  FROM terms n JOIN terms o ON n.topic = o.topic AND n.partition = o.partition AND n.server != o.server
  WHERE n.lowest <= o.highest AND n.first_ns > o.first_ns
),
sent AS (
  SELECT p.topic, p.partition, p.server, b.client_id, b.crc, b.records, p.ns, c.completed_ns, c.acks, p.base_offset,
         p.error,
         row_number() OVER (PARTITION BY p.topic, p.partition, b.crc ORDER BY p.ns) AS attempt
  FROM produced p
  JOIN suspects s ON p.topic = s.topic AND p.partition = s.partition
  JOIN batches b ON {OF_BATCH}
  JOIN calls c ON c.connection = p.connection AND c.correlation_id = p.correlation_id
  WHERE c.api = 'PRODUCE'
),
taken AS (
  SELECT *, lag(server) OVER (PARTITION BY topic, partition ORDER BY completed_ns) AS before,
         max(base_offset) OVER (PARTITION BY topic, partition ORDER BY completed_ns
                                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
  FROM sent
  WHERE base_offset >= 0 AND error IS NULL
),
falls AS (
  SELECT topic, partition, server, before, base_offset, reached, completed_ns
  FROM (
    SELECT *, sum(CASE WHEN server != before THEN 1 ELSE 0 END) OVER (PARTITION BY topic, partition) AS turns
    FROM taken
  ) AS t
  WHERE server != before AND base_offset <= reached AND attempt = 1
    AND turns <= 6
),
again AS (
  SELECT f.topic, f.partition, f.server, f.before, f.base_offset, f.reached, f.completed_ns AS ns,
         count(*) AS batches, sum(t.records) AS records,
         max(t.base_offset + t.records) > f.reached AS goes_beyond,
         max(t.completed_ns) AS last_ns
  FROM falls f
  JOIN taken t
    ON t.topic = f.topic AND t.partition = f.partition AND t.server = f.server AND t.attempt = 1
    AND t.completed_ns >= f.completed_ns AND t.base_offset BETWEEN f.base_offset AND f.reached
  GROUP BY f.topic, f.partition, f.server, f.before, f.base_offset, f.reached, f.completed_ns
),
losses AS (
  SELECT a.topic, a.partition, a.ns, array_agg(DISTINCT w.client_id) AS losers,
         min(w.acks) = 1 AND max(w.completed_ns) - min(w.completed_ns) <= 1000000000 AS is_risked
  FROM again a
  JOIN taken w
    ON w.topic = a.topic AND w.partition = a.partition AND w.completed_ns < a.ns AND w.base_offset >= a.base_offset
  GROUP BY a.topic, a.partition, a.ns
)
SELECT a.topic, concat(a.topic, '-', a.partition) AS partition, b.broker, b.broker_name, o.broker_name AS old_name,
       base_offset, reached, reached - base_offset + 1 AS offsets, batches, records, a.ns AS first_ns,
       last_ns,
       reached - base_offset + 1 AS weight,
       concat(a.before, ' ', a.server) AS cause, losers,
       CASE WHEN is_risked THEN ', written with acks=1 in the last second before' ELSE '' END AS how,
       CASE WHEN is_risked
            THEN concat('write with acks=all (and min.insync.replicas of at least 2) if {{losers}} must not lose ',
                        'the newest records when a leader is replaced; consumers may have read them') END AS advised,
       CASE WHEN is_risked THEN 'info' ELSE 'critical' END AS severity
FROM again a
LEFT JOIN losses l ON l.topic = a.topic AND l.partition = a.partition AND l.ns = a.ns
JOIN brokers b ON b.server = a.server
JOIN brokers o ON o.server = a.before
WHERE batches >= 3 OR goes_beyond
""",
    subject={"partition": "partition", "topic": "topic", "client": "losers", "broker": "broker"},
    evidence=("base_offset", "reached", "offsets", "batches", "records"),
    text="{partition} lost records that had been acknowledged to {losers}: the new leader, broker {broker_name}, gives "
    "offsets {base_offset} to {reached}, which broker {old_name} had given, to {records} other records{how}",
    ruled_out="retries: those batches were sent for the first time",
    advice="the new leader lacked them: acks=all with min.insync.replicas of at least 2, and "
    "unclean.leader.election.enable=false for {topic}; write them again if their source has them; consumers may have "
    "read them",
    see='sql "SELECT partition, p.timestamp, p.server, p.client_id, base_offset FROM produce_partitions p '
    "LEFT JOIN topics USING (topic_id) WHERE coalesce(p.topic, topics.topic) = '{topic}' ORDER BY ALL\" "
    "{files}",
    source="unclean.leader.election.enable, min.insync.replicas; KIP-966",
    explains={"offset-out-of-range": ("topic",)},
    rests_on=("suspects", "falls"),
)
