"""An OffsetCommit for each record."""

from kcli.rules.rule import Rule

# There are about as many accepted commits as records. They are many in a second, or the client spends its time waiting
# for them. Each may move on by one, or all may commit the end of the current batch (aiokafka). A client that commits
# once for each Fetch commits by batch, even if a batch has two records. If nearly every Fetch brings one record, the
# larger ones decide: one commit for each, or as many as records. Without larger ones, the library decides: kafkajs
# commits each batch by default, and only kafkajs uses version 5. Commits explain a lag, or an unread socket, only if
# they take the client's time.
RULE = Rule(
    finding="commit-per-record",
    title="a commit for each record",
    when="commit_requests >= 50",
    sql="""
WITH asked AS (
  SELECT group_id, client_id, sum(commits) AS commits, greatest(sum(last_ns - first_ns) / 1e9, 1) AS seconds,
         min(first_ns) AS first_ns, max(last_ns) AS last_ns, sum(waited_ns) / 1e9 AS waited_seconds,
         min(api_version) = 5 AS is_kafkajs
  FROM (
    SELECT group_id, client_id, count(*) AS commits, min(ns) AS first_ns, max(ns) AS last_ns,
           sum(completed_ns - ns) AS waited_ns, min(api_version) AS api_version
    FROM (
      SELECT group_id, coalesce(client_id, '') AS client_id, unix_micros(timestamp) * 1000 AS ns, completed_ns,
             api_version
      FROM group_calls
      WHERE api = 'OFFSET_COMMIT' AND error IS NULL
    ) AS c
    LEFT JOIN stretches t ON ns BETWEEN t.first_ns AND t.last_ns
    GROUP BY group_id, client_id, t.first_ns
  ) AS captured
  GROUP BY group_id, client_id
),
often AS (
  SELECT *, commits / seconds AS per_second
  FROM asked
  WHERE commits >= 50 AND (commits / seconds >= 8 OR commits / seconds >= 2 AND waited_seconds >= 0.5 * seconds)
),
steps AS (
  SELECT group_id, coalesce(client_id, '') AS client_id,
         committed_offset - lag(committed_offset) OVER (PARTITION BY group_id, topic,
                                                        partition ORDER BY completed_ns) AS step
  FROM commits
  WHERE error IS NULL AND group_id IN (SELECT group_id FROM often)
),
single AS (
  SELECT group_id, client_id, sum(CASE WHEN step BETWEEN 1 AND 2 THEN 1 ELSE 0 END) AS single,
         sum(CASE WHEN step > 0 THEN step ELSE 0 END) AS records
  FROM steps
  GROUP BY group_id, client_id
),
answers AS (
  SELECT client_id, count(*) AS answers, sum(parts) AS parts
  FROM (
    SELECT client_id, connection, correlation_id, count(*) AS parts
    FROM fetched
    WHERE records_bytes > 0 AND client_id IN (SELECT client_id FROM often)
    GROUP BY client_id, connection, correlation_id
  ) AS f
  GROUP BY client_id
),
told AS (
  SELECT a.*, single, records,
         CASE WHEN records - parts >= 4 THEN commits <= parts + 0.25 * (records - parts)
              ELSE is_kafkajs AND commits <= parts + 2 END AS is_batch
  FROM often a
  JOIN single s ON a.group_id = s.group_id AND a.client_id = s.client_id
  LEFT JOIN answers f ON a.client_id = f.client_id
  WHERE records > 0 AND commits >= CASE WHEN commits < 1.3 * answers THEN 0.7 ELSE 0.4 END * records
)
SELECT group_id, client_id, commits, per_second, single, records, seconds, first_ns, last_ns, per_second AS weight,
       CASE WHEN is_batch OR waited_seconds < 0.3 * seconds THEN 'lagging-consumer,slow-reader' END AS spares,
       CASE WHEN is_batch THEN 'info' ELSE 'warning' END AS severity,
       CASE WHEN is_batch THEN 'what each Fetch brings, nearly always one record' ELSE 'each record' END AS what,
       CASE WHEN is_batch THEN 'nothing while so few records come; else a time or a count between commits '
                               '(kafkajs: autoCommitInterval, autoCommitThreshold), or a larger fetch.min.bytes'
            END AS advised
FROM told
""",
    subject={"group": "group_id", "client": "client_id"},
    evidence=("commits", "per_second", "single", "records", "seconds"),
    text="{client_id} of group {group_id} commits {what}: {per_second} OffsetCommits a second, "
    "{commits} for {records} records",
    absent={"rebalance-storm": "rebalances"},
    advice="commit by time or batch (after each poll, enable.auto.commit with auto.commit.interval.ms 5000), "
    "asynchronously",
    see="stats {files} --by group --by api",
    source="auto.commit.interval.ms 5000; commit-rate",
    explains={"lagging-consumer": ("client",), "slow-reader": ("client",)},
    rests_on=("often",),
)
