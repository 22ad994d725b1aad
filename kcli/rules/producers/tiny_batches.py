"""A producer sends each record alone."""

from kcli.rules.rule import Rule

RULE = Rule(
    finding="tiny-batches",
    title="a producer sends each record alone",
    when="produces >= 200",
    sql="""
WITH sent AS (
  SELECT client_id, count(*) AS requests, min(ns) AS first_ns, max(ns) AS last_ns,
         greatest((max(ns) - min(ns)) / 1e9, 1) AS seconds, sum(request_bytes) AS bytes
  FROM calls
  WHERE api = 'PRODUCE' AND NOT inner_client
  GROUP BY client_id
),
held AS (
  SELECT client_id, sum(records) AS records, sum(size_in_bytes) AS record_bytes,
         sum(CASE WHEN compression = 'none' THEN 1 ELSE 0 END) AS plain, count(*) AS batches
  FROM batches
  WHERE api = 'PRODUCE'
  GROUP BY client_id
)
SELECT client_id, requests, requests / seconds AS per_second, records / requests AS records_per_request,
       bytes / requests AS bytes_per_request, plain / batches AS uncompressed_share, seconds, s.first_ns, s.last_ns,
       requests AS weight,
       (
         SELECT min(o.records / o2.requests)
         FROM held o JOIN sent o2 USING (client_id)
         WHERE o.client_id != s.client_id AND o2.requests >= 10
       ) AS others_records_per_request
FROM sent s JOIN held h USING (client_id)
WHERE requests >= 200 AND requests / seconds >= 90 AND records / requests < 2
""",
    subject={"client": "client_id"},
    evidence=("requests", "per_second", "records_per_request", "bytes_per_request", "uncompressed_share", "seconds"),
    says="{client_id}: {per_second} Produce requests a second with {records_per_request} records each "
    "({bytes_per_request} bytes), {requests} in {seconds} s",
    ruled_out="leaders that move, slow answers",
    advice="set linger.ms 5 to 50, batch.size 64 kB or more, compression.type lz4 or zstd; "
    "send without waiting for each record",
    see="stats {files} --by client --by api",
    source="linger.ms (0, since 4.0 5), batch.size 16384; record-queue-time-avg, records-per-request-avg",
)
