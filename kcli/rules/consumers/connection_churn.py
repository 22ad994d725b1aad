"""A client starts anew for each piece of work."""

from kcli.rules.rule import Rule
from kcli.rules.windows import OF_TIME, busy_windows

# Half of the connections tell: a client id may be that of others, too, who stay.
RULE = Rule(
    finding="connection-churn",
    title="connections that are used once",
    when="opened_connections >= 15",
    sql=f"""
WITH each AS (
  SELECT coalesce(client_id, '') AS client_id, first_ns AS ns, requests, (last_ns - first_ns) / 1e9 AS lived
  FROM conns
  WHERE requests > 0 AND opened AND NOT inner_client
),
windows AS ({busy_windows("each", 1, every=5)}),
summed AS (
  SELECT e.client_id, count(*) AS connections, greatest((max(ns) - min(ns)) / 1e9, 1) AS seconds,
         percentile_approx(requests, 0.5) AS requests_per_connection, percentile_approx(lived, 0.5) AS median_seconds,
         min(ns) AS first_ns, max(ns) AS last_ns
  FROM each e JOIN windows w ON e.client_id = w.client_id AND ns BETWEEN from_ns AND to_ns
  GROUP BY e.client_id
  HAVING count(*) >= 15 AND percentile_approx(requests, 0.5) <= 12 AND percentile_approx(lived, 0.5) <= 3
)
SELECT s.client_id, connections, connections / seconds AS per_second, requests_per_connection, median_seconds, seconds,
       {OF_TIME}, first_ns, last_ns, connections AS weight
FROM summed s JOIN windows w ON s.client_id = w.client_id
WHERE connections >= seconds AND seconds >= CASE WHEN all_seconds > seconds + 1 THEN 10 ELSE 5 END
""",
    subject={"client": "client_id"},
    evidence=("connections", "per_second", "requests_per_connection", "median_seconds", "seconds"),
    says="{client_id}: {connections} connections in {seconds} s{of_time}, each with {requests_per_connection} requests "
    "and over after {median_seconds} s",
    ruled_out="refused logins, brokers that close connections",
    advice="keep one producer or consumer for the life of the process; a short script sends its messages with one",
    see="stats {files} --by client --by connection",
    source="connection-creation-rate",
    explains={"metadata-storm": ("client",)},
)
