"""A consumer works more slowly than the topic grows."""

from kcli.rules.rule import Rule

SLOWER = """last_lag >= 20 AND last_lag - first_lag >= least(first_lag + 10, greatest(0.25 * grown, 50)) AND grown > 0
    AND read > 0 AND read < 0.9 * grown"""
# As in Burrow there is no threshold: the lag's course over the whole window decides. The lag grows from each third of
# the window to the next, the consumer moves on all the time, and the time passes between its Fetches, not at the broker
# nor on the network. A partition that was not fetched in a third counts with the records produced until its next Fetch,
# in proportion; one that a fetch session carries is fetched at its last offset. A consumer that fetches ahead
# (librdkafka, sarama) falls behind by its commits, for each group separately, and a share group by what its members
# acknowledge. If clients that share an id read one partition at once, each connection has its own course. A produced
# record counts from its answer on, because readers do not see it before; for readers with read_committed it counts
# when its transaction ends. Records that came since the last commit may have been read. A client that works off one
# partition after the other (franz-go) ends the commits of one early: the next commit is missing, or (max_by of DuckDB
# skips nulls) is the last one itself. Most readers are left out first, because the rest of the query is expensive:
# those that end less than 20 records behind, stand still, or read a topic that does not grow; and then those that
# keep up from their first to their last known offset. A slow broker does not explain a consumer that reads less than
# 40 % of the records on several brokers.
RULE = Rule(
    finding="lagging-consumer",
    title="consumers that fall behind",
    when="seconds >= 6 AND (largest_lag >= 20 OR commit_requests >= 3 OR apis LIKE '%,SHARE_FETCH,%')",
    sql=f"""
WITH last_reads AS (
  SELECT client_id, topic, partition, max(high_watermark) AS up_to,
         max_by(high_watermark - fetch_offset, CASE WHEN fetch_offset >= 0 AND high_watermark >= 0 THEN ns END) AS lag,
         min(CASE WHEN high_watermark >= 0 THEN high_watermark END) AS first_up_to,
         max(fetch_offset) > min(CASE WHEN fetch_offset >= 0 THEN fetch_offset END) AS moves
  FROM fetched
  WHERE error IS NULL
  GROUP BY client_id, topic, partition
),
last_ends AS (
  SELECT topic, partition, max(up_to) AS up_to
  FROM (
    SELECT topic, partition, up_to FROM last_reads
    UNION ALL
    SELECT topic, partition, max(base_offset) FROM produced GROUP BY topic, partition
  ) AS e
  WHERE up_to >= 0
  GROUP BY topic, partition
),
late_readers AS (
  SELECT client_id, topic
  FROM last_reads
  WHERE client_id NOT IN (SELECT client_id FROM calls WHERE replica_id >= 0)
  GROUP BY client_id, topic
  HAVING sum(lag) >= 20 AND bool_or(moves) AND bool_or(up_to > first_up_to)
),
held_ends AS (
  SELECT client_id, topic, partition, up_to
  FROM (
    SELECT topic, partition, max(last_stable_offset) AS up_to
    FROM fetched
    WHERE error IS NULL AND last_stable_offset >= 0 AND high_watermark >= 0
    GROUP BY topic, partition
    HAVING max_by(high_watermark - last_stable_offset, ns) >= 20
  ) AS h
  CROSS JOIN (SELECT DISTINCT client_id FROM calls WHERE isolation_level = 1) AS c
),
every_commit AS (
  SELECT coalesce(client_id, '') AS client_id, group_id, topic, partition, unix_micros(timestamp) * 1000 AS ns,
         committed_offset
  FROM commits
  WHERE error IS NULL AND topic IS NOT NULL AND committed_offset >= 0
  UNION ALL
  SELECT client_id, group_id, topic, partition, ns,
         begun_at + sum(done) OVER (PARTITION BY group_id, topic, partition ORDER BY ns ROWS UNBOUNDED PRECEDING)
  FROM (
    SELECT c.client_id, s.group_id, coalesce(t.topic, s.topic) AS topic, s.partition, c.ns,
           CASE WHEN error IS NULL THEN accepted + rejected ELSE 0 END AS done,
           min(CASE WHEN again = 0 AND up_to >= acquired THEN up_to - acquired END)
             OVER (PARTITION BY s.group_id, s.topic, s.partition) AS begun_at
    FROM share_calls s
    JOIN calls c ON s.connection = c.connection AND s.correlation_id = c.correlation_id
    LEFT JOIN topic_by_id t ON s.topic = t.topic_id
    WHERE api IN ('SHARE_FETCH', 'SHARE_ACKNOWLEDGE')
  ) AS shared
  WHERE begun_at IS NOT NULL
),
late_committers AS (
  SELECT client_id, group_id, topic
  FROM (
    SELECT client_id, group_id, topic, partition, max_by(committed_offset, ns) AS committed_offset
    FROM every_commit
    GROUP BY client_id, group_id, topic, partition
  ) AS c
  JOIN last_ends e USING (topic, partition)
  LEFT JOIN held_ends h USING (client_id, topic, partition)
  GROUP BY client_id, group_id, topic
  HAVING sum(greatest(least(e.up_to, coalesce(h.up_to, e.up_to)) - committed_offset, 0)) >= 20
),
late AS (
  SELECT client_id, group_id, topic FROM late_committers
  UNION ALL
  SELECT client_id, NULL, topic FROM late_readers
),
committed AS (SELECT e.* FROM every_commit e JOIN late l USING (client_id, group_id, topic)),
known_ends AS (
  SELECT topic, partition, min(ns) AS ns, up_to
  FROM (
    SELECT topic, partition, ns, high_watermark AS up_to
    FROM fetched
    WHERE high_watermark >= 0 AND error IS NULL AND topic IN (SELECT topic FROM late WHERE group_id IS NOT NULL)
    UNION ALL
    SELECT topic, partition, c.completed_ns, base_offset
    FROM produced p JOIN calls c ON p.connection = c.connection AND p.correlation_id = c.correlation_id
    WHERE c.api = 'PRODUCE' AND base_offset >= 0 AND topic IN (SELECT topic FROM late WHERE group_id IS NOT NULL)
  ) AS e
  GROUP BY topic, partition, up_to
),
seen_by_then AS (
  SELECT client_id, group_id, topic, partition, ns, committed_offset,
         max(up_to) OVER (PARTITION BY topic,
                          partition ORDER BY ns ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS ends_at
  FROM (
    SELECT topic, partition, ns, up_to, NULL AS client_id, NULL AS group_id, NULL AS committed_offset
    FROM known_ends
    UNION ALL
    SELECT topic, partition, ns, NULL, client_id, group_id, committed_offset
    FROM committed
  ) AS m
),
marks AS (
  SELECT m.client_id, group_id, m.topic, m.partition, ns, committed_offset,
         least(ends_at, coalesce(h.up_to, ends_at)) AS ends_at
  FROM seen_by_then m
  LEFT JOIN held_ends h ON m.client_id = h.client_id AND m.topic = h.topic AND m.partition = h.partition
  WHERE committed_offset IS NOT NULL AND ends_at IS NOT NULL
),
read_at_once AS (
  SELECT client_id, topic, partition
  FROM (
    SELECT f.client_id, f.topic, partition, min(ns) AS first_ns, max(ns) AS last_ns
    FROM fetched f JOIN late l ON f.client_id = l.client_id AND f.topic = l.topic
    WHERE group_id IS NULL
    GROUP BY f.client_id, f.topic, partition, connection
  ) AS c
  GROUP BY client_id, topic, partition
  HAVING sum(last_ns - first_ns) > 1.5 * (max(last_ns) - min(first_ns))
),
reads AS (
  SELECT f.client_id, f.topic, CASE WHEN r.client_id IS NULL THEN '' ELSE CAST(f.connection AS STRING) END AS unit,
         f.connection, f.partition, ns, fetch_offset, high_watermark
  FROM fetched f
  JOIN late l ON f.client_id = l.client_id AND f.topic = l.topic
  LEFT JOIN read_at_once r ON f.client_id = r.client_id AND f.topic = r.topic AND f.partition = r.partition
  WHERE error IS NULL AND group_id IS NULL
),
suspects AS (
  SELECT client_id, topic, unit
  FROM (
    SELECT client_id, topic, unit, sum(last_offset - first_offset) AS read, sum(last_end - first_end) AS grown,
           sum(first_end - first_offset) AS first_lag, sum(last_end - last_offset) AS last_lag
    FROM (
      SELECT client_id, topic, unit, partition,
             min_by(fetch_offset, ns) FILTER (WHERE fetch_offset >= 0 AND high_watermark >= 0) AS first_offset,
             max_by(fetch_offset, ns) FILTER (WHERE fetch_offset >= 0) AS last_offset,
             min_by(high_watermark, ns) FILTER (WHERE fetch_offset >= 0 AND high_watermark >= 0) AS first_end,
             max_by(high_watermark, ns) FILTER (WHERE high_watermark >= 0) AS last_end
      FROM reads
      GROUP BY client_id, topic, unit, partition
    ) AS p
    GROUP BY client_id, topic, unit
  ) AS m
  WHERE {SLOWER}
),
places AS (
  SELECT client_id, topic, unit, partition, ns, fetch_offset, high_watermark, high_watermark - fetch_offset AS lag,
         false AS by_commits, carried
  FROM (
    SELECT r.client_id, r.topic, r.unit, partition, ns, fetch_offset IS NULL AS carried,
           coalesce(fetch_offset, max(fetch_offset) OVER w) AS fetch_offset,
           coalesce(high_watermark, max(high_watermark) OVER w) AS high_watermark
    FROM reads r JOIN suspects s ON r.client_id = s.client_id AND r.topic = s.topic AND r.unit = s.unit
    WINDOW w AS (PARTITION BY connection, r.topic, partition ORDER BY ns
                 ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
  ) AS f
  WHERE fetch_offset >= 0 AND high_watermark >= 0
  UNION ALL
  SELECT client_id, topic, group_id, partition, ns, committed_offset, ends_at, greatest(ends_at - committed_offset, 0),
         true, false
  FROM marks
),
moved AS (
  SELECT client_id, topic, unit, by_commits, sum(last_offset - first_offset) AS read,
         sum(last_end - first_end) AS grown, sum(first_lag) AS first_lag, sum(last_lag) AS last_lag,
         max(marks) AS marks, bool_or(carried) AS carried
  FROM (
    SELECT client_id, topic, unit, by_commits, partition, min_by(fetch_offset, ns) AS first_offset,
           max_by(fetch_offset, ns) AS last_offset, min_by(high_watermark, ns) AS first_end,
           max_by(high_watermark, ns) AS last_end, min_by(lag, ns) AS first_lag, max_by(lag, ns) AS last_lag,
           count(*) AS marks, bool_or(carried) AS carried
    FROM places
    GROUP BY client_id, topic, unit, by_commits, partition
  ) AS p
  GROUP BY client_id, topic, unit, by_commits
),
slower AS (
  SELECT *
  FROM moved
  WHERE {SLOWER}
),
slower_places AS (
  SELECT p.*
  FROM places p
  JOIN slower s
    ON p.client_id = s.client_id AND p.topic = s.topic AND p.unit = s.unit AND p.by_commits = s.by_commits
),
totals AS (
  SELECT client_id, topic, unit, by_commits, min(ns) AS first_ns, max(ns) AS last_ns, max(gap_ns) AS gap_ns
  FROM (
    SELECT *, ns - lag(ns) OVER (PARTITION BY client_id, topic, unit, by_commits ORDER BY ns) AS gap_ns
    FROM slower_places
  ) AS p
  GROUP BY client_id, topic, unit, by_commits
),
steps AS (
  SELECT *, lead(ns) OVER w AS next_ns, lead(high_watermark) OVER w AS next_up_to
  FROM slower_places
  WINDOW w AS (PARTITION BY client_id, topic, unit, by_commits, partition ORDER BY ns)
),
thirds AS (
  SELECT client_id, topic, unit, by_commits, partition, first_ns, last_ns - first_ns AS whole_ns,
         max_by(lag, ns) AS end_lag,
         max(ns) AS ns, max_by(next_ns, ns) AS next_ns, max_by(next_up_to - high_watermark, ns) AS to_come,
         CAST(least(floor(3.0 * (ns - first_ns) / greatest(last_ns - first_ns, 1)), 2) AS INT) AS third
  FROM steps JOIN totals USING (client_id, topic, unit, by_commits)
  GROUP BY client_id, topic, unit, by_commits, partition, first_ns, whole_ns, third
),
known AS (
  SELECT t.client_id, t.topic, t.unit, t.by_commits, t.partition, n.third,
         max_by(CASE WHEN t.third = n.third OR coalesce(next_ns, ns) <= ns THEN end_lag
                     ELSE end_lag + to_come * (first_ns + (n.third + 1) * whole_ns / 3.0 - ns) / (next_ns - ns) END,
                t.third) AS lag
  FROM thirds t JOIN (SELECT 0 AS third UNION ALL SELECT 1 UNION ALL SELECT 2) AS n ON t.third <= n.third
  GROUP BY 1, 2, 3, 4, 5, 6
),
summed AS (SELECT client_id, topic, unit, by_commits, third, sum(lag) AS lag FROM known GROUP BY 1, 2, 3, 4, 5),
course AS (
  SELECT client_id, topic, unit, by_commits, max(CASE WHEN third = 0 THEN lag END) AS lag_0,
         max(CASE WHEN third = 1 THEN lag END) AS lag_1, max(CASE WHEN third = 2 THEN lag END) AS lag_2
  FROM summed
  GROUP BY client_id, topic, unit, by_commits
),
falling AS (
  SELECT m.*, t.first_ns, t.last_ns, gap_ns
  FROM slower m
  JOIN course c USING (client_id, topic, unit, by_commits)
  JOIN totals t USING (client_id, topic, unit, by_commits)
  WHERE (t.last_ns - t.first_ns) / 1e9 >= 6 AND c.lag_0 < c.lag_1 AND c.lag_1 < c.lag_2
    AND (NOT carried OR c.lag_2 - c.lag_1 >= 0.1 * (c.lag_1 - c.lag_0))
),
asks AS (
  SELECT client_id, latency_ms, pause_ms, greatest(pause_ms - coalesce(ack_ms, s_rtt_min_ms, 0), 0) AS own_ms
  FROM (
    SELECT client_id, connection, latency_ms,
           (ns - lag(completed_ns) OVER (PARTITION BY connection ORDER BY ns)) / 1e6 AS pause_ms
    FROM calls
    WHERE api = 'FETCH' AND NOT inner_client AND client_id IN (SELECT client_id FROM falling)
  ) AS f
  LEFT JOIN (SELECT connection, ack_ms, s_rtt_min_ms FROM tcp) AS t USING (connection)
),
pace AS (
  SELECT client_id, count(*) AS fetches, percentile_approx(pause_ms, 0.5) AS pause_ms,
         percentile_approx(latency_ms, 0.5) AS latency_ms, sum(own_ms) / 1e3 AS paused_seconds,
         sum(latency_ms) / 1e3 AS waited_seconds
  FROM asks
  GROUP BY client_id
),
behind AS (
  SELECT m.*, pace.fetches, pace.pause_ms, pace.latency_ms, paused_seconds, waited_seconds,
         row_number() OVER (PARTITION BY m.client_id, m.topic
                            ORDER BY CASE WHEN by_commits THEN 1 WHEN unit = '' THEN 0 ELSE 2 END,
                                     last_lag DESC) AS place
  FROM falling m LEFT JOIN pace ON pace.client_id = m.client_id
  WHERE CASE WHEN by_commits THEN marks >= 3 AND last_lag > 1.0 * grown * gap_ns / (last_ns - first_ns)
             ELSE pace.fetches >= 4 AND paused_seconds > waited_seconds END
)
SELECT b.client_id, topic,
       CASE WHEN by_commits THEN own WHEN b.unit = '' OR cardinality(g.groups) = 1 THEN g.groups END AS groups,
       first_lag, last_lag, read, grown, fetches, pause_ms, latency_ms, paused_seconds,
       (last_ns - first_ns) / 1e9 AS seconds, first_ns, last_ns, last_lag AS weight, by_commits,
       CASE WHEN s.group_id IS NOT NULL THEN 'acknowledged' WHEN by_commits THEN 'committed' ELSE 'read' END AS did,
       CASE WHEN by_commits THEN 'records that it fetched long before wait in its memory'
            ELSE concat(format_number(pause_ms, 0), ' ms between a response and its next Fetch, and responses in ',
                        CAST(ceil(latency_ms) AS BIGINT), ' ms') END AS how,
       CASE WHEN s.group_id IS NOT NULL
            THEN 'decode pcap {{files}} --client {{client_id}} --api ShareFetch --api ShareAcknowledge'
            WHEN by_commits THEN 'decode pcap {{files}} --client {{client_id}} --api OffsetCommit' END AS look,
       CASE WHEN by_commits THEN ''
            ELSE concat('the broker and the network: it waited ', round(waited_seconds, 1), ' s for responses, and ',
                        round(paused_seconds, 1), ' s passed between responses and Fetches') END AS not_so,
       CASE WHEN read < 0.4 * grown AND servers >= 2 THEN 'slow-broker' END AS stands
FROM behind b
LEFT JOIN (
  SELECT client_id, topic, count(DISTINCT server) AS servers
  FROM fetched
  WHERE client_id IN (SELECT client_id FROM falling)
  GROUP BY client_id, topic
) AS n USING (client_id, topic)
LEFT JOIN (SELECT DISTINCT group_id FROM share_calls) AS s ON by_commits AND s.group_id = b.unit
LEFT JOIN client_groups g ON g.client_id = b.client_id
LEFT JOIN (
  SELECT unit, array_agg(DISTINCT unit) AS own FROM falling WHERE by_commits GROUP BY unit
) AS o ON by_commits AND o.unit = b.unit
WHERE place = 1
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
        "by_commits",
    ),
    text="{client_id} falls behind on {topic}: from {first_lag} to {last_lag} records in {seconds} s; "
    "it {did} {read} while {grown} came; {how}",
    ruled_out="{not_so}",
    advice="process records faster, do less for each record, or add partitions and members",
    see='sql "SELECT coalesce(p.topic, topics.topic, topic_id) AS topic, partition, min_by(lag, timestamp) AS '
    "first_lag, max_by(lag, timestamp) AS last_lag FROM fetch_partitions p LEFT JOIN topics USING (topic_id) "
    "WHERE client_id = '{client_id}' AND lag IS NOT NULL GROUP BY ALL ORDER BY last_lag DESC\" {files}",
    source="records-lag-max; Burrow's rules",
    rests_on=("late", "falling"),
)
