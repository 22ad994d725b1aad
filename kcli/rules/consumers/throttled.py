"""A quota holds a client back."""

from kcli.rules.rule import Rule

# A quota on requests' time holds back for one window (a second) at most, quotas on bytes for as long as it takes.
RULE = Rule(
    finding="throttled",
    title="quotas that hold clients back",
    when="throttled >= 2",
    sql="""
WITH held AS (
  SELECT client_id, count(*) AS throttled, sum(throttle_ms) / 1e3 AS throttled_seconds, max(throttle_ms) AS longest_ms,
         percentile_approx(throttle_ms, 0.5) AS median_ms, array_agg(DISTINCT api) AS apis, min(ns) AS first_ns,
         max(ns) AS last_ns, count(DISTINCT CASE WHEN api NOT IN ('PRODUCE', 'FETCH') THEN api END) AS other_apis,
         sum(CASE WHEN throttle_ms = 1000 THEN 1 ELSE 0 END) AS whole_seconds
  FROM calls
  WHERE throttle_ms > 0 AND NOT inner_client
  GROUP BY client_id
),
asked AS (
  SELECT client_id, count(*) AS answers, sum(request_bytes + coalesce(response_bytes, 0)) AS bytes,
         greatest((max(completed_ns) - min(ns)) / 1e9, 1) AS seconds
  FROM calls
  WHERE NOT inner_client
  GROUP BY client_id
)
SELECT client_id, throttled, answers, throttled_seconds, longest_ms, median_ms, apis,
       bytes / seconds AS bytes_per_second, seconds,
       CASE WHEN other_apis > 0 OR (longest_ms = 1000 AND whole_seconds >= 2)
              THEN 'its share of request threads (request_percentage)'
            WHEN apis = array_agg('FETCH') OVER (PARTITION BY client_id) THEN 'the bytes it reads (consumer_byte_rate)'
            ELSE 'the bytes it sends (producer_byte_rate)' END AS quota, first_ns, last_ns, throttled_seconds AS weight
FROM held JOIN asked USING (client_id)
WHERE throttled >= 2 AND (throttled_seconds >= 0.05 * seconds OR longest_ms >= 1000)
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
    says="{client_id}: {throttled} answers tell it to wait, {throttled_seconds} s in all, "
    "up to {longest_ms} ms ({apis}); {bytes_per_second} bytes a second. A quota on {quota}",
    ruled_out="a slow broker, the line",
    advice="raise the quota of {client_id} (kafka-configs.sh --entity-type clients or users), "
    "or spread or compress its load",
    see="sql 'SELECT * FROM throttling' {files}",
    source="KIP-13, KIP-124, KIP-219; produce-throttle-time-avg, fetch-throttle-time-avg",
    explains={
        "lagging-consumer": ("client",),
        "request-timeout-too-short": ("client",),
        "slow-reader": ("client",),
        "fetch-limits": ("client",),
    },
)
