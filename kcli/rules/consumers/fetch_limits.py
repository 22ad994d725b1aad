"""A consumer's fetch limits hold it back."""

from kcli.rules.rule import Rule

RULE = Rule(
    finding="fetch-limits",
    title="fetch limits that are reached while records wait",
    when="filled_fetches >= 20 AND seconds >= 3",
    sql="""
WITH full_answers AS (
  SELECT f.client_id, f.topic, f.partition, f.ns, f.connection, f.correlation_id, f.records_bytes, f.max_bytes,
         f.high_watermark - f.last_offset - 1 AS behind,
         f.records_bytes >= 0.7 * f.max_bytes OR f.records_bytes > f.max_bytes AS at_limit
  FROM fetched f
  WHERE f.records_bytes > 0 AND f.max_bytes > 0 AND f.last_offset IS NOT NULL AND f.high_watermark >= 0
),
summed AS (
  SELECT client_id, topic, count(*) AS answers, sum(CASE WHEN at_limit AND behind > 0 THEN 1 ELSE 0 END) AS limited,
         min_by(behind, ns) AS first_behind, max_by(behind, ns) AS last_behind, max(behind) AS most_behind,
         min(CASE WHEN at_limit AND behind > 0 THEN ns END) AS first_ns,
         max(CASE WHEN at_limit AND behind > 0 THEN ns END) AS last_ns,
         percentile_approx(CASE WHEN at_limit THEN behind END, 0.5) AS usual_behind, max(max_bytes) AS max_bytes,
         avg(records_bytes) AS bytes_per_answer, greatest((max(ns) - min(ns)) / 1e9, 0.001) AS seconds
  FROM full_answers
  GROUP BY client_id, topic
),
pace AS (
  SELECT client_id, sum(greatest(pause_ms, 0)) / 1e3 AS paused_seconds
  FROM (
    SELECT client_id, (ns - lag(completed_ns) OVER (PARTITION BY connection ORDER BY ns)) / 1e6 AS pause_ms
    FROM calls
    WHERE api = 'FETCH' AND client_id IN (SELECT client_id FROM summed WHERE limited >= 20)
  ) AS asks
  GROUP BY client_id
)
SELECT s.client_id, s.topic, g.groups, answers, limited, first_behind, last_behind, max_bytes, bytes_per_answer,
       most_behind, usual_behind, seconds, s.first_ns, s.last_ns, limited AS weight,
       CASE WHEN last_behind > first_behind OR most_behind > 2 * first_behind THEN 'warning' ELSE 'info' END AS severity
FROM summed s JOIN pace p ON s.client_id = p.client_id LEFT JOIN client_groups g ON s.client_id = g.client_id
WHERE s.client_id NOT IN (SELECT client_id FROM inner_clients) AND limited >= 20 AND limited >= 0.6 * answers
  AND seconds >= 3 AND max_bytes <= 262144 AND usual_behind > 100 AND paused_seconds < 0.3 * seconds
""",
    subject={"client": "client_id", "topic": "topic", "group": "groups"},
    evidence=(
        "answers",
        "limited",
        "max_bytes",
        "bytes_per_answer",
        "first_behind",
        "last_behind",
        "usual_behind",
        "most_behind",
        "seconds",
    ),
    says="{client_id} gets {topic} in small pieces: {limited} of {answers} answers are as large as it allows "
    "({max_bytes} bytes), with {usual_behind} records left behind them, up to {most_behind}",
    ruled_out="processing: it asks again at once",
    advice="raise max.partition.fetch.bytes (1048576) and fetch.max.bytes (52428800) of {client_id}",
    see='sql "SELECT timestamp, topic, partition, max_bytes, records_bytes, high_watermark FROM fetch_partitions '
    "WHERE client_id = '{client_id}'\" {files}",
    source="max.partition.fetch.bytes 1048576, fetch.max.bytes 52428800; KIP-74",
    explains={"lagging-consumer": ("client",)},
)
