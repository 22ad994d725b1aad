"""A producer sends each record alone."""

from kcli.rules.rule import Rule
from kcli.rules.sharing import OF_ONE
from kcli.rules.windows import OF_TIME, busy_windows

# A producer that ends a transaction for each record has nothing that linger.ms could put together. A producer whose
# records wait longer than an answer takes, from their timestamp to their request, has a linger.ms already: its records
# are spread over too many partitions to fill a batch. If other connections of the same client id write larger batches,
# only connections with hardly more than one record in each count.
RULE = Rule(
    finding="tiny-batches",
    title="a producer sends each record alone",
    when="steady_rates AND produces >= 200",
    sql=f"""
WITH windows AS ({busy_windows("(SELECT client_id, ns FROM calls WHERE api = 'PRODUCE' AND NOT inner_client)", 90)}),
sent AS (
  SELECT c.client_id, server, connection, count(*) AS requests, min(ns) AS first_ns, max(ns) AS last_ns,
         sum(request_bytes) AS bytes, sum(CASE WHEN failed THEN 1 ELSE 0 END) AS refused,
         sum(latency_ms) AS waited_ms, count(latency_ms) AS answers
  FROM calls c JOIN windows w ON c.client_id = w.client_id AND ns BETWEEN from_ns AND to_ns
  WHERE api = 'PRODUCE' AND NOT inner_client
  GROUP BY c.client_id, server, connection
),
fast AS (
  SELECT client_id
  FROM sent
  GROUP BY client_id
  HAVING sum(requests) >= 200 AND sum(requests) / greatest((max(last_ns) - min(first_ns)) / 1e9, 1) >= 90
    AND sum(refused) < 0.2 * sum(requests)
),
held AS (
  SELECT b.client_id, connection, sum(records) AS records,
         sum(CASE WHEN compression = 'none' THEN 1 ELSE 0 END) AS plain, count(*) AS batches,
         avg(ns / 1e6 - max_timestamp) AS wait_ms, count(DISTINCT partition) AS partitions
  FROM batches b JOIN windows w ON b.client_id = w.client_id AND ns BETWEEN from_ns AND to_ns
  WHERE api = 'PRODUCE' AND b.client_id IN (SELECT client_id FROM fast)
  GROUP BY b.client_id, connection
),
filled AS (
  SELECT s.*, records, plain, batches, wait_ms, partitions,
         sum(records) OVER (PARTITION BY client_id) / sum(requests) OVER (PARTITION BY client_id) AS usual_records
  FROM sent s JOIN held USING (client_id, connection)
),
by_server AS (
  SELECT client_id, server, {OF_ONE} AS of_one, sum(requests) AS requests, sum(bytes) AS bytes,
         sum(records) AS records, sum(plain) AS plain, sum(batches) AS batches, sum(refused) AS refused,
         sum(waited_ms) AS waited_ms, sum(answers) AS answers, min(first_ns) AS first_ns, max(last_ns) AS last_ns,
         min(wait_ms) AS wait_ms, max(partitions) AS partitions
  FROM filled
  WHERE usual_records < 2 OR records / requests < 1.5
  GROUP BY client_id, server
),
summed AS (
  SELECT client_id, sum(requests) AS requests, sum(of_one) AS of_one, sum(bytes) AS bytes, sum(records) AS records,
         sum(plain) AS plain, sum(batches) AS batches, sum(refused) AS refused,
         sum(waited_ms) / nullif(sum(answers), 0) AS mean_ms, min(first_ns) AS first_ns, max(last_ns) AS last_ns,
         min(wait_ms) AS wait_ms, sum(partitions) AS partitions,
         greatest((max(last_ns) - min(first_ns)) / 1e9, 1) AS seconds
  FROM by_server
  GROUP BY client_id
)
SELECT client_id, requests, requests / seconds AS per_second, records / requests AS records_per_request,
       bytes / requests AS bytes_per_request, plain / batches AS uncompressed_share, refused, mean_ms, seconds, wait_ms,
       partitions,
       {OF_TIME}, first_ns, last_ns, requests AS weight, transactions,
       CASE WHEN 2 * transactions >= requests THEN ', hardly more in a transaction' ELSE '' END AS in_transactions,
       concat_ws('; ', CASE WHEN refused < 0.01 * requests
                              THEN concat('leaders that move: ', CAST(refused AS BIGINT), ' were refused') END,
                 CASE WHEN mean_ms < 50 THEN concat('slow responses: they take ', round(mean_ms, 1), ' ms') END
       ) AS not_so,
       CASE WHEN 2 * transactions >= requests
            THEN concat('put more records into a transaction, commit by time or number: ',
                        'each commit sends what there is, whatever linger.ms says')
            WHEN partitions >= 4 AND wait_ms BETWEEN 4 AND 1000 AND wait_ms > 2 * mean_ms
            THEN concat('by their timestamps, records wait ', CAST(round(wait_ms) AS BIGINT), ' ms already ',
                        '(linger.ms), but are spread over ', partitions, ' partitions: a longer linger.ms, no key or ',
                        'a sticky partitioner where order does not matter, fewer partitions or producers; ',
                        'compression.type lz4 or zstd')
            WHEN wait_ms BETWEEN 4 AND 1000
            THEN concat('by their timestamps, records wait ', CAST(round(wait_ms) AS BIGINT), ' ms already, for ',
                        'linger.ms or for earlier answers: a linger.ms well above that, or fewer partitions and ',
                        'producers; compression.type lz4 or zstd; send without waiting for each record')
            END AS advised
FROM summed JOIN windows USING (client_id)
LEFT JOIN (
  SELECT client_id, count(*) AS transactions FROM calls WHERE api = 'END_TXN' AND NOT inner_client GROUP BY client_id
) AS t USING (client_id)
WHERE of_one >= 200 AND of_one / seconds >= 90
""",
    subject={"client": "client_id"},
    evidence=(
        "requests",
        "per_second",
        "records_per_request",
        "bytes_per_request",
        "uncompressed_share",
        "seconds",
        "refused",
        "mean_ms",
        "transactions",
    ),
    text="{client_id}: {per_second} Produce requests a second with {records_per_request} records each "
    "({bytes_per_request} bytes), {requests} in {seconds} s{of_time}{in_transactions}",
    ruled_out="{not_so}",
    advice="set linger.ms 5 to 50, batch.size 64 kB or more, compression.type lz4 or zstd; "
    "send without waiting for each record",
    see="stats {files} --by client --by api",
    source="linger.ms (0, since 4.0 5), batch.size 16384; record-queue-time-avg, records-per-request-avg",
    explains={"queued-requests": ("client",)},
    rests_on=("windows",),
)
