"""Batches whose bytes do not give their checksum."""

from kcli.rules.prepared import OF_BATCH
from kcli.rules.rule import CRITICAL, OF_TOPIC, Rule

# Only whole batches have a checksum: the last one of an answer, cut at the limit of the Fetch, and those whose packets
# are missing are no rows. If the same broker sends the batch whole later, it was damaged on its way. A reader that
# does not compare checksums reads on. So does, for what is known, one whose damaged answer came at the end. A broker
# refuses what is damaged: batches that it accepts were damaged in the capture alone.
RULE = Rule(
    finding="corrupt-record",
    title="batches with a wrong checksum",
    severity=CRITICAL,
    when="wrong_batches > 0 OR errors LIKE '%,CORRUPT_MESSAGE,%'",
    sql=f"""
WITH damaged AS (
  SELECT c.client_id, c.server, c.ns, c.inner_client, b.topic, b.partition, b.base_offset, b.last_offset,
         b.size_in_bytes
  FROM batches b JOIN calls c ON c.connection = b.connection AND c.correlation_id = b.correlation_id
  WHERE NOT b.crc_valid AND b.api != 'PRODUCE'
),
intact AS (
  SELECT DISTINCT d.server, d.topic, d.partition, d.base_offset
  FROM damaged d
  JOIN batches b
    ON b.topic = d.topic AND b.partition = d.partition AND b.base_offset = d.base_offset
    AND b.last_offset = d.last_offset AND b.crc_valid AND b.api != 'PRODUCE' AND b.ns > d.ns
  JOIN calls c ON c.connection = b.connection AND c.correlation_id = b.correlation_id AND c.server = d.server
),
asked AS (
  SELECT d.client_id, d.topic, d.partition, d.base_offset, max(f.fetch_offset) > max(d.last_offset) AS read_on,
         max(t.last_ns) - max(d.ns) >= 5000000000 OR count(f.ns) > 0 AS seen
  FROM damaged d
  LEFT JOIN fetched f
    ON f.client_id = d.client_id AND f.topic = d.topic AND f.partition = d.partition AND f.ns > d.ns AND f.asked
  LEFT JOIN stretches t ON d.ns BETWEEN t.first_ns AND t.last_ns
  GROUP BY d.client_id, d.topic, d.partition, d.base_offset
),
halted AS (
  SELECT topic, array_agg(DISTINCT client_id) AS clients FROM asked WHERE seen AND NOT coalesce(read_on, false)
  GROUP BY topic
),
read AS (
  SELECT d.topic, d.server, count(DISTINCT concat(d.partition, ' ', d.base_offset)) AS batches, count(*) AS times,
         array_agg(DISTINCT concat(d.topic, '-', d.partition)) AS partitions, array_agg(DISTINCT client_id) AS clients,
         min_by(d.partition, d.ns) AS partition, min_by(d.base_offset, d.ns) AS base_offset,
         min_by(last_offset, d.ns) AS last_offset, min_by(size_in_bytes, d.ns) AS bytes,
         min(CASE WHEN w.server IS NULL THEN 0 ELSE 1 END) = 1 AS on_the_way, bool_or(inner_client) AS by_followers,
         min(ns) AS first_ns, max(ns) AS last_ns
  FROM damaged d
  LEFT JOIN intact w
    ON w.server = d.server AND w.topic = d.topic AND w.partition = d.partition AND w.base_offset = d.base_offset
  GROUP BY d.topic, d.server
),
sent AS (
  SELECT p.client_id, p.topic, p.partition, p.ns, b.size_in_bytes, coalesce(NOT b.crc_valid, false) AS wrong,
         coalesce(p.error, '') = 'CORRUPT_MESSAGE' AS refused
  FROM produced p LEFT JOIN batches b ON {OF_BATCH}
  WHERE p.error = 'CORRUPT_MESSAGE' OR (NOT b.crc_valid AND (p.error IS NOT NULL OR NOT p.answered))
),
written AS (
  SELECT client_id, topic, count(*) AS batches, sum(CASE WHEN refused THEN 1 ELSE 0 END) AS refused,
         array_agg(DISTINCT concat(topic, '-', partition)) AS partitions, max(size_in_bytes) AS bytes,
         bool_or(wrong) AS wrong, min(ns) AS first_ns, max(ns) AS last_ns
  FROM sent
  GROUP BY client_id, topic
  HAVING sum(CASE WHEN refused THEN 1 ELSE 0 END) > 0 OR count(*) > 1
)
SELECT r.topic, concat(r.server, CASE WHEN on_the_way THEN ' whole' ELSE '' END) AS cause, r.partitions,
       coalesce(h.clients, r.clients) AS clients, b.broker, batches, times, base_offset, last_offset, bytes,
       CAST(NULL AS BIGINT) AS refused, 'wrong' AS checksum, h.clients IS NOT NULL AS halted,
       concat(r.topic, '-', partition, ' at offset ', base_offset) AS place,
       concat(times, CASE WHEN times = 1 THEN ' time' ELSE ' times' END, ' from broker ', b.broker_name,
              CASE WHEN on_the_way THEN ', whole later' ELSE '' END) AS how,
       CASE WHEN h.clients IS NOT NULL THEN 'it stops' ELSE 'read by' END AS did,
       CASE WHEN on_the_way
            THEN 'the broker has it whole: look at what lies between it and {{clients}} (a proxy, a network card)'
            ELSE 'look at the disk and the memory of the broker; kcli decode segment FOLDER --verify (or '
                 'kafka-dump-log.sh) finds the batch in the log. Where another replica has it whole, make that the '
                 'leader, and let this broker copy the partition again; else have readers seek to {{next_offset}}'
       END AS advised,
       last_offset + 1 AS next_offset, first_ns, last_ns, times AS weight,
       CASE WHEN h.clients IS NULL AND NOT by_followers THEN 'warning' ELSE 'critical' END AS severity,
       concat_ws(',', CASE WHEN h.clients IS NULL THEN 'consumer-stuck,lagging-consumer,errors-again,busy-fetch,'
                           'connection-churn,rebalance-storm' END,
                 CASE WHEN NOT by_followers THEN 'under-min-isr' END) AS spares
FROM read r JOIN brokers b ON r.server = b.server LEFT JOIN halted h ON r.topic = h.topic
UNION ALL
SELECT topic, concat(client_id, CASE WHEN wrong THEN ' wrong' ELSE ' right' END), partitions, split(client_id, '[|]'),
       NULL, batches, NULL, NULL, NULL, bytes, refused,
       CASE WHEN wrong THEN 'wrong' ELSE 'right' END, false, topic,
       CASE WHEN refused = 0 THEN 'not answered'
            ELSE concat(refused, CASE WHEN wrong THEN '' ELSE ' all the same' END, ' refused (CORRUPT_MESSAGE)') END,
       'sent by',
       CASE WHEN wrong THEN 'look at the library and the memory of {{clients}}, and at what lies between (a proxy that '
                            'changes batches)'
            ELSE 'brokers before 2.4 say so of records without a key, too, if the topic is compacted; else look at '
                 'what lies between here and the broker, and at the broker''s log' END,
       NULL, first_ns, last_ns, batches, 'critical', 'consumer-stuck,lagging-consumer,busy-fetch,under-min-isr'
FROM written
""",
    subject={"topic": "topic", "partition": "partitions", "broker": "broker", "client": "clients"},
    evidence=("batches", "times", "base_offset", "last_offset", "bytes", "refused", "checksum", "halted"),
    text="{place}: {batches} batches whose checksum is {checksum}, {how}; {did} {clients}",
    ruled_out="batches that the limit of a Fetch cuts, and those whose packets are missing",
    advice="{advised}",
    see='sql "SELECT api, client_id, partition, base_offset, last_offset, size_in_bytes FROM record_batches p '
    f'{OF_TOPIC} AND NOT crc_valid ORDER BY timestamp LIMIT 20" {{files}}',
    source="DefaultRecordBatch.ensureValid; check.crcs (true in Java, false in librdkafka)",
    explains={
        "consumer-stuck": ("client",),
        "lagging-consumer": ("client",),
        "errors-again": ("client",),
        "busy-fetch": ("client",),
        "connection-churn": ("client",),
        "rebalance-storm": ("client",),
        "under-min-isr": ("topic",),
    },
)
