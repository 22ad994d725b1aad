"""A consumer works more slowly than the topic grows."""

from kcli.rules.rule import Rule

# As Burrow does it: no threshold, but the course over the whole window. The lag is larger in each third than before,
# the consumer moves on all the time, and the time goes by between its Fetches, not at the broker.
RULE = Rule(
    finding="lagging-consumer",
    title="consumers that fall behind",
    when="largest_lag >= 20",
    sql="""
WITH places AS (SELECT f.client_id, f.topic, f.partition, f.ns, f.fetch_offset, f.high_watermark,
       f.high_watermark - f.fetch_offset AS lag
                FROM fetched f
                WHERE f.fetch_offset >= 0 AND f.high_watermark >= 0 AND f.error IS NULL
                  AND f.client_id NOT IN (SELECT client_id FROM calls WHERE replica_id >= 0)),
     totals AS (SELECT client_id, topic, min(ns) AS first_ns, max(ns) AS last_ns FROM places GROUP BY client_id, topic),
     thirds AS (SELECT p.client_id, p.topic, p.partition,
            CAST(least(floor(3.0 * (p.ns - t.first_ns) / greatest(t.last_ns - t.first_ns, 1)), 2) AS INT) AS third,
                       max(lag) AS lag, max_by(lag, ns) AS end_lag FROM places p JOIN totals t
                              ON p.client_id = t.client_id AND p.topic = t.topic GROUP BY 1, 2, 3, 4),
     summed AS (SELECT client_id, topic, third, sum(end_lag) AS lag FROM thirds GROUP BY client_id, topic, third),
     course AS (SELECT client_id, topic, max(CASE WHEN third = 0 THEN lag END) AS lag_0, max(CASE WHEN third = 1
            THEN lag END) AS lag_1,
                       max(CASE WHEN third = 2 THEN lag END) AS lag_2 FROM summed GROUP BY client_id, topic),
     moved AS (SELECT client_id, topic, sum(last_offset - first_offset) AS read, sum(last_end - first_end) AS grown,
            sum(first_lag) AS first_lag, sum(last_lag) AS last_lag
               FROM (SELECT client_id, topic, partition, min_by(fetch_offset, ns) AS first_offset,
                      max_by(fetch_offset, ns) AS last_offset,
                            min_by(high_watermark, ns) AS first_end, max_by(high_watermark, ns) AS last_end,
                                   min_by(lag, ns) AS first_lag, max_by(lag, ns) AS last_lag
                     FROM places GROUP BY client_id, topic, partition) AS p GROUP BY client_id, topic),
     asks AS (SELECT client_id, latency_ms, (ns - lag(completed_ns) OVER (PARTITION BY connection ORDER BY ns)) / 1e6
            AS pause_ms FROM calls
              WHERE api = 'FETCH' AND NOT inner_client),
     pace AS (SELECT client_id, count(*) AS fetches, percentile_approx(pause_ms, 0.5) AS pause_ms,
            percentile_approx(latency_ms, 0.5) AS latency_ms, sum(greatest(pause_ms, 0)) / 1e3 AS paused_seconds,
                     sum(latency_ms) / 1e3 AS waited_seconds FROM asks GROUP BY client_id)
SELECT m.client_id, m.topic, g.groups, first_lag, last_lag, read, grown, pace.fetches, pace.pause_ms,
       pace.latency_ms, paused_seconds, (t.last_ns - t.first_ns) / 1e9 AS seconds,
       t.first_ns, t.last_ns, last_lag AS weight
FROM moved m JOIN course c ON m.client_id = c.client_id AND m.topic = c.topic JOIN pace ON pace.client_id = m.client_id
JOIN totals t ON t.client_id = m.client_id AND t.topic = m.topic LEFT JOIN client_groups g ON g.client_id = m.client_id
WHERE (t.last_ns - t.first_ns) / 1e9 >= 6 AND pace.fetches >= 4 AND c.lag_0 < c.lag_1 AND c.lag_1 < c.lag_2
       AND last_lag >= 20 AND last_lag > 2 * first_lag + 10
  AND grown > 0 AND read > 0 AND read < 0.9 * grown AND paused_seconds > waited_seconds
""",
    subject={"client": "client_id", "group": "groups", "topic": "topic"},
    evidence=(
        "first_lag",
        "last_lag",
        "read",
        "grown",
        "fetches",
        "pause_ms",
        "latency_ms",
        "paused_seconds",
        "seconds",
    ),
    says="{client_id} falls behind on {topic}: from {first_lag} to {last_lag} records in {seconds} s; it read "
    "{read} while {grown} came, with {pause_ms} ms "
    "between an answer and its next Fetch, and answers in {latency_ms} ms",
    ruled_out="the broker and the line: answers come at once",
    advice="faster processing, less work for each record, more partitions and members",
    see='sql "SELECT timestamp, high_watermark - fetch_offset AS lag FROM fetch_partitions WHERE client_id = '
    "'{client_id}'\" {files}",
    source="records-lag-max; Burrow's rules",
)
