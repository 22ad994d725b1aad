"""A client starts anew for each piece of work."""

from kcli.rules.rule import Rule

# Half of the connections tell: a client id may be that of others, too, who stay.
RULE = Rule(
    finding="connection-churn",
    title="connections that are used once",
    when="opened_connections >= 15",
    sql="""
WITH each AS (
  SELECT coalesce(client_id, '') AS client_id, connection, first_ns AS opened_ns, requests,
         (last_ns - first_ns) / 1e9 AS lived
  FROM conns
  WHERE requests > 0 AND opened AND NOT inner_client
)
SELECT client_id, count(*) AS connections,
       count(*) / greatest((max(opened_ns) - min(opened_ns)) / 1e9, 1) AS per_second,
       percentile_approx(requests, 0.5) AS requests_per_connection, percentile_approx(lived, 0.5) AS median_seconds,
       (max(opened_ns) - min(opened_ns)) / 1e9 AS seconds, min(opened_ns) AS first_ns, max(opened_ns) AS last_ns,
       count(*) AS weight
FROM each
GROUP BY client_id
HAVING count(*) >= 15 AND (max(opened_ns) - min(opened_ns)) / 1e9 >= 5
  AND count(*) / greatest((max(opened_ns) - min(opened_ns)) / 1e9, 1) >= 1 AND percentile_approx(requests, 0.5) <= 12
  AND percentile_approx(lived, 0.5) <= 3
""",
    subject={"client": "client_id"},
    evidence=("connections", "per_second", "requests_per_connection", "median_seconds", "seconds"),
    says="{client_id}: {connections} connections in {seconds} s, each with {requests_per_connection} requests and over "
    "after {median_seconds} s",
    ruled_out="refused logins, brokers that close connections",
    advice="keep one producer or consumer for the life of the process; a short script sends its messages with one",
    see="stats {files} --by client --by connection",
    source="connection-creation-rate",
    explains={"metadata-storm": ("client",)},
)
