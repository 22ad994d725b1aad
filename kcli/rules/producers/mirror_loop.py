"""A client writes to a topic what it has read from the topic."""

from kcli.rules.prepared import OF_BATCH
from kcli.rules.rule import CRITICAL, Rule

# Two mirrors that keep the topic's name send each other what the other one has sent. Each round keeps the timestamps,
# so that many batches are the same, byte for byte. A client may write equal batches for other reasons: what was read
# before it is written again goes round. A retry is sent before the answer has come.
RULE = Rule(
    finding="mirror-loop",
    title="records that are mirrored in a loop",
    severity=CRITICAL,
    when="plain_batches >= 30 AND fetches >= 20",
    sql=f"""
WITH often AS (
  SELECT client_id, topic, partition, crc, size_in_bytes
  FROM batches
  WHERE api = 'PRODUCE' AND producer_id < 0 AND topic IS NOT NULL
  GROUP BY client_id, topic, partition, crc, size_in_bytes
  HAVING count(*) >= 3
),
read AS (
  SELECT b.topic, b.crc, min(b.ns) AS ns
  FROM batches b JOIN (SELECT DISTINCT topic, crc FROM often) AS o ON b.topic = o.topic AND b.crc = o.crc
  WHERE b.api = 'FETCH' AND b.client_id NOT IN (SELECT client_id FROM inner_clients)
  GROUP BY b.topic, b.crc
),
copies AS (
  SELECT b.client_id, b.topic, b.partition, b.crc, b.records, b.ns,
         b.ns > lag(CASE WHEN p.answered AND p.error IS NULL THEN c.completed_ns END)
                  OVER (PARTITION BY b.client_id, b.topic, b.partition, b.crc ORDER BY b.ns) AND b.ns > r.ns AS anew
  FROM batches b
  JOIN often o
    ON o.client_id = b.client_id AND o.topic = b.topic AND o.partition = b.partition AND o.crc = b.crc
    AND o.size_in_bytes = b.size_in_bytes
  JOIN produced p ON {OF_BATCH}
  JOIN calls c ON c.connection = b.connection AND c.correlation_id = b.correlation_id
  JOIN read r ON r.topic = b.topic AND r.crc = b.crc
),
rounds AS (
  SELECT client_id, topic, crc, sum(CASE WHEN anew THEN 1 ELSE 0 END) AS rounds, max(records) AS records,
         min(ns) AS first_ns, max(ns) AS last_ns
  FROM copies
  GROUP BY client_id, topic, partition, crc
)
SELECT client_id, topic, count(*) AS batches, max(rounds) AS rounds, sum(rounds * records) AS records,
       sum(rounds) AS weight, (max(last_ns) - min(first_ns)) / 1e9 AS seconds, min(first_ns) AS first_ns,
       max(last_ns) AS last_ns
FROM rounds
WHERE rounds >= 2
GROUP BY client_id, topic
HAVING count(*) >= 10
""",
    rests_on=("often", "read"),
    subject={"client": "client_id", "topic": "topic"},
    evidence=("batches", "rounds", "records", "seconds"),
    text="{client_id} writes to {topic} what was read from {topic}: {batches} batches, byte for byte, up to {rounds} "
    "times more ({records} records in {seconds} s): they go round in a circle",
    ruled_out="retries: each was answered before it was sent again",
    advice="stop one direction of the mirror; let names tell where records come from (DefaultReplicationPolicy), or "
    "mirror other topics each way (topics, topics.exclude); then remove the copies",
    see="stats {files} --by client --by topic",
    source="replication.policy.class of MirrorMaker 2; KIP-382",
    explains={
        "duplicate-writes": ("client", "topic"),
        "tiny-batches": ("client",),
        "hot-partition": ("topic",),
        "lagging-consumer": ("topic",),
        "fetch-limits": ("topic",),
    },
)
