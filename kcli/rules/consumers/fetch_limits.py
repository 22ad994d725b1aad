"""A consumer's fetch limits hold it back."""

from kcli.rules.rule import Rule

# A broker sends all records that it has. So a response after which records of a partition remain has reached the
# client's limit, for the partition or for the whole response. A pause between two Fetches, less the round trip, is the
# client's. The clients with enough such responses are chosen first: they are few, and the rest of the query is
# expensive.
RULE = Rule(
    finding="fetch-limits",
    title="fetch limits that are reached while records wait",
    when="clocks_apart_ms = 0 AND filled_fetches >= 20 AND seconds >= 3",
    sql="""
WITH waiting AS (
  SELECT client_id
  FROM fetched
  WHERE records_bytes > 0 AND high_watermark - last_offset > 100
  GROUP BY client_id, topic
  HAVING count(*) >= 8
),
answers AS (
  SELECT f.client_id, topic, partition, f.ns, max_bytes, records_bytes,
         sum(records_bytes) OVER (PARTITION BY connection, correlation_id) AS whole_bytes,
         CASE WHEN isolation_level = 1 AND last_stable_offset >= 0 THEN least(high_watermark, last_stable_offset)
              ELSE high_watermark END - last_offset - 1 AS behind
  FROM fetched f JOIN calls c USING (connection, correlation_id)
  WHERE records_bytes > 0 AND last_offset IS NOT NULL AND high_watermark >= 0 AND coalesce(replica_id, -1) < 0
    AND f.client_id IN (SELECT client_id FROM waiting)
),
bounded AS (
  SELECT *, coalesce(max_bytes <= 262144 AND records_bytes >= 0.7 * max_bytes, false) AS by_partition FROM answers
),
full_answers AS (SELECT *, behind > 0 AND (by_partition OR whole_bytes <= 262144) AS at_limit FROM bounded),
course AS (
  SELECT client_id, topic, sum(first_behind) AS first_behind, sum(last_behind) AS last_behind,
         sum(most_behind) AS most_behind
  FROM (
    SELECT client_id, topic, partition, min_by(behind, ns) AS first_behind, max_by(behind, ns) AS last_behind,
           max(behind) AS most_behind
    FROM full_answers
    GROUP BY client_id, topic, partition
  ) AS p
  GROUP BY client_id, topic
),
summed AS (
  SELECT client_id, topic, count(*) AS answers, sum(CASE WHEN at_limit THEN 1 ELSE 0 END) AS limited,
         min(CASE WHEN at_limit THEN ns END) AS first_ns, max(CASE WHEN at_limit THEN ns END) AS last_ns,
         percentile_approx(CASE WHEN at_limit THEN behind END, 0.5) AS usual_behind,
         max(CASE WHEN at_limit AND by_partition THEN max_bytes END) AS max_bytes, max(max_bytes) AS asked_bytes,
         percentile_approx(CASE WHEN at_limit THEN whole_bytes END, 0.5) AS bytes_per_answer,
         greatest((max(ns) - min(ns)) / 1e9, 0.001) AS seconds
  FROM full_answers
  GROUP BY client_id, topic
),
pace AS (
  SELECT client_id, sum(greatest(pause_ms - coalesce(ack_ms, s_rtt_min_ms, 0), 0)) / 1e3
                      / count(DISTINCT connection) AS paused_seconds
  FROM (
    SELECT client_id, connection, (ns - lag(completed_ns) OVER (PARTITION BY connection ORDER BY ns)) / 1e6 AS pause_ms
    FROM calls
    WHERE api = 'FETCH' AND client_id IN (SELECT client_id FROM summed WHERE limited >= 20)
  ) AS asks
  LEFT JOIN (SELECT connection, ack_ms, s_rtt_min_ms FROM tcp) AS t USING (connection)
  GROUP BY client_id
)
SELECT s.client_id, s.client_id AS cause, s.topic, g.groups, answers, limited, first_behind, last_behind, max_bytes,
       bytes_per_answer, most_behind, usual_behind, seconds, paused_seconds, s.first_ns, s.last_ns, limited AS weight,
       CASE WHEN max_bytes IS NULL AND asked_bytes > 262144 THEN 'fetch.max.bytes, its own or the broker''s'
            WHEN max_bytes IS NULL THEN 'fetch.max.bytes, or max.partition.fetch.bytes'
            ELSE concat('max.partition.fetch.bytes is ', max_bytes) END AS setting,
       CASE WHEN max_bytes IS NULL AND asked_bytes > 262144
            THEN 'raise fetch.max.bytes of {client_id} (default 52428800); if it asks for more than it gets, that of '
                 'the broker (default 57671680)'
            WHEN max_bytes IS NULL
            THEN 'raise max.partition.fetch.bytes (default 1048576) and fetch.max.bytes (default 52428800) of '
                 '{client_id}'
            ELSE concat('raise max.partition.fetch.bytes of {client_id} (here ', max_bytes, ', default 1048576)')
            END AS advised,
       CASE WHEN last_behind > first_behind OR most_behind > 2 * first_behind THEN 'warning' ELSE 'info' END AS severity
FROM summed s
JOIN course c ON s.client_id = c.client_id AND s.topic = c.topic
JOIN pace p ON s.client_id = p.client_id
LEFT JOIN client_groups g ON s.client_id = g.client_id
WHERE limited >= 20 AND limited >= 0.6 * answers AND seconds >= 3 AND usual_behind > 100
  AND paused_seconds < 0.3 * seconds
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
    text="{client_id} gets {topic} in small pieces: {limited} of {answers} responses are as large as it allows "
    "({bytes_per_answer} bytes; {setting}), with {usual_behind} records waiting after them, up to {most_behind}",
    ruled_out="slow processing: of {seconds} s it pauses {paused_seconds} s between a response and its next Fetch",
    advice="{advised}",
    see='sql "SELECT timestamp, topic, partition, max_bytes, records_bytes, high_watermark FROM fetch_partitions '
    "WHERE client_id = '{client_id}'\" {files}",
    source="max.partition.fetch.bytes 1048576, fetch.max.bytes 52428800; KIP-74",
    explains={"lagging-consumer": ("client",)},
    rests_on=("waiting",),
)
