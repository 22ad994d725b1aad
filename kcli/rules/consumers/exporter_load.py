"""An exporter or admin tool loads the cluster."""

from kcli.rules.prepared import LOOKS, WORK
from kcli.rules.rule import Rule
from kcli.rules.windows import OF_TIME, busy_windows

# One look at a cluster with many groups takes many answers; the work of the other clients shows how much that is. A
# client that is idle between its looks most of the time polls at an interval. Any other client asks as fast as it is
# answered.
RULE = Rule(
    finding="exporter-load",
    title="exporters that load the cluster",
    when="steady_rates AND most_looks >= 100 AND seconds >= 4",
    sql=f"""
WITH admin_requests AS (
  SELECT client_id, ns, api, response_bytes, latency_ms
  FROM calls
  WHERE api IN {LOOKS} AND NOT inner_client
    AND client_id NOT IN (
      SELECT client_id
      FROM calls
      WHERE api IN {WORK}
    )
),
windows AS ({busy_windows("admin_requests", 15)}),
by_client AS (
  SELECT client_id, count(*) AS requests, array_agg(DISTINCT api) AS apis,
         sum(coalesce(response_bytes, 0)) AS response_bytes, greatest((max(ns) - min(ns)) / 1e9, 1) AS seconds,
         min(ns) AS first_ns, max(ns) AS last_ns, max(all_seconds) AS all_seconds,
         sum(latency_ms) / 1e3 AS broker_seconds,
         sum(CASE WHEN ns - before_ns >= 500000000 THEN ns - before_ns ELSE 0 END) / 1e9 AS rested_seconds
  FROM (
    SELECT l.*, all_seconds, lag(ns) OVER (PARTITION BY l.client_id ORDER BY ns) AS before_ns
    FROM admin_requests l JOIN windows w ON l.client_id = w.client_id AND ns BETWEEN from_ns AND to_ns
  ) AS l
  GROUP BY client_id
  HAVING count(*) >= 100
),
all_clients AS (
  SELECT l.client_id, count(*) AS requests, sum(own_ms) / 1e3 AS broker_seconds
  FROM by_client l JOIN timed t ON t.ns BETWEEN l.first_ns AND l.last_ns
  WHERE NOT inner_client
  GROUP BY l.client_id
),
listed AS (
  SELECT client_id, sum(coalesce(response_bytes, 0)) AS response_bytes
  FROM calls
  WHERE api = 'METADATA'
  GROUP BY client_id
),
shared AS (
  SELECT l.*, l.requests / l.seconds AS per_second, 1e2 * l.requests / e.requests AS percent,
         1e2 * l.broker_seconds / nullif(e.broker_seconds, 0) AS percent_of_time,
         greatest(
           1e2 * l.requests / e.requests,
           CASE WHEN l.broker_seconds >= 0.05 * l.seconds
                  THEN 1e2 * l.broker_seconds / nullif(e.broker_seconds, 0) ELSE 0 END
         ) AS share
  FROM by_client l JOIN all_clients e ON l.client_id = e.client_id
)
SELECT l.client_id, l.requests, apis, per_second, l.response_bytes, l.response_bytes / 1e6 AS megabytes, seconds,
       {OF_TIME}, broker_seconds, first_ns, last_ns, percent, percent_of_time, rested_seconds, l.requests AS weight,
       CASE WHEN share >= 25 AND rested_seconds < 0.5 * seconds THEN 'warning'
            ELSE 'info' END AS severity,
       CASE WHEN 2 * m.response_bytes >= l.response_bytes THEN 'metadata-storm' END AS spares
FROM shared l
LEFT JOIN listed m ON l.client_id = m.client_id
WHERE per_second >= 15 AND seconds >= 4 AND share >= 10
""",
    subject={"client": "client_id"},
    evidence=(
        "requests",
        "apis",
        "per_second",
        "response_bytes",
        "broker_seconds",
        "percent",
        "percent_of_time",
        "rested_seconds",
        "seconds",
    ),
    text="{client_id} looks at the cluster {per_second} times a second ({apis}): {requests} requests{of_time}, "
    "{percent} % of all and {percent_of_time} % of the brokers' time, {megabytes} MB",
    ruled_out="real work: it neither reads nor writes records",
    advice="scrape less often; use one request for many groups or topics instead of one for each; leave out "
    "groups and topics that nobody watches",
    see="stats {files} --by client --by api",
    source="kafka.network:RequestMetrics RequestsPerSec",
    explains={"metadata-storm": ("client",), "connection-churn": ("client",)},
    rests_on=("windows",),
)
