"""An exporter or admin tool loads the cluster."""

from kcli.rules.rule import Rule

# Requests that look at the cluster, beside Metadata.
LOOKS = """(
    'LIST_GROUPS', 'DESCRIBE_GROUPS', 'CONSUMER_GROUP_DESCRIBE', 'DESCRIBE_CONFIGS', 'DESCRIBE_LOG_DIRS',
    'OFFSET_FETCH', 'LIST_OFFSETS', 'DESCRIBE_PRODUCERS', 'LIST_TRANSACTIONS', 'DESCRIBE_TRANSACTIONS',
    'DESCRIBE_ACLS', 'DESCRIBE_CLUSTER', 'DESCRIBE_TOPIC_PARTITIONS', 'DESCRIBE_QUORUM',
    'DESCRIBE_CLIENT_QUOTAS', 'DESCRIBE_USER_SCRAM_CREDENTIALS'
  )"""

# A quarter of all requests, or a twentieth of the time at brokers, is a load; less is worth knowing.
RULE = Rule(
    finding="exporter-load",
    title="exporters that load the cluster",
    when="other_requests >= 100 AND seconds >= 4",
    sql=f"""
WITH looks AS (
  SELECT client_id, count(*) AS requests, array_agg(DISTINCT api) AS apis,
         sum(coalesce(response_bytes, 0)) AS response_bytes, greatest((max(ns) - min(ns)) / 1e9, 1) AS seconds,
         min(ns) AS first_ns, max(ns) AS last_ns, sum(latency_ms) / 1e3 AS broker_seconds
  FROM calls
  WHERE api IN {LOOKS} AND NOT inner_client
  GROUP BY client_id
),
works AS (
  SELECT DISTINCT client_id
  FROM calls
  WHERE api IN ('FETCH', 'PRODUCE', 'JOIN_GROUP', 'CONSUMER_GROUP_HEARTBEAT', 'SHARE_FETCH')
),
listed AS (
  SELECT client_id, sum(coalesce(response_bytes, 0)) AS response_bytes
  FROM calls
  WHERE api = 'METADATA'
  GROUP BY client_id
),
everyone AS (
  SELECT count(*) AS requests, sum(coalesce(response_bytes, 0)) AS response_bytes FROM calls WHERE NOT inner_client
)
SELECT l.client_id, l.requests, l.apis, l.requests / l.seconds AS per_second, l.response_bytes,
       l.response_bytes / 1e6 AS megabytes, l.seconds, broker_seconds, first_ns, last_ns,
       100.0 * l.requests / e.requests AS percent, l.requests AS weight,
       CASE WHEN 4 * l.requests >= e.requests OR broker_seconds >= 0.05 * l.seconds THEN 'warning'
            ELSE 'info' END AS severity,
       CASE WHEN 2 * m.response_bytes >= l.response_bytes THEN 'metadata-storm' END AS spares
FROM looks l CROSS JOIN everyone e LEFT JOIN listed m ON m.client_id = l.client_id
WHERE l.client_id NOT IN (SELECT client_id FROM works) AND l.requests >= 100 AND l.requests / l.seconds >= 15
  AND l.seconds >= 4
""",
    subject={"client": "client_id"},
    evidence=("requests", "apis", "per_second", "response_bytes", "broker_seconds", "percent", "seconds"),
    says="{client_id} looks at the cluster {per_second} times a second ({apis}): {requests} requests, "
    "{percent} % of all, {megabytes} MB",
    ruled_out="work: it neither reads nor writes records",
    advice="scrape less often; one request for many groups or topics instead of one each; "
    "leave out groups and topics nobody looks at",
    see="stats {files} --by client --by api",
    source="kafka.network:RequestMetrics RequestsPerSec",
    explains={"metadata-storm": ("client",), "connection-churn": ("client",)},
)
