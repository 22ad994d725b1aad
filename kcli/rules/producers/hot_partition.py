"""One key takes the bytes of a topic."""

from kcli.rules.prepared import OF_BATCH
from kcli.rules.rule import OF_TOPIC, Rule

# Half of the bytes; of three partitions 70 %; or 40 % if every other partition that is written to gets little. If no
# client writes to another partition, it takes many batches' bytes: without keys a producer stays with a partition for
# a batch of 16 kB and more (KIP-794).
# A capture without the traffic of a broker that leads partitions of the topic lacks what is written there, so the rule
# reports that it cannot judge the topic.
# A Kafka Streams application that groups by one constant key fills one partition of its own internal topics: that is
# its design. If the key only has a favourite, the application's author may not know.
INTERNAL = """t.client_id LIKE '%-StreamThread-%-producer'
            AND (t.topic LIKE '%-repartition' OR t.topic LIKE '%-changelog')"""
RULE = Rule(
    finding="hot-partition",
    title="partitions that get far more than their share",
    when="batches >= 40 AND seconds >= 3",
    sql=f"""
WITH tried AS (
  SELECT client_id, topic, partition, sum(size_in_bytes) AS bytes, sum(records) AS records, count(*) AS batches,
         count(DISTINCT floor(ns / 1000000000)) AS active, min(ns) AS began_ns, max(ns) AS ended_ns
  FROM batches
  WHERE api = 'PRODUCE' AND topic IS NOT NULL AND NOT is_control
  GROUP BY client_id, topic, partition
),
refused AS (
  SELECT b.client_id, b.topic, b.partition, sum(b.size_in_bytes) AS bytes, sum(b.records) AS records,
         count(*) AS batches
  FROM produced p JOIN batches b ON {OF_BATCH}
  WHERE p.error IS NOT NULL
  GROUP BY b.client_id, b.topic, b.partition
),
-- Without what is refused, and maybe sent again and again.
sent AS (
  SELECT t.client_id, t.topic, t.partition, t.bytes - coalesce(r.bytes, 0) AS bytes,
         t.records - coalesce(r.records, 0) AS records, t.batches - coalesce(r.batches, 0) AS batches, active, began_ns,
         ended_ns
  FROM tried t
  LEFT JOIN refused r ON t.client_id = r.client_id AND t.topic = r.topic AND t.partition = r.partition
  WHERE t.batches > coalesce(r.batches, 0)
),
totals AS (
  SELECT client_id, topic, sum(bytes) AS bytes, sum(records) AS records, sum(batches) AS batches, count(*) AS used,
         max(bytes) AS most, min(began_ns) AS first_ns, max(ended_ns) AS last_ns, max(active) AS active,
         max_by(partition, bytes) AS hottest, max_by(records, bytes) AS hot_records
  FROM sent
  GROUP BY client_id, topic
),
alone AS (SELECT topic FROM sent GROUP BY topic HAVING count(DISTINCT partition) = 1 AND sum(bytes) >= 500000),
uneven AS (
  SELECT *
  FROM totals
  WHERE records >= 200 AND batches >= 40 AND active >= 5 AND hot_records / records >= 0.3
    AND CASE WHEN used >= 3 THEN most / bytes >= 0.5
                                 OR (most / bytes >= 0.4 AND most >= 4 * (bytes - most) / (used - 1))
             ELSE topic IN (SELECT topic FROM alone) END
),
counted AS (SELECT topic, count(DISTINCT partition) AS known FROM metadata_partitions GROUP BY topic),
used_partitions AS (
  SELECT topic, partition FROM fetched WHERE topic IN (SELECT topic FROM uneven)
  UNION
  SELECT topic, partition FROM produced WHERE topic IN (SELECT topic FROM uneven)
),
used_counts AS (SELECT topic, count(DISTINCT partition) AS seen FROM used_partitions GROUP BY topic),
leaders AS (
  SELECT m.topic, leader, count(a.partition) + count(s.server) AS seen
  FROM metadata_partitions m
  LEFT JOIN used_partitions a ON m.topic = a.topic AND m.partition = a.partition
  LEFT JOIN server_spans s ON m.leader_address = s.server
  WHERE m.topic IN (SELECT topic FROM uneven) AND leader >= 0
  GROUP BY m.topic, leader
),
unseen_leaders AS (SELECT topic, concat_ws(', ', array_sort(array_agg(leader))) AS brokers FROM leaders WHERE seen = 0
         GROUP BY topic)
SELECT t.client_id, t.topic, t.hottest, concat(t.topic, '-', t.hottest) AS partition,
       concat(t.topic, '-', t.hottest) AS cause, t.bytes, t.records, t.hot_records,
       t.used, t.first_ns, t.last_ns, t.batches, (t.last_ns - t.first_ns) / 1e9 AS seconds,
       greatest(coalesce(c.known, 0), coalesce(e.seen, 0), t.used) AS partitions,
       t.most / t.bytes AS share, t.hot_records / t.records AS records_share, 1e2 * t.most / t.bytes AS percent,
       1e2 / greatest(coalesce(c.known, 0), coalesce(e.seen, 0), t.used) AS fair_percent, t.most AS weight,
       CASE WHEN t.used = 1 AND {INTERNAL} THEN 'info' ELSE 'warning' END AS severity,
       CASE WHEN {INTERNAL}
            THEN concat(CASE WHEN t.used = 1
                             THEN 'nothing, if the application is to put all records under one key, as in a total; '
                             ELSE '' END,
                        'one stream thread does the work of a partition: to spread it, group by a finer key first '
                        '(selectKey, groupBy), and combine those results')
            END AS advised,
       CASE WHEN a.brokers IS NOT NULL
            THEN concat('how evenly ', t.client_id, ' writes to ', t.topic, ': no connection to broker ', a.brokers,
                        ', which leads partitions of it, is in the capture') END AS unseen,
       'a capture of the ports of all brokers' AS remedy
FROM uneven t LEFT JOIN counted c ON t.topic = c.topic LEFT JOIN used_counts e ON t.topic = e.topic
LEFT JOIN unseen_leaders a ON t.topic = a.topic
WHERE t.most / t.bytes >= least(2.5 / greatest(coalesce(c.known, 0), coalesce(e.seen, 0), t.used), 0.7)
  AND greatest(coalesce(c.known, 0), coalesce(e.seen, 0)) >= 3
""",
    subject={"partition": "partition", "topic": "topic", "client": "client_id"},
    evidence=("bytes", "records", "share", "records_share", "used", "partitions"),
    text="{partition} gets {percent} % of the bytes that {client_id} writes to {topic}, "
    "{fair_percent} % would be its share of {partitions} partitions ({hot_records} of {records} records)",
    ruled_out="a short sample: {batches} batches in {seconds} s",
    advice="choose another key or partitioner; split the key that most records have (a suffix), or aggregate it before",
    # The finding gives the shares of the partitions already; the key is what makes one hot.
    see=f'sql "SELECT client_id, key, count(*) AS records FROM records p {OF_TOPIC} '
    "AND partition = '{hottest}' AND client_id = '{client_id}' GROUP BY ALL ORDER BY records DESC LIMIT 10\" {files}",
    source="KIP-794 (partitioner.adaptive.partitioning.enable is for records without keys)",
    rests_on=("uneven",),
)
