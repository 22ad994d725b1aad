"""A quota holds a client back."""

from kcli.rules.rule import Rule
from kcli.rules.windows import OF_TIME, busy_windows

# A quota on request time delays for at most one window (a second), a quota on bytes for as long as needed. A quota on
# changes of topics and partitions delays only the requests that make them.
RULE = Rule(
    finding="throttled",
    title="clients throttled by quotas",
    when="throttled >= 2",
    sql=f"""
WITH client_calls AS (
  SELECT client_id, ns, completed_ns, api, throttle_ms, request_bytes + coalesce(response_bytes, 0) AS bytes
  FROM calls
  WHERE NOT inner_client AND client_id IN (SELECT client_id FROM calls WHERE throttle_ms > 0)
),
windows AS ({busy_windows("client_calls", 50, "sum(throttle_ms)")}),
inside AS (
  SELECT a.*, all_seconds
  FROM client_calls a LEFT JOIN windows w ON a.client_id = w.client_id
  WHERE w.client_id IS NULL OR ns BETWEEN from_ns AND to_ns
),
summed AS (
  SELECT client_id, count(*) AS answers, sum(bytes) AS bytes, max(all_seconds) AS all_seconds,
         greatest((max(completed_ns) - min(ns)) / 1e9, 1) AS seconds
  FROM inside
  GROUP BY client_id
),
held AS (
  SELECT client_id, count(*) AS throttled, sum(throttle_ms) / 1e3 AS throttled_seconds,
         max(throttle_ms) AS longest_ms, percentile_approx(throttle_ms, 0.5) AS median_ms,
         array_agg(DISTINCT api) AS apis, min(ns) AS first_ns, max(ns) AS last_ns,
         max(CASE WHEN api NOT IN ('PRODUCE', 'FETCH') THEN 1 ELSE 0 END) AS others,
         min(CASE WHEN api = 'FETCH' THEN 1 ELSE 0 END) AS only_reads,
         max(CASE WHEN api = 'FETCH' THEN 1 ELSE 0 END) AS reads,
         min(CASE WHEN api IN ('CREATE_TOPICS', 'DELETE_TOPICS', 'CREATE_PARTITIONS') THEN 1
                  ELSE 0 END) AS only_changes,
         sum(CASE WHEN throttle_ms = 1000 THEN 1 ELSE 0 END) AS whole_seconds
  FROM inside
  WHERE throttle_ms > 0
  GROUP BY client_id
)
SELECT client_id, throttled, answers, throttled_seconds, longest_ms, median_ms, apis,
       bytes / seconds AS bytes_per_second, seconds, {OF_TIME},
       CASE WHEN only_changes = 1 THEN 'the partitions it makes and deletes (controller_mutation_rate)'
            WHEN others = 1 OR (longest_ms = 1000 AND whole_seconds >= 2)
              THEN 'its share of request threads (request_percentage)'
            WHEN only_reads = 1 THEN 'the bytes it reads (consumer_byte_rate)'
            WHEN reads = 1 THEN 'the bytes it sends and reads (producer_byte_rate, consumer_byte_rate)'
            ELSE 'the bytes it sends (producer_byte_rate)' END AS quota, first_ns, last_ns, throttled_seconds AS weight,
       CASE WHEN only_changes = 1
            THEN 'raise controller_mutation_rate of {{client_id}} (kafka-configs.sh --entity-type users or clients), '
                 'or have it make and delete fewer partitions at a time' END AS advised
FROM held JOIN summed USING (client_id)
WHERE throttled >= 2
  AND (longest_ms >= 1000
       OR (throttled_seconds >= 0.05 * seconds AND (throttled >= 10 OR coalesce(all_seconds, 0) <= seconds + 1)))
""",
    subject={"client": "client_id"},
    evidence=(
        "throttled",
        "answers",
        "throttled_seconds",
        "median_ms",
        "longest_ms",
        "apis",
        "bytes_per_second",
        "seconds",
    ),
    text="{client_id}: {throttled} responses in {seconds} s{of_time} throttle it, {throttled_seconds} s in all, "
    "up to {longest_ms} ms ({apis}); {bytes_per_second} bytes a second. A quota on {quota}",
    absent={"slow-broker": "a slow broker", "slow-network": "a slow network", "packet-loss": "loss"},
    advice="raise the quota of {client_id} (kafka-configs.sh --entity-type clients or users), "
    "or spread or compress its load",
    see="sql 'SELECT * FROM throttling' {files}",
    source="KIP-13, KIP-124, KIP-219, KIP-599; produce-throttle-time-avg, fetch-throttle-time-avg",
    explains={
        "lagging-consumer": ("client",),
        "request-timeout-too-short": ("client",),
        "slow-reader": ("client",),
        "fetch-limits": ("client",),
    },
)
