"""A broker misses batches of an idempotent producer."""

from kcli.rules.rule import CRITICAL, Rule

RULE = Rule(
    finding="sequence-gap",
    title="gaps in the sequence of idempotent producers",
    severity=CRITICAL,
    when="errors LIKE '%,OUT_OF_ORDER_SEQUENCE_NUMBER,%' OR errors LIKE '%,UNKNOWN_PRODUCER_ID,%'",
    sql="""
WITH refused AS (
  SELECT client_id, topic, partition, ns, error, server
  FROM produced
  WHERE error IN ('OUT_OF_ORDER_SEQUENCE_NUMBER', 'UNKNOWN_PRODUCER_ID')
),
moved AS (
  SELECT client_id, topic, partition, min(ns) AS moved_ns
  FROM produced
  WHERE error = 'NOT_LEADER_OR_FOLLOWER'
  GROUP BY client_id, topic, partition
)
SELECT r.client_id, r.topic, array_agg(DISTINCT concat(r.topic, '-', r.partition)) AS partitions, count(*) AS refused,
       array_agg(DISTINCT error) AS errors, (max(ns) - min(ns)) / 1e9 AS seconds, min(ns) AS first_ns,
       max(ns) AS last_ns, count(*) AS weight,
       CASE WHEN min(m.moved_ns) < max(ns) THEN 'after its leader moved' ELSE 'without a leader that moved' END AS moved
FROM refused r LEFT JOIN moved m ON r.client_id = m.client_id AND r.topic = m.topic AND r.partition = m.partition
GROUP BY r.client_id, r.topic
HAVING count(*) >= 4 AND (max(ns) - min(ns)) / 1e9 >= 1
""",
    subject={"client": "client_id", "topic": "topic", "partition": "partitions"},
    evidence=("refused", "errors", "moved", "seconds"),
    says="{topic} misses batches of {client_id}: {refused} times {errors} in {seconds} s, {moved}",
    ruled_out="a single answer, which a retry mends",
    advice="records may be lost: an unclean leader election, or records deleted (retention) before the producer's next "
    "batch; check unclean.leader.election.enable and the producer's log; restart the producer",
    see="decode pcap {files} --client {client_id} --errors=OUT_OF_ORDER_SEQUENCE_NUMBER",
    source="KIP-98, KIP-360; enable.idempotence, max.in.flight.requests.per.connection 5",
    explains={"errors-again": ("client",)},
)
