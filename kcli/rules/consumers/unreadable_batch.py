"""A batch that an old client can't read."""

from kcli.rules.rule import CRITICAL, Rule

# A Fetch before version 3 gets no batch that is larger than its limit, and before version 10 (clients before 2.1) its
# client may not know zstd. A broker rejects such a Fetch if it knows the topic's compression, but sends batches that a
# producer compressed by its own choice. Some libraries know zstd although they use old versions; these read on.
RULE = Rule(
    finding="unreadable-batch",
    title="batches that an old client can't read",
    severity=CRITICAL,
    when="errors LIKE '%,UNSUPPORTED_COMPRESSION_TYPE,%' OR early_fetches >= 1",
    sql="""
WITH early AS (
  SELECT f.*
  FROM fetched f JOIN clients k ON f.client_id = k.client_id
  WHERE f.api_version < 10
),
too_large AS (
  SELECT client_id, topic, partition, fetch_offset AS base_offset, count(*) AS times, max(max_bytes) AS max_bytes,
         max(api_version) AS api_version, min(ns) AS first_ns, max(ns) AS last_ns
  FROM early
  WHERE api_version < 3 AND asked AND answered AND error IS NULL AND fetch_offset >= 0
    AND high_watermark > fetch_offset AND last_offset IS NULL AND max_bytes > 0
  GROUP BY client_id, topic, partition, fetch_offset
  HAVING count(*) >= 5 AND max(ns) - min(ns) >= 3000000000
),
compressed AS (
  SELECT e.client_id, e.topic, e.partition, min_by(b.base_offset, struct(b.ns, b.base_offset)) AS base_offset,
         min_by(b.last_offset, struct(b.ns, b.base_offset)) AS last_offset, min(b.ns) AS ns,
         max(e.api_version) AS api_version
  FROM early e
  JOIN batches b
    ON b.connection = e.connection AND b.correlation_id = e.correlation_id AND b.topic = e.topic
    AND b.partition = e.partition
  WHERE b.api = 'FETCH' AND b.compression = 'zstd'
  GROUP BY e.client_id, e.topic, e.partition
),
halted AS (
  SELECT z.client_id, z.topic, z.partition, z.base_offset, z.ns, z.api_version, count(f.ns) + 1 AS times
  FROM compressed z
  LEFT JOIN early f
    ON f.client_id = z.client_id AND f.topic = z.topic AND f.partition = z.partition AND f.asked AND f.ns > z.ns
  JOIN clients k ON k.client_id = z.client_id
  GROUP BY z.client_id, z.topic, z.partition, z.base_offset, z.last_offset, z.ns, z.api_version
  HAVING coalesce(max(f.fetch_offset) <= z.last_offset, true) AND max(k.last_ns) - z.ns >= 5000000000
),
sizes AS (
  SELECT t.client_id, t.topic, t.partition, max(b.size_in_bytes) AS bytes
  FROM too_large t JOIN batches b ON b.topic = t.topic AND b.partition = t.partition
  WHERE t.base_offset BETWEEN b.base_offset AND b.last_offset
  GROUP BY t.client_id, t.topic, t.partition
),
stops AS (
  SELECT t.client_id, t.topic, t.partition, t.base_offset, t.times, t.api_version, max_bytes, s.bytes, 1 AS kind,
         first_ns, last_ns
  FROM too_large t
  LEFT JOIN sizes s ON s.client_id = t.client_id AND s.topic = t.topic AND s.partition = t.partition
  WHERE coalesce(s.bytes > t.max_bytes, true)
  UNION ALL
  SELECT client_id, topic, partition, base_offset, times, api_version, NULL, NULL, 2, ns, ns FROM halted
  UNION ALL
  SELECT client_id, topic, partition, max(fetch_offset), count(*), max(api_version), NULL, NULL, 3, min(ns),
         max(ns)
  FROM early
  WHERE error = 'UNSUPPORTED_COMPRESSION_TYPE'
  GROUP BY client_id, topic, partition
  HAVING count(*) >= 2
)
SELECT s.client_id, concat(kind, s.client_id) AS cause, s.topic, groups,
       array_agg(DISTINCT concat(s.topic, '-', partition)) AS partitions,
       sum(times) AS times, min_by(base_offset, struct(first_ns, partition)) AS base_offset,
       max(api_version) AS api_version, max(max_bytes) AS max_bytes, max(bytes) AS bytes,
       min(first_ns) AS first_ns, max(last_ns) AS last_ns,
       sum(times) AS weight,
       concat(min_by(concat(s.topic, '-', partition), struct(first_ns, partition)),
              coalesce(concat(' at offset ', min_by(base_offset, struct(first_ns, partition))), '')) AS place,
       CASE kind WHEN 1 THEN concat('it gets nothing, as the batch', coalesce(concat(' of ', max(bytes), ' bytes'), ''),
                                    ' is larger than the ', max(max_bytes), ' bytes that it allows')
                 WHEN 2 THEN 'it got a batch in zstd, and never asked for more'
                 ELSE 'UNSUPPORTED_COMPRESSION_TYPE, as the topic is in zstd' END AS why,
       CASE kind WHEN 1 THEN 'an empty partition: the log continues after that offset'
                 WHEN 2 THEN 'a batch that a later Fetch passes' ELSE '' END AS not_so,
       CASE WHEN kind = 1
            THEN 'raise max.partition.fetch.bytes (fetch.message.max.bytes in librdkafka and consumers before 0.9) of '
                 '{client_id} above the largest batch; clients from 0.10.1 on get one batch whatever its size'
            END AS advised
FROM stops s LEFT JOIN client_groups g ON s.client_id = g.client_id
GROUP BY s.client_id, s.topic, groups, kind
""",
    subject={"client": "client_id", "topic": "topic", "partition": "partitions", "group": "groups"},
    evidence=("times", "base_offset", "api_version", "max_bytes", "bytes"),
    text="{client_id} stops at {place}: {why} (Fetch {api_version}, {times} responses)",
    ruled_out="{not_so}",
    advice="upgrade {client_id} to a library that reads zstd (Java 2.1, librdkafka 1.0 built with zstd), or have the "
    "topic's producers use another compression.type: what is written stays in zstd",
    see="decode pcap {files} --client {client_id} --api Fetch",
    source="KIP-110 (zstd, Fetch 10), KIP-74 (Fetch 3)",
    explains=dict.fromkeys(("busy-fetch", "consumer-stuck", "errors-again", "lagging-consumer"), ("client",)),
)
