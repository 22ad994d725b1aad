"""A producer without idempotence writes records twice as it retries."""

from kcli.rules.prepared import OF_BATCH
from kcli.rules.rule import OF_TOPIC, Rule

# The same batch is written twice, byte for byte. Or, if the client packs records anew, offsets grow by more than all
# producers' answered batches. Each such jump is at most as many records as the client sent just before in requests that
# nobody answered: the broker had written these, too. A request whose answer is missing in the capture does not count as
# unanswered. A batch that is sent again though the client had its answer is no retry.
RULE = Rule(
    finding="duplicate-writes",
    title="records written twice by retries",
    when="plain_batches >= 2 AND (unsure_produces > 0 OR longest_produce_ms >= 500)",
    sql=f"""
WITH repeated AS (
  SELECT client_id, topic, partition, crc, size_in_bytes
  FROM batches
  WHERE api = 'PRODUCE' AND producer_id < 0 AND max_timestamp > 0
  GROUP BY client_id, topic, partition, crc, size_in_bytes
  HAVING min(connection) != max(connection) OR min(correlation_id) != max(correlation_id)
),
unanswered AS (
  SELECT p.connection, p.correlation_id, p.topic, p.partition
  FROM produced p LEFT JOIN heard h ON p.connection = h.connection
  WHERE NOT answered AND acks != 0 AND p.ns > coalesce(h.ns, 0)
),
suspects AS (
  SELECT topic, partition FROM repeated UNION SELECT topic, partition FROM unanswered
),
sent AS (
  SELECT b.client_id, b.topic, b.partition, b.crc, b.size_in_bytes, b.records, b.ns, b.connection, b.correlation_id,
         b.producer_id, b.max_timestamp, p.base_offset, p.answered AND p.error IS NULL AS written
  FROM batches b
  JOIN suspects s ON b.topic = s.topic AND b.partition = s.partition
  JOIN produced p ON {OF_BATCH}
),
without_producer_id AS (SELECT * FROM sent WHERE producer_id < 0 AND max_timestamp > 0),
copies AS (
  SELECT t.client_id, t.topic, t.partition, t.crc, t.records, t.ns, t.written,
         t.ns > lag(CASE WHEN t.written AND coalesce(k.c_fin_ns, k.c_rst_ns, c.completed_ns) >= c.completed_ns
                         THEN c.completed_ns END)
                  OVER (PARTITION BY t.client_id, t.topic, t.partition, t.crc ORDER BY t.ns) AS anew
  FROM without_producer_id t
  JOIN repeated r
    ON r.client_id = t.client_id AND r.topic = t.topic AND r.partition = t.partition AND r.crc = t.crc
    AND r.size_in_bytes = t.size_in_bytes
  JOIN calls c ON c.connection = t.connection AND c.correlation_id = t.correlation_id
  LEFT JOIN tcp k ON k.connection = t.connection
),
twice AS (
  SELECT client_id, topic, partition, crc, max(records) AS records, min(ns) AS first_ns, max(ns) AS last_ns,
         sum(CASE WHEN written AND NOT coalesce(anew, false) THEN 1 ELSE 0 END) AS written
  FROM copies
  GROUP BY client_id, topic, partition, crc
),
lost AS (
  SELECT t.client_id, t.topic, t.partition, t.ns, t.records
  FROM without_producer_id t
  JOIN unanswered u
    ON u.connection = t.connection AND u.correlation_id = t.correlation_id AND u.topic = t.topic
    AND u.partition = t.partition
),
steps AS (
  SELECT client_id, topic, partition, ns, producer_id, base_offset - lag(base_offset + records) OVER w AS jump,
         lag(ns) OVER w AS before_ns
  FROM sent
  WHERE written AND base_offset >= 0
  WINDOW w AS (PARTITION BY topic, partition ORDER BY base_offset)
),
jumps AS (
  SELECT s.client_id, s.topic, s.partition, s.ns, max(s.jump) AS jump, coalesce(sum(l.records), 0) AS lost
  FROM steps s
  LEFT JOIN lost l
    ON l.client_id = s.client_id AND l.topic = s.topic AND l.partition = s.partition
    AND l.ns BETWEEN s.before_ns - 30000000000 AND s.ns
  WHERE s.jump > 0 AND s.producer_id < 0
  GROUP BY s.client_id, s.topic, s.partition, s.ns
),
grown AS (
  SELECT client_id, topic, partition, count(*) AS batches, sum(jump) AS records, min(ns) AS first_ns, max(ns) AS last_ns
  FROM jumps
  GROUP BY client_id, topic, partition
  HAVING min(lost - jump) >= 0
),
found AS (
  SELECT client_id, topic, partition, count(*) AS batches, sum((written - 1) * records) AS records,
         min(first_ns) AS began_ns, max(last_ns) AS ended_ns, 'byte for byte' AS how
  FROM twice
  WHERE written >= 2
  GROUP BY client_id, topic, partition
  UNION ALL
  SELECT client_id, topic, partition, batches, records, first_ns, last_ns,
         'after requests without a response, which the broker wrote all the same'
  FROM grown
)
SELECT client_id, client_id AS cause, topic, sum(batches) AS batches, sum(records) AS records,
       sum(batches) AS weight, max(how) AS how,
       min(began_ns) AS first_ns, max(ended_ns) AS last_ns,
       CASE WHEN max(how) != 'byte for byte'
            THEN 'decode pcap {{files}} --client {{client_id}} --api Produce --where "latency_ms IS NULL"' END AS look,
       CASE WHEN max(how) = 'byte for byte' THEN 'records that are only similar: timestamps and checksums are equal'
            ELSE 'other writers: the offsets that no response names are at most as many as its unanswered records'
            END AS not_so,
       array_agg(DISTINCT concat(topic, '-', partition)) AS partitions
FROM found
WHERE topic IS NOT NULL
GROUP BY client_id, topic
HAVING sum(batches) >= 3
""",
    subject={"client": "client_id", "topic": "topic", "partition": "partitions"},
    evidence=("batches", "records"),
    text="{client_id} wrote records to {topic} twice by retries, {batches} times, {how} ({records} records too "
    "many): it has no producer id",
    ruled_out="{not_so}",
    advice="set enable.idempotence to true (the default of Java since 3.0; librdkafka needs it set), and a "
    "delivery timeout above the time that responses take",
    see='sql "SELECT client_id, partition, crc, count(*) AS copies, min(p.timestamp) AS first, max(p.timestamp) AS '
    f"last FROM record_batches p {OF_TOPIC} AND client_id = '{{client_id}}' AND api = 'PRODUCE' GROUP BY ALL "
    'HAVING count(*) > 1 ORDER BY first" {files}',
    source="enable.idempotence; KIP-98",
    rests_on=("suspects",),
)
