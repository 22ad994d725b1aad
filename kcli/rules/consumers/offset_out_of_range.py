"""A consumer asks for offsets that are gone."""

from kcli.rules.rule import Rule

# A follower that was away asks once for offsets that its leader has deleted meanwhile, and begins again where the log
# starts: only one that asks again and again is told.
RULE = Rule(
    finding="offset-out-of-range",
    title="fetches from offsets that are out of range",
    when="errors LIKE '%,OFFSET_OUT_OF_RANGE,%'",
    sql="""
WITH places AS (
  SELECT *,
         max(fetch_offset) OVER (PARTITION BY connection, topic,
                                 partition ORDER BY ns ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS known_offset
  FROM fetched
),
refused AS (
  SELECT client_id, topic, partition, ns, fetch_offset, log_start_offset, high_watermark
  FROM places
  WHERE error = 'OFFSET_OUT_OF_RANGE'
),
-- Where the client continues. The records between are skipped, or read again.
resumed AS (
  SELECT client_id, topic, count(*) AS resumed, sum(greatest(resumed_at - fetch_offset, 0)) AS skipped,
         sum(greatest(fetch_offset - resumed_at, 0)) AS read_again
  FROM (
    SELECT r.client_id, r.topic, r.partition, max(r.fetch_offset) AS fetch_offset,
           min_by(f.fetch_offset, f.ns) AS resumed_at
    FROM (
      SELECT client_id, topic, partition, max(ns) AS ns, max_by(fetch_offset, ns) AS fetch_offset
      FROM refused
      GROUP BY client_id, topic, partition
    ) AS r
    JOIN fetched f
      ON f.client_id = r.client_id AND f.topic = r.topic AND f.partition = r.partition AND f.ns > r.ns
      AND f.asked AND f.error IS NULL
    GROUP BY r.client_id, r.topic, r.partition
  ) AS p
  GROUP BY client_id, topic
),
bounds AS (
  SELECT topic, partition, max(log_start_offset) AS log_start, max(high_watermark) AS log_end
  FROM fetched
  WHERE error IS NULL
  GROUP BY topic, partition
)
SELECT r.client_id, r.client_id AS cause, r.topic,
       array_agg(DISTINCT concat(r.topic, '-', r.partition)) AS partitions, count(*) AS refused,
       min(r.fetch_offset) AS asked_from, max(r.fetch_offset) AS asked_to, count(DISTINCT r.fetch_offset) AS offsets,
       nullif(max(greatest(coalesce(r.log_start_offset, -1), coalesce(b.log_start, -1))), -1) AS log_start,
       nullif(max(greatest(coalesce(r.high_watermark, -1), coalesce(b.log_end, -1))), -1) AS log_end,
       (max(ns) - min(ns)) / 1e9 AS seconds, max(g.groups) AS groups, min(ns) AS first_ns, max(ns) AS last_ns,
       count(*) AS weight,
       CASE WHEN min(r.fetch_offset) > max(greatest(r.high_watermark, b.log_end, -1))
              AND max(greatest(r.high_watermark, b.log_end, -1)) >= 0
            THEN 'beyond the end of the log' ELSE 'that are deleted' END AS what,
       max(k.skipped) AS skipped, max(k.read_again) AS read_again,
       CASE WHEN max(k.resumed) = count(DISTINCT r.partition)
            THEN concat('; it continues', CASE WHEN max(k.skipped) > 0
                                               THEN concat(' without ', format_number(max(k.skipped), 0), ' records')
                                               WHEN max(k.read_again) > 0
                                               THEN concat(', and reads ', format_number(max(k.read_again), 0),
                                                           ' records again')
                                               ELSE '' END)
            ELSE '' END AS then_on,
       CASE WHEN min(r.fetch_offset) > max(greatest(r.high_watermark, b.log_end, -1))
              AND max(greatest(r.high_watermark, b.log_end, -1)) >= 0
            THEN 'find what shortened the log (the topic was recreated, an unclean leader election, a restored disk), '
                 'then reset the group''s offsets knowingly (kafka-consumer-groups.sh --reset-offsets)'
            WHEN max(k.resumed) = count(DISTINCT r.partition)
            THEN 'its auto.offset.reset has chosen where it continues; if it should read all records, use a longer '
                 'retention.ms or larger retention.bytes, and none instead of a reset' END AS advised,
       CASE WHEN max(greatest(r.log_start_offset, r.high_watermark, b.log_start, b.log_end, -1)) < 0
            THEN '; no response says where the log starts and ends'
            ELSE concat('; the log starts at ',
                        coalesce(format_number(nullif(max(greatest(r.log_start_offset, b.log_start, -1)), -1), 0), '?'),
                        ' and ends at ',
                        coalesce(format_number(nullif(max(greatest(r.high_watermark, b.log_end, -1)), -1), 0), '?'))
            END AS bounds,
       CASE WHEN max(b.topic) IS NOT NULL THEN 'the broker: other Fetches of the partition are answered'
            ELSE 'a leader that moved: it has another error' END AS not_so,
       CASE WHEN count(*) >= 3 AND (max(ns) - min(ns)) / 1e9 >= 1 THEN 'warning' ELSE 'info' END AS severity
FROM refused r
LEFT JOIN bounds b ON r.topic = b.topic AND r.partition = b.partition
LEFT JOIN client_groups g ON r.client_id = g.client_id
LEFT JOIN resumed k ON r.client_id = k.client_id AND r.topic = k.topic
GROUP BY r.client_id, r.topic
HAVING r.client_id NOT IN (SELECT client_id FROM inner_clients)
  OR (count(*) >= 3 AND max(ns) - min(ns) >= 1000000000
      AND count(*) > count(DISTINCT concat(r.partition, ' ', r.fetch_offset)))
""",
    subject={"client": "client_id", "topic": "topic", "group": "groups", "partition": "partitions"},
    evidence=(
        "refused",
        "asked_from",
        "asked_to",
        "offsets",
        "log_start",
        "log_end",
        "skipped",
        "read_again",
        "seconds",
    ),
    text="{client_id} fetches {topic} at offsets {what}: {refused} times in {seconds} s, from {asked_from} on{bounds}"
    "{then_on}",
    ruled_out="{not_so}",
    advice="reset the group's offsets (kafka-consumer-groups.sh --reset-offsets), set auto.offset.reset to "
    "earliest or latest instead of none, or use a longer retention.ms or larger retention.bytes",
    see="decode pcap {files} --errors=OFFSET_OUT_OF_RANGE",
    source="auto.offset.reset latest; retention.ms 604800000",
    explains=dict.fromkeys(
        ("errors-again", "busy-fetch", "metadata-storm", "connection-churn", "rebalance-storm"), ("client",)
    ),
)
