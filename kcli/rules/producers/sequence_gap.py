"""A broker misses batches of an idempotent producer."""

from kcli.rules.prepared import OF_BATCH
from kcli.rules.rule import CRITICAL, Rule

# If the batch before was accepted, a batch refused as out of order is the next in sequence: then the batch before is
# lost, and one refusal is enough. Where a batch is refused for another reason (the leader moved, or the markers of the
# last transaction are still being written), those in flight behind it are out of order; the client sends them again,
# and the leader accepts them. If nothing is known of earlier batches, refusals that go on count, unless the leader has
# just moved or the same batch was accepted later. A leader that does not know the producer accepts any sequence number:
# if it refuses the first batch and accepts the second one, the first is out of order forever.
JUST_MOVED = 10_000_000_000  # ns
RULE = Rule(
    finding="sequence-gap",
    title="gaps in the sequence of idempotent producers",
    severity=CRITICAL,
    when="errors LIKE '%,OUT_OF_ORDER_SEQUENCE_NUMBER,%' OR errors LIKE '%,UNKNOWN_PRODUCER_ID,%'",
    sql=f"""
WITH refused AS (
  SELECT p.client_id, p.topic, p.partition, p.ns, p.error, b.producer_id, b.producer_epoch, b.base_sequence
  FROM produced p
  LEFT JOIN batches b ON {OF_BATCH}
  WHERE error IN ('OUT_OF_ORDER_SEQUENCE_NUMBER', 'UNKNOWN_PRODUCER_ID')
),
accepted_batches AS (
  SELECT p.topic, p.partition, p.ns, p.base_offset, b.records, b.producer_id, b.producer_epoch, b.base_sequence
  FROM produced p
  JOIN batches b ON {OF_BATCH}
  WHERE error IS NULL AND p.base_offset >= 0 AND p.topic IN (SELECT topic FROM refused)
),
followed AS (
  SELECT r.client_id, r.topic, r.partition, r.ns, max(t.ns) AS before_ns, max(t.base_offset + t.records) AS end_offset,
         max(CASE WHEN (t.base_sequence + t.records) % 2147483648 = r.base_sequence THEN 1 ELSE 0 END) = 1
         AND r.error = 'OUT_OF_ORDER_SEQUENCE_NUMBER' AS proven,
         min(t.base_sequence) > r.base_sequence AND r.error = 'OUT_OF_ORDER_SEQUENCE_NUMBER' AS overtaken
  FROM refused r
  JOIN accepted_batches t
    ON t.topic = r.topic AND t.partition = r.partition AND t.producer_id = r.producer_id
    AND t.producer_epoch = r.producer_epoch AND t.ns < r.ns
  GROUP BY r.client_id, r.topic, r.partition, r.ns, r.base_sequence, r.error
),
set_back AS (
  SELECT client_id, topic, partition, max(end_offset) - min_by(t.base_offset, t.ns) AS back
  FROM followed f JOIN accepted_batches t USING (topic, partition)
  WHERE proven AND t.ns > f.ns
  GROUP BY client_id, topic, partition
),
moved AS (
  SELECT r.client_id, r.topic, r.partition, r.ns, max(p.ns) AS moved_ns
  FROM refused r JOIN produced p ON p.client_id = r.client_id AND p.topic = r.topic AND p.partition = r.partition
  WHERE p.error = 'NOT_LEADER_OR_FOLLOWER' AND p.ns < r.ns
  GROUP BY r.client_id, r.topic, r.partition, r.ns
),
sent_again AS (
  SELECT r.client_id, r.topic, r.partition, r.ns
  FROM refused r
  JOIN accepted_batches t USING (topic, partition, producer_id, producer_epoch, base_sequence)
  WHERE t.ns > r.ns
  GROUP BY r.client_id, r.topic, r.partition, r.ns
),
classified AS (
  SELECT r.client_id, r.topic, r.partition, r.ns, r.error, f.proven,
         coalesce(f.overtaken, false) AND a.ns IS NULL AS overtaken,
         coalesce(r.ns - m.moved_ns < {JUST_MOVED}, false) OR a.ns IS NOT NULL AS by_the_way
  FROM refused r
  LEFT JOIN sent_again a
    ON a.client_id = r.client_id AND a.topic = r.topic AND a.partition = r.partition AND a.ns = r.ns
  LEFT JOIN followed f
    ON f.client_id = r.client_id AND f.topic = r.topic AND f.partition = r.partition AND f.ns = r.ns
  LEFT JOIN moved m
    ON m.client_id = r.client_id AND m.topic = r.topic AND m.partition = r.partition AND m.ns = r.ns
),
concerned AS (
  SELECT *, bool_or(coalesce(proven, false) OR NOT by_the_way) OVER (PARTITION BY client_id, topic, partition) AS counts
  FROM classified
)
SELECT client_id, topic, array_agg(DISTINCT concat(topic, '-', partition)) AS partitions, count(*) AS refused,
       array_agg(DISTINCT error) AS errors, (max(ns) - min(ns)) / 1e9 AS seconds, min(ns) AS first_ns,
       max(ns) AS last_ns,
       count(*) + CASE WHEN bool_or(coalesce(proven, false)) THEN 10000 ELSE 0 END AS weight, -- records are gone
       l.lost,
       CASE WHEN l.lost IS NULL THEN '' ELSE concat('; offsets went back by ', format_number(l.lost, 0)) END AS back,
       CASE WHEN NOT bool_or(coalesce(proven, false)) AND bool_or(overtaken)
            THEN 'the refused records are lost when delivery.timeout.ms of {{client_id}} ends (default 120000, in '
                 'librdkafka 300000): send them again; with max.in.flight.requests.per.connection 1 no batch '
                 'overtakes another'
            END AS advised,
       CASE WHEN bool_or(coalesce(proven, false)) THEN 'the batch before was accepted, and is gone'
            WHEN bool_or(overtaken) THEN 'later batches were accepted before, so no retry is'
            ELSE 'without a leader that moved' END AS how
FROM concerned t
LEFT JOIN (
  SELECT client_id, topic, sum(back) AS lost
  FROM set_back
  WHERE back > 0
  GROUP BY client_id, topic
) AS l USING (client_id, topic)
WHERE counts
GROUP BY client_id, topic, l.lost
HAVING bool_or(coalesce(proven, false))
  OR (sum(CASE WHEN (proven IS NULL OR overtaken) AND NOT by_the_way THEN 1 ELSE 0 END) >= 4
      AND (max(ns) - min(ns)) / 1e9 >= 1)
""",
    subject={"client": "client_id", "topic": "topic", "partition": "partitions"},
    evidence=("refused", "errors", "how", "lost", "seconds"),
    text="{topic} misses batches of {client_id}: {refused} refused ({errors}), {how}{back}",
    ruled_out="batches that overtook each other, which a retry repairs",
    advice="records may be lost: an unclean leader election, or records deleted (retention) before the producer's next "
    "batch; check unclean.leader.election.enable and the producer's log; restart the producer",
    see="decode pcap {files} --client {client_id} --errors={errors}",
    source="KIP-98, KIP-360; enable.idempotence, max.in.flight.requests.per.connection 5",
    # it tells by how much the offsets went back, too
    explains={"errors-again": ("client",), "lost-writes": ("client", "topic")},
)
