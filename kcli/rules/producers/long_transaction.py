"""A transaction stays open for far longer than others, and its producer ends it."""

from kcli.rules.rule import Rule

# A transaction is long compared with the others of its producer: Flink's checkpoints always take as long as they are
# set to. If a producer has too few transactions, it is compared with all producers, and the finding is only
# informative. Meanwhile the last stable offset lags behind the end, and readers with read_committed wait for it. A
# transaction that its producer does not end is a hanging-transaction.
RULE = Rule(
    finding="long-transaction",
    title="transactions that stay open for long",
    when="steady_clock AND clocks_apart_ms < 500 AND held_back > 0 AND apis LIKE '%,END_TXN,%' AND seconds >= 10",
    sql="""
WITH ends AS (
  SELECT producer_id, completed_ns AS ended_ns, coalesce(client_id, '') AS client_id, transactional_id,
         CASE WHEN committed THEN 'committed' ELSE 'aborted' END AS outcome
  FROM transaction_calls
  WHERE api = 'END_TXN' AND answered AND error IS NULL AND producer_id IS NOT NULL
),
steps AS (
  SELECT producer_id, ns, CAST(NULL AS BIGINT) AS ended_ns
  FROM batches
  WHERE api = 'PRODUCE' AND is_transactional AND NOT is_control
  UNION ALL
  SELECT producer_id, unix_micros(timestamp) * 1000, NULL
  FROM transaction_calls
  WHERE api IN ('ADD_PARTITIONS_TO_TXN', 'ADD_OFFSETS_TO_TXN') AND error IS NULL AND producer_id IS NOT NULL
  UNION ALL
  SELECT producer_id, ended_ns, ended_ns
  FROM ends
),
transactions AS (
  SELECT producer_id, ended_ns, min(ns) AS begun_ns, (ended_ns - min(ns)) / 1e9 AS open_seconds
  FROM (
    SELECT producer_id, ns, min(ended_ns) OVER (PARTITION BY producer_id ORDER BY ns
                                                ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS ended_ns
    FROM steps
  ) AS s
  WHERE ended_ns IS NOT NULL
  GROUP BY producer_id, ended_ns
),
usual AS (
  SELECT producer_id, count(*) AS times, percentile_approx(open_seconds, 0.5) AS usual_seconds
  FROM transactions
  GROUP BY producer_id
),
everyone AS (
  SELECT count(*) AS times, percentile_approx(open_seconds, 0.5) AS usual_seconds FROM transactions
),
long_ones AS (
  SELECT t.*, u.times >= 4 AS by_its_own,
         CASE WHEN u.times >= 4 THEN u.usual_seconds ELSE e.usual_seconds END AS usual_seconds,
         row_number() OVER (PARTITION BY t.producer_id ORDER BY open_seconds DESC, begun_ns) AS place
  FROM transactions t JOIN usual u ON t.producer_id = u.producer_id CROSS JOIN everyone e
  WHERE open_seconds >= 10
    AND open_seconds >= 5 * CASE WHEN u.times >= 4 THEN u.usual_seconds WHEN e.times >= 8 THEN e.usual_seconds END
    AND NOT EXISTS (SELECT 1 FROM outage_windows o WHERE begun_ns <= o.to_ns AND t.ended_ns >= o.from_ns)
),
longest AS (SELECT * FROM long_ones WHERE place = 1),
written AS (
  SELECT DISTINCT l.producer_id, b.topic, b.partition, begun_ns, ended_ns
  FROM longest l JOIN batches b ON b.producer_id = l.producer_id AND b.ns BETWEEN l.begun_ns AND l.ended_ns
  WHERE b.api = 'PRODUCE'
),
stood AS (
  SELECT w.producer_id, w.topic, w.partition, last_stable_offset, (max(f.ns) - min(f.ns)) / 1e9 AS waited_seconds,
         max(high_watermark) - last_stable_offset AS held_back, count(DISTINCT f.client_id) AS readers,
         array_agg(DISTINCT f.client_id) AS reader_names
  FROM written w
  JOIN fetched f ON f.topic = w.topic AND f.partition = w.partition AND f.ns BETWEEN w.begun_ns AND w.ended_ns
  JOIN calls c ON c.connection = f.connection AND c.correlation_id = f.correlation_id
  WHERE c.isolation_level = 1 AND NOT c.inner_client AND f.error IS NULL AND last_stable_offset >= 0
    AND high_watermark > last_stable_offset
  GROUP BY w.producer_id, w.topic, w.partition, last_stable_offset
),
waits AS (
  SELECT producer_id, array_agg(DISTINCT topic) AS topics, max(waited_seconds) AS waited_seconds,
         max(held_back) AS held_back, max(readers) AS readers,
         array_agg(DISTINCT concat(topic, '-', partition)) AS partitions,
         max_by(reader_names, waited_seconds) AS reader_names
  FROM stood
  WHERE waited_seconds >= 8
  GROUP BY producer_id
)
SELECT e.client_id, e.transactional_id, l.producer_id, topics, partitions, open_seconds, usual_seconds, outcome,
       waited_seconds, held_back, readers, reader_names, begun_ns AS first_ns, l.ended_ns AS last_ns,
       open_seconds * readers AS weight,
       CASE WHEN by_its_own THEN 'its own usually take' ELSE 'those of others usually take' END AS others,
       CASE WHEN by_its_own THEN 'warning' ELSE 'info' END AS severity
FROM longest l
JOIN waits w ON w.producer_id = l.producer_id
JOIN ends e ON e.producer_id = l.producer_id AND e.ended_ns = l.ended_ns
""",
    subject={"transactionalId": "transactional_id", "client": "client_id", "topic": "topics"},
    evidence=(
        "open_seconds",
        "usual_seconds",
        "outcome",
        "waited_seconds",
        "held_back",
        "readers",
        "reader_names",
        "partitions",
        "producer_id",
    ),
    text="{client_id} (transactional.id {transactional_id}) had a transaction open for {open_seconds} s before it "
    "{outcome} it; {others} {usual_seconds} s. {readers} readers of {topics} (read_committed) waited "
    "{waited_seconds} s for up to {held_back} records",
    ruled_out="a transaction that never ends: it {outcome} this one",
    advice="look at what {client_id} does between its first record and the commit; smaller transactions; "
    "a transaction.timeout.ms that is near to what one may take",
    see='sql "SELECT begun, duration_ms, outcome, partitions FROM transactions '
    "WHERE transactional_id = '{transactional_id}'\" {files}",
    source="transaction.timeout.ms 60000; KIP-98",
    explains={"consumer-stuck": ("topic",), "lagging-consumer": ("topic",)},
    rests_on=("long_ones",),
)
