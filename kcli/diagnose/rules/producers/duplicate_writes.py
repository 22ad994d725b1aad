"""A producer without idempotence writes records twice as it retries."""

from kcli.diagnose.rule import Rule

RULE = Rule(
    finding="duplicate-writes",
    title="records written twice by retries",
    when="plain_batches >= 2",
    sql="""
WITH taken AS (SELECT b.client_id, b.topic, b.partition, b.crc, b.size_in_bytes, b.records, b.ns, b.connection,
       b.correlation_id,
                      p.base_offset, p.answered AND p.error IS NULL AS written
               FROM batches b JOIN produced p ON p.connection = b.connection AND p.correlation_id = b.correlation_id
                 AND p.topic = b.topic AND p.partition = b.partition
               WHERE b.api = 'PRODUCE' AND b.producer_id < 0 AND b.max_timestamp > 0),
     twice AS (SELECT client_id, topic, partition, crc, count(*) AS sent, max(records) AS records,
                      sum(CASE WHEN written THEN 1 ELSE 0 END) AS written FROM taken
               GROUP BY client_id, topic, partition, crc, size_in_bytes
               HAVING count(*) > 1 AND count(DISTINCT concat(connection, correlation_id)) > 1)
SELECT client_id, topic, count(*) AS batches, sum((written - 1) * records) AS records, sum(written - 1) AS weight,
       array_agg(DISTINCT concat(topic, '-', partition)) AS partitions
FROM twice WHERE written >= 2 AND topic IS NOT NULL
GROUP BY client_id, topic HAVING count(*) >= 3
""",
    subject={"client": "client_id", "topic": "topic", "partition": "partitions"},
    evidence=("batches", "records"),
    says="{client_id} wrote {batches} batches to {topic} more than once as it tried again, byte for byte ({records} "
    "records too many): "
    "it has no producer id",
    ruled_out="records that are alike: time stamps and checksums are the same",
    advice="enable.idempotence true (the default of Java since 3.0; librdkafka needs it set); a delivery timeout "
    "above what "
    "answers take",
    see="sql \"SELECT crc, count(*) FROM record_batches WHERE api = 'PRODUCE' GROUP BY crc HAVING count(*) > 1\" "
    "{files}",
    source="enable.idempotence; KIP-98",
)
