"""A client asks for all topics all the time."""

from kcli.rules.prepared import LOOKS
from kcli.rules.rule import Rule
from kcli.rules.sharing import OF_ONE
from kcli.rules.windows import OF_TIME, busy_windows

# An exporter asks for all topics, too. If its other inspecting requests are answered with more than twice the bytes,
# this finding does not explain its exporter-load. A member that subscribes to a pattern asks again and again for as
# long as it waits to join: the group makes it wait.
RULE = Rule(
    finding="metadata-storm",
    title="clients that constantly request the metadata of all topics",
    when="steady_rates AND metadata_requests >= 20",
    sql=f"""
WITH joining AS (
  SELECT coalesce(client_id, '') AS client_id, unix_micros(timestamp) * 1000 AS from_ns, completed_ns
  FROM group_calls
  WHERE api IN ('JOIN_GROUP', 'SYNC_GROUP') AND completed_ns - unix_micros(timestamp) * 1000 >= 1000000000
),
each_ask AS (
  SELECT *
  FROM (
    SELECT coalesce(client_id, '') AS client_id, server, connection, unix_micros(timestamp) * 1000 AS ns, all_topics,
           topics, coalesce(response_bytes, 0) AS response_bytes
    FROM metadata_calls
  ) AS m
  WHERE NOT EXISTS (
    SELECT 1 FROM joining j WHERE j.client_id = m.client_id AND m.ns BETWEEN j.from_ns AND j.completed_ns
  )
),
windows AS ({busy_windows("each_ask", 3)}),
by_connection AS (
  SELECT e.client_id, server, connection, count(*) AS requests,
         sum(CASE WHEN all_topics THEN 1 ELSE 0 END) AS of_all_topics, max(topics) AS topics,
         sum(response_bytes) AS response_bytes, min(ns) AS first_ns, max(ns) AS last_ns
  FROM each_ask e JOIN windows w ON e.client_id = w.client_id AND ns BETWEEN from_ns AND to_ns
  GROUP BY e.client_id, server, connection
),
by_server AS (
  SELECT client_id, server, {OF_ONE} AS of_one, sum(requests) AS requests, sum(of_all_topics) AS of_all_topics,
         max(topics) AS topics, sum(response_bytes) AS response_bytes, min(first_ns) AS first_ns,
         max(last_ns) AS last_ns
  FROM by_connection
  GROUP BY client_id, server
),
by_client AS (
  SELECT client_id, sum(of_one) AS of_one, sum(requests) AS requests, sum(of_all_topics) AS of_all_topics,
         max(topics) AS topics, sum(response_bytes) AS response_bytes, min(first_ns) AS first_ns,
         max(last_ns) AS last_ns, greatest((max(last_ns) - min(first_ns)) / 1e9, 1) AS seconds
  FROM by_server
  GROUP BY client_id
),
meanwhile AS (
  SELECT a.client_id, e.client_id AS other, count(*) AS requests
  FROM by_client a JOIN each_ask e ON e.client_id != a.client_id AND e.ns BETWEEN a.first_ns AND a.last_ns
  GROUP BY a.client_id, e.client_id
)
SELECT a.*, {OF_TIME}, requests / seconds AS per_second, response_bytes / 1e6 AS megabytes, requests AS weight,
       coalesce((SELECT max(requests) FROM meanwhile m WHERE m.client_id = a.client_id), 0) / seconds
         AS others_per_second,
       CASE WHEN 2 * a.response_bytes < (
              SELECT sum(response_bytes) FROM calls c WHERE c.client_id = a.client_id AND c.api IN {LOOKS}
            )
              THEN 'exporter-load' END AS spares
FROM by_client a JOIN windows USING (client_id)
WHERE client_id NOT IN (SELECT client_id FROM inner_clients) AND of_one >= 20 AND of_one / seconds >= 3
  AND of_all_topics >= 0.5 * requests
""",
    subject={"client": "client_id"},
    evidence=("requests", "of_all_topics", "per_second", "topics", "response_bytes", "seconds", "others_per_second"),
    text="{client_id} asks for Metadata {per_second} times a second, {of_all_topics} of {requests} times of all "
    "topics: {topics} topics, {megabytes} MB in {seconds} s{of_time}; others {others_per_second} a second at most",
    absent={
        "leader-moves": "leaders that move",
        "unknown-topic": "topics that do not exist",
        **dict.fromkeys(("broker-restart", "broker-crash", "broker-down"), "brokers that stop"),
    },
    advice="cache the response, request only the needed topics, use a longer metadata.max.age.ms (default 300000); "
    "look for a health check or an exporter",
    see="stats {files} --api Metadata --by client",
    source="metadata.max.age.ms 300000",
    explains={"exporter-load": ("client",)},
    rests_on=("windows",),
)
