"""A transaction was begun and not ended."""

from kcli.rules.prepared import OF_BATCH
from kcli.rules.rule import CRITICAL, OF_TOPIC, Rule

# The last stable offset is the first record of the oldest open transaction: the producer that wrote this record has it
# open, since that write. In a capture that begins later, any producer that writes and ends nothing may be to blame, but
# none that ends transactions. The offset never goes back: two answers with the same offset show that it stood still
# between them. A transaction whose offset stood still and then moved on was ended, by its producer or, if that ends no
# more transactions, by the coordinator. The offset is also the start offset with which an operator aborts the
# transaction. The coordinator counts the timeout from the first partition added, and looks for expired transactions
# every 10 s. Until its timeout a producer that still writes is at work, as Flink is between its checkpoints. A
# transaction that was begun in the capture and ends by itself soon after it is not critical yet.
ABORT = (
    "kafka-transactions.sh --bootstrap-server {server:word} abort --topic {topic:word} --partition {partition_index} "
    "--start-offset {start_offset}{likewise}"
)
WHY = "; look at {who}: why does it neither commit nor abort?"
TIMEOUT = "(transaction.timeout.ms {timeout})"
SOON_NS = 120_000_000_000
DEFAULT_S = 60  # of transaction.timeout.ms
RULE = Rule(
    finding="hanging-transaction",
    title="transactions that do not end",
    severity=CRITICAL,
    when="held_back > 0",
    sql=f"""
WITH seen AS (
  SELECT topic, partition, ns, server, last_stable_offset AS stable, high_watermark AS high
  FROM fetched
  WHERE error IS NULL AND last_stable_offset >= 0 AND high_watermark >= 0
),
final AS (
  SELECT topic, partition, max(stable) AS stable, max(high) AS high, max(ns) AS last_ns
  FROM seen
  GROUP BY topic, partition
),
stands AS (
  SELECT topic, partition, stable, min(ns) AS seen_ns, max(ns) AS last_ns, min(high) AS high_before, max(high) AS high,
         count(*) AS answers, max_by(server, ns) AS server
  FROM seen
  WHERE high > stable
  GROUP BY topic, partition, stable
),
passed AS (
  SELECT *, row_number() OVER (PARTITION BY topic, partition ORDER BY last_ns - seen_ns DESC, stable) AS place
  FROM stands
  WHERE last_ns - seen_ns >= 8000000000
),
still AS (
  SELECT s.topic, s.partition, s.stable, f.high, seen_ns, f.last_ns, high_before, answers, server, false AS over
  FROM final f JOIN stands s ON s.topic = f.topic AND s.partition = f.partition AND s.stable = f.stable
  WHERE f.high > f.stable
  UNION ALL
  SELECT s.topic, s.partition, s.stable, s.high, seen_ns, s.last_ns, high_before, answers, server, true
  FROM passed s JOIN final f ON s.topic = f.topic AND s.partition = f.partition AND s.stable < f.stable
  WHERE place = 1
),
held AS (SELECT DISTINCT topic, partition FROM still),
writes AS (
  SELECT b.topic, b.partition, b.client_id, b.producer_id, b.producer_epoch, p.base_offset, b.ns, b.records
  FROM (SELECT * FROM batches JOIN held USING (topic, partition)) AS b
  JOIN produced p ON {OF_BATCH}
  WHERE b.is_transactional AND NOT b.is_control AND p.error IS NULL AND p.base_offset >= 0
),
ids AS (
  SELECT producer_id, max(transactional_id) AS transactional_id
  FROM transaction_calls
  WHERE producer_id IS NOT NULL AND transactional_id IS NOT NULL
  GROUP BY producer_id
),
ended AS (
  SELECT producer_id, max(completed_ns) AS ended_ns
  FROM transaction_calls
  WHERE api = 'END_TXN' AND error IS NULL
  GROUP BY producer_id
),
timeouts AS (
  SELECT producer_id, max_by(timeout_ms, timestamp) AS timeout_ms
  FROM transaction_calls
  WHERE api = 'INIT_PRODUCER_ID' AND producer_id IS NOT NULL AND transactional_id IS NOT NULL AND timeout_ms > 0
    AND error IS NULL
  GROUP BY producer_id
),
added AS (
  SELECT c.producer_id, min(unix_micros(c.timestamp) * 1000) AS added_ns
  FROM transaction_calls c LEFT JOIN ended e ON e.producer_id = c.producer_id
  WHERE c.api IN ('ADD_PARTITIONS_TO_TXN', 'ADD_OFFSETS_TO_TXN') AND c.error IS NULL
    AND (e.ended_ns IS NULL OR unix_micros(c.timestamp) * 1000 > e.ended_ns)
  GROUP BY c.producer_id
),
owners AS (
  SELECT s.topic, s.partition, s.stable, min_by(w.client_id, w.base_offset) AS client_id,
         min_by(w.producer_id, w.base_offset) AS producer_id
  FROM still s
  JOIN writes w ON w.topic = s.topic AND w.partition = s.partition AND w.base_offset + w.records > s.stable
  LEFT JOIN ended e ON e.producer_id = w.producer_id
  WHERE w.base_offset <= s.stable OR e.ended_ns IS NULL
  GROUP BY s.topic, s.partition, s.stable
),
blamed AS (
  SELECT o.topic, o.partition, o.stable, o.client_id, o.producer_id, count(*) AS batches, max(w.ns) AS last_write_ns,
         min(CASE WHEN w.base_offset <= o.stable THEN w.ns END) AS begun_ns
  FROM owners o
  JOIN writes w
    ON w.topic = o.topic AND w.partition = o.partition AND w.producer_id = o.producer_id
    AND w.base_offset + w.records > o.stable
  GROUP BY o.topic, o.partition, o.stable, o.client_id, o.producer_id
),
lastly AS (SELECT producer_id, max(ns) AS wrote_ns FROM writes GROUP BY producer_id),
fetched_batches AS (
  SELECT DISTINCT s.topic, s.partition, s.stable, b.producer_id
  FROM still s
  JOIN batches b
    ON b.topic = s.topic AND b.partition = s.partition AND b.api != 'PRODUCE' AND b.is_transactional
    AND NOT b.is_control AND s.stable BETWEEN b.base_offset AND b.last_offset
),
stood AS (
  SELECT s.*, least(s.seen_ns, coalesce(b.begun_ns, s.seen_ns)) AS since_ns
  FROM still s LEFT JOIN blamed b ON s.topic = b.topic AND s.partition = b.partition AND s.stable = b.stable
),
waiting AS (
  SELECT f.topic, count(DISTINCT f.client_id) AS readers, array_agg(DISTINCT f.client_id) AS reader_names
  FROM fetched f JOIN calls c ON c.connection = f.connection AND c.correlation_id = f.correlation_id
  WHERE c.isolation_level = 1 AND f.topic IN (SELECT topic FROM held)
  GROUP BY f.topic
),
found AS (
  SELECT s.topic, concat(s.topic, '-', s.partition) AS partition, s.stable AS last_stable_offset, s.high_before,
         s.high AS high_watermark, (s.last_ns - since_ns) / 1e9 AS stands_seconds, b.client_id,
         coalesce(b.producer_id, h.producer_id) AS producer_id, i.transactional_id, b.batches, since_ns AS first_ns,
         s.last_ns, s.high - s.stable AS held_back, coalesce(w.readers, 0) AS readers, s.high - s.stable AS weight,
         CASE WHEN b.client_id IS NULL THEN 'a producer' ELSE b.client_id END AS who, s.server,
         coalesce(CAST(coalesce(b.producer_id, h.producer_id) AS STRING), concat('topic ', s.topic)) AS cause,
         CAST(s.partition AS STRING) AS partition_index, CAST(s.stable AS STRING) AS start_offset,
         t.timeout_ms AS transaction_timeout_ms, CAST(t.timeout_ms AS STRING) AS timeout,
         least(since_ns, coalesce(a.added_ns, since_ns)) + CAST(t.timeout_ms AS BIGINT) * 1000000 AS ends_by_itself_at,
         span.last_ns AS end_ns, over,
         NOT over AND y.wrote_ns > greatest(s.last_ns - 5000000000, since_ns + 3000000000)
           AND s.last_ns - since_ns < 1000000 * CAST(coalesce(t.timeout_ms, 60000) AS BIGINT)
           AND coalesce(e.ended_ns, 0) < since_ns AS at_work
  FROM stood s
  LEFT JOIN blamed b ON s.topic = b.topic AND s.partition = b.partition AND s.stable = b.stable
  LEFT JOIN fetched_batches h ON s.topic = h.topic AND s.partition = h.partition AND s.stable = h.stable
  LEFT JOIN ids i ON i.producer_id = coalesce(b.producer_id, h.producer_id)
  LEFT JOIN ended e ON e.producer_id = coalesce(b.producer_id, h.producer_id)
  LEFT JOIN timeouts t ON t.producer_id = coalesce(b.producer_id, h.producer_id)
  LEFT JOIN added a ON a.producer_id = coalesce(b.producer_id, h.producer_id)
  LEFT JOIN lastly y ON y.producer_id = b.producer_id
  LEFT JOIN waiting w ON w.topic = s.topic
  JOIN server_spans span ON s.server = span.server
  WHERE (s.last_ns - since_ns) / 1e9 >= greatest(8, 0.2 * span.seconds) AND s.answers >= 2
    AND (e.ended_ns IS NULL OR b.last_write_ns IS NULL OR e.ended_ns < b.last_write_ns)
    AND (NOT over OR (i.transactional_id IS NOT NULL AND b.last_write_ns <= s.last_ns))
)
SELECT *, greatest((ends_by_itself_at - end_ns) / 1e9, 0) AS left_seconds,
       CASE WHEN count(*) OVER (PARTITION BY cause, over, at_work) > 1
            THEN ' (and likewise for its other partitions: "alike" in the evidence)' ELSE '' END AS likewise,
       CASE WHEN over THEN 'left a transaction open, which the coordinator ended'
            WHEN at_work THEN 'has a transaction open, and still writes' ELSE 'has a transaction open' END AS state,
       CASE WHEN over THEN 'warning' WHEN at_work THEN 'info'
            WHEN ends_by_itself_at BETWEEN end_ns - 10000000000 AND end_ns + {SOON_NS} THEN 'warning'
            WHEN ends_by_itself_at IS NULL AND client_id IS NOT NULL AND stands_seconds < {DEFAULT_S} THEN 'warning'
            ELSE 'critical' END AS severity,
       CASE WHEN high_watermark > high_before
            THEN concat('while the end grew from ', format_number(high_before, 0), ' to ',
                        format_number(high_watermark, 0))
            ELSE concat('before the end at ', format_number(high_watermark, 0)) END AS growth,
       CASE WHEN over
            THEN concat('look at {{who}}: why did it neither commit nor abort? A ',
                        CASE WHEN timeout IS NULL THEN 'shorter transaction.timeout.ms'
                             ELSE concat('transaction.timeout.ms below ', timeout) END,
                        ' holds readers back for less')
            WHEN at_work
            THEN 'nothing, if {{who}} is meant to commit this rarely; smaller transactions hold readers back for less'
            WHEN ends_by_itself_at + 10000000000 < end_ns
            THEN 'it did not end by itself at {{ends_by_itself_at}}, as it had to {TIMEOUT}: end it, {ABORT}{WHY}'
            WHEN ends_by_itself_at < end_ns + {SOON_NS}
            THEN concat('wait: the coordinator ends it by itself soon after {{ends_by_itself_at}} {TIMEOUT}, ',
                        '{{left_seconds}} s after the end of the capture; where it still stands then, {ABORT}{WHY}')
            WHEN ends_by_itself_at IS NULL AND stands_seconds < {DEFAULT_S}
            THEN 'wait for its transaction.timeout.ms (default 60000; the capture does not show it), after which it '
                 'ends by itself; where it still stands then, end it, {ABORT}{WHY}'
            WHEN ends_by_itself_at IS NOT NULL
            THEN 'end it, {ABORT}: by itself it ends only at {{ends_by_itself_at}} {TIMEOUT}{WHY}' END AS advised
FROM found
""",
    subject={"transactionalId": "transactional_id", "topic": "topic", "partition": "partition", "client": "client_id"},
    evidence=(
        "last_stable_offset",
        "stands_seconds",
        "high_before",
        "high_watermark",
        "held_back",
        "producer_id",
        "batches",
        "readers",
        "transaction_timeout_ms",
        "ends_by_itself_at",
    ),
    text="{partition}: the last stable offset stays at {last_stable_offset} for {stands_seconds} s {growth}: {who} "
    "(transactional.id {transactional_id}, producer id {producer_id}) {state}; {held_back} records held back from "
    "{readers} readers (read_committed)",
    ruled_out="the consumers: that offset comes from the broker",
    advice=f"end it, {ABORT}{WHY} The capture does not show its transaction.timeout.ms, after which it ends by itself",
    see='sql "SELECT partition, last_stable_offset, min(timestamp) AS since, max(timestamp) AS until, '
    f"max(high_watermark) AS high_watermark FROM fetch_partitions p {OF_TOPIC} "
    'AND last_stable_offset < high_watermark GROUP BY ALL ORDER BY max(timestamp) - min(timestamp) DESC" {files}',
    source="transaction.timeout.ms 60000, transaction.max.timeout.ms 900000; KIP-664",
    explains={"consumer-stuck": ("topic",), "lagging-consumer": ("topic",), "busy-fetch": ()},
    rests_on=("still",),
)
