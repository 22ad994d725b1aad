"""A consumer asks without waiting."""

from kcli.rules.rule import Rule
from kcli.rules.sharing import OF_ONE
from kcli.rules.windows import OF_TIME, busy_windows

# Some clients (franz-go) spin for a moment while a leader moves: half of the seconds have to be busy, near to the mean.
# A broker also answers at once where a client has read up to an end that replicas no longer confirm (KIP-966).
# Clients with less than 30 requests a second, which are most, are left out first: medians are expensive.
RULE = Rule(
    finding="busy-fetch",
    title="a consumer that polls without waiting",
    when="steady_rates AND fetches >= 200",
    sql=f"""
WITH fetching AS (
  SELECT client_id, server, connection, correlation_id, ns, max_wait_ms, latency_ms, min_bytes, failed
  FROM calls
  WHERE api = 'FETCH' AND NOT inner_client AND coalesce(replica_id, -1) < 0 AND response_bytes IS NOT NULL
    AND NOT is_cut
),
often AS ({busy_windows("fetching", 30)}),
filled AS (
  SELECT DISTINCT connection, correlation_id
  FROM fetched f JOIN often o ON f.client_id = o.client_id AND f.ns BETWEEN from_ns AND to_ns
  WHERE records_bytes > 0
),
marked AS (
  SELECT c.*, f.connection IS NULL AS empty
  FROM fetching c
  JOIN often o ON c.client_id = o.client_id AND c.ns BETWEEN from_ns AND to_ns
  LEFT JOIN filled f ON c.connection = f.connection AND c.correlation_id = f.correlation_id
),
windows AS ({busy_windows("(SELECT client_id, ns FROM marked WHERE empty)", 24)}),
in_windows AS (
  SELECT m.*
  FROM marked m JOIN windows w ON m.client_id = w.client_id AND m.ns BETWEEN from_ns AND to_ns
),
of_one AS (
  SELECT client_id, sum(of_one) AS of_one
  FROM (
    SELECT client_id, server, {OF_ONE} AS of_one
    FROM (
      SELECT client_id, server, connection, count(*) AS requests, min(ns) AS first_ns, max(ns) AS last_ns
      FROM in_windows
      GROUP BY client_id, server, connection
    ) AS by_connection
    GROUP BY client_id, server
  ) AS by_server
  GROUP BY client_id
  HAVING sum(of_one) >= 200
),
by_client AS (
  SELECT client_id, count(*) AS fetches, sum(CASE WHEN empty THEN 1 ELSE 0 END) AS empty,
         greatest((max(ns) - min(ns)) / 1e9, 1) AS seconds, min(ns) AS first_ns, max(ns) AS last_ns,
         percentile_approx(max_wait_ms, 0.5) AS max_wait_ms, percentile_approx(latency_ms, 0.5) AS median_ms,
         min(min_bytes) AS min_bytes, sum(CASE WHEN failed THEN 1 ELSE 0 END) AS failed
  FROM in_windows
  WHERE client_id IN (SELECT client_id FROM of_one)
  GROUP BY client_id
  HAVING sum(CASE WHEN failed THEN 1 ELSE 0 END) < 0.2 * count(*)
),
emptied AS (
  SELECT client_id, sum(CASE WHEN empty >= 20 AND empty >= 0.3 * usual THEN 1 ELSE 0 END) AS busy_seconds
  FROM (
    SELECT *, avg(empty) OVER (PARTITION BY client_id) AS usual
    FROM (
      SELECT client_id, floor(ns / 1e9) AS second, sum(CASE WHEN empty THEN 1 ELSE 0 END) AS empty
      FROM in_windows
      GROUP BY 1, 2
    ) AS by_second
  ) AS seconds
  GROUP BY client_id
),
read_topics AS (
  SELECT client_id, array_agg(DISTINCT topic) AS topics
  FROM fetched
  WHERE client_id IN (SELECT client_id FROM of_one) AND topic IS NOT NULL
  GROUP BY client_id
)
SELECT a.client_id, groups, fetches, fetches / seconds AS per_second, a.empty, max_wait_ms, median_ms, min_bytes,
       seconds, {OF_TIME}, first_ns, last_ns, failed, fetches AS weight,
       CASE WHEN min_bytes = 0 THEN 'set fetch.min.bytes to 1 or more: with 0 the broker answers at once'
            WHEN max_wait_ms > 50
              THEN 'find out why the broker answers at once, although it may wait: kcli decode shows the Fetches'
            END AS advised,
       CASE WHEN min_bytes > 0 AND max_wait_ms > 50 THEN topics END AS topics,
       CASE WHEN min_bytes > 0 AND max_wait_ms > 50 THEN NULL ELSE 'under-min-isr' END AS stands
FROM by_client a
JOIN of_one o ON a.client_id = o.client_id
JOIN emptied e ON a.client_id = e.client_id
JOIN often t ON a.client_id = t.client_id
LEFT JOIN client_groups g ON a.client_id = g.client_id
LEFT JOIN read_topics r ON a.client_id = r.client_id
WHERE of_one / seconds >= CASE WHEN max_wait_ms <= 20 THEN 30 ELSE 60 END
  AND (max_wait_ms <= 50 OR median_ms < 0.2 * max_wait_ms)
  AND a.empty >= 0.8 * fetches AND busy_seconds >= 0.5 * seconds
  AND (seconds >= 5 OR seconds >= 0.8 * all_seconds)
""",
    subject={"client": "client_id", "group": "groups"},
    evidence=("fetches", "per_second", "empty", "max_wait_ms", "min_bytes", "median_ms", "seconds", "topics"),
    text="{client_id}: {per_second} Fetches a second over {seconds} s{of_time}, {empty} of {fetches} responses empty; "
    "it lets the broker wait {max_wait_ms} ms",
    ruled_out="errors: {failed} of {fetches} Fetches have one; replication",
    advice="set fetch.max.wait.ms to 500 (the default of most clients), and a larger fetch.min.bytes",
    see="stats {files} --by client --by api",
    source="fetch.max.wait.ms 500, fetch.min.bytes 1; fetch-rate, fetch-size-avg",
    rests_on=("often", "windows"),
)
