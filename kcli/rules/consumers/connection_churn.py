"""A client opens a new connection for each piece of work."""

from kcli.rules.prepared import CLIENT_END, SERVER_END, WORK
from kcli.rules.rule import NOT_KAFKA, Rule
from kcli.rules.windows import OF_TIME, busy_windows

# Half of the connections have to be short: other processes with the same client id may keep theirs. Clients without an
# id of their own get a number from their library (Java's producer-1, producer-2): many such ids that end soon are one
# program. A job with several clients, or a test, opens many connections at once. If it is idle most of the time, its
# starts count: there has to be one every few seconds. In TLS without keys nobody knows the client ids: all connections
# of a host whose handshake succeeded count together. They may be many programs that each connect once, so that is an
# info.
LISTED = 20
RULE = Rule(
    finding="connection-churn",
    title="connections that are used once",
    when="steady_rates AND opened_connections >= 15",
    sql=f"""
WITH opened AS (
  SELECT coalesce(client_id, '') AS own_id, regexp_replace(coalesce(client_id, ''), '[0-9]+$', '') AS stem,
         first_ns AS ns, requests, (last_ns - first_ns) / 1e9 AS lived,
         coalesce({SERVER_END} < coalesce({CLIENT_END}, last_ns + 1), false) AS cut,
         (max(last_ns) OVER (PARTITION BY client_id) - min(first_ns) OVER (PARTITION BY client_id)) / 1e9 AS there
  FROM conns
  WHERE requests > 0 AND opened AND NOT inner_client
),
sealed AS (
  SELECT host, first_ns AS ns, (last_ns - first_ns) / 1e9 AS lived,
         coalesce({SERVER_END} < coalesce({CLIENT_END}, last_ns + 1), false) AS cut
  FROM conns
  WHERE requests IS NULL AND opened AND c_first_bytes LIKE '16%' AND s_first_bytes LIKE '16%'
    AND c_alert IS NULL AND s_alert IS NULL AND c_data_segments >= 3
),
kinds AS (SELECT stem FROM opened WHERE own_id != stem GROUP BY stem HAVING count(DISTINCT own_id) >= 15),
each AS (
  SELECT CASE WHEN k.stem IS NULL THEN own_id ELSE k.stem END AS client_id, own_id, ns, requests, cut,
         CASE WHEN k.stem IS NULL THEN lived ELSE there END AS lived, CAST(NULL AS STRING) AS host
  FROM opened o LEFT JOIN kinds k ON o.stem = k.stem AND own_id != k.stem
  UNION ALL
  SELECT concat('TLS of ', host), '', ns, 1, cut, lived, host FROM sealed
),
names AS (
  SELECT client_id, count(*) AS ids, array_agg(own_id) FILTER (WHERE place <= {LISTED} AND own_id != '') AS clients
  FROM (
    SELECT client_id, own_id, row_number() OVER (PARTITION BY client_id ORDER BY min(ns), own_id) AS place
    FROM each
    GROUP BY client_id, own_id
  ) AS n
  GROUP BY client_id
),
works AS (
  SELECT DISTINCT e.client_id
  FROM (SELECT DISTINCT client_id, own_id FROM each) AS e
  JOIN (SELECT DISTINCT client_id FROM calls WHERE api IN {WORK}) AS c ON e.own_id = c.client_id
),
windows AS ({busy_windows("each", 1, every=5)}),
summed AS (
  SELECT e.client_id, count(*) AS connections, greatest((max(ns) - min(ns)) / 1e9, 1) AS seconds,
         sum(CASE WHEN calm_ns > 1500000000 THEN calm_ns ELSE 0 END) / 1e9 AS calm_seconds,
         sum(CASE WHEN calm_ns > 1500000000 THEN 1 ELSE 0 END) AS starts,
         percentile_approx(requests, 0.5) AS requests_per_connection, percentile_approx(lived, 0.5) AS median_seconds,
         min(ns) AS first_ns, max(ns) AS last_ns, max(all_seconds) AS all_seconds, max(host) AS host,
         sum(CASE WHEN cut THEN 1 ELSE 0 END) AS cut
  FROM (SELECT *, ns - lag(ns) OVER (PARTITION BY client_id ORDER BY ns) AS calm_ns FROM each) AS e
  JOIN windows w ON e.client_id = w.client_id AND ns BETWEEN from_ns AND to_ns
  GROUP BY e.client_id
  HAVING count(*) >= 15 AND percentile_approx(requests, 0.5) <= 12 AND percentile_approx(lived, 0.5) <= 3
)
SELECT clients, host, CASE WHEN ids > 1 THEN ids END AS ids,
       CASE WHEN ids > 1 THEN concat(' (', ids, ' client ids, a new one each time)') ELSE '' END AS of_ids,
       connections, connections / seconds AS per_second,
       CASE WHEN host IS NULL THEN requests_per_connection END AS requests_per_connection, median_seconds, seconds,
       {OF_TIME}, first_ns, last_ns, connections AS weight,
       CASE WHEN cut = 0 THEN 'brokers that close connections: they end none of these'
            WHEN cut < 0.1 * connections THEN concat('brokers that close connections: they ended ', cut, ' of these')
            ELSE '' END AS not_so,
       CASE WHEN host IS NOT NULL
            THEN '{{host}}: {{connections}} connections in {{seconds}} s{{of_time}}, in TLS without keys (of clients '
                 'that nobody knows), each closed after {{median_seconds}} s' END AS sentence,
       CASE WHEN host IS NOT NULL
            THEN 'find the program on {{host}} (ss -tnp; the broker''s log has refused logins, which look the same): '
                 'it should keep one producer or consumer for its life; --key-log FILE shows its requests'
            WHEN k.client_id IS NULL
            THEN 'keep one admin client for the life of the process; a script should ask for all that it wants with one'
            END AS advised,
       CASE WHEN host IS NOT NULL
            THEN '{NOT_KAFKA.replace("'", "''")}' END AS look, host IS NOT NULL AS hidden,
       CASE WHEN host IS NULL THEN 'warning' ELSE 'info' END AS severity
FROM summed s JOIN names n ON s.client_id = n.client_id LEFT JOIN works k ON s.client_id = k.client_id
WHERE connections >= seconds AND (calm_seconds < 0.6 * seconds OR 3 * starts >= seconds)
  AND seconds >= CASE WHEN all_seconds > seconds + 1 THEN 10 ELSE 5 END
""",
    subject={"client": "clients", "host": "host"},
    evidence=("connections", "ids", "per_second", "requests_per_connection", "median_seconds", "seconds"),
    text="{clients}{of_ids}: {connections} connections in {seconds} s{of_time}, each with {requests_per_connection} "
    "requests and closed after {median_seconds} s",
    ruled_out="{not_so}",
    absent={"auth-failure": "refused logins"},
    advice="keep one producer or consumer for the life of the process; a short script should send all its "
    "records with one",
    see="stats {files} --by client --by connection",
    source="connection-creation-rate",
    explains={"metadata-storm": ("client",)},
    rests_on=("windows",),
)
