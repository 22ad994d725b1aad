"""A producer works longer on its transactions than they may take: the coordinator aborts them."""

from kcli.rules.rule import Rule

# The coordinator looks every 10 s for transactions that are open for longer than their transaction.timeout.ms, aborts
# them and raises the producer's epoch: the next request of the producer is refused, mostly its commit. Where another
# producer began with the transactional.id meanwhile, it was fenced by that (transactional-id-clash). A transaction
# of it that stands is the next one to be aborted.
RULE = Rule(
    finding="transaction-timeout",
    title="transactions that time out under their producer",
    when="errors LIKE '%INVALID_TXN_STATE%' OR errors LIKE '%PRODUCER_FENCED%' OR errors LIKE '%INVALID_PRODUCER_E%'",
    sql="""
WITH asked AS (
  SELECT transactional_id, coalesce(client_id, '') AS client_id, producer_id, api, error, timeout_ms,
         unix_micros(timestamp) * 1000 AS ns, completed_ns
  FROM transaction_calls
  WHERE transactional_id IS NOT NULL AND producer_id IS NOT NULL AND answered
),
refused AS (
  SELECT *
  FROM asked
  WHERE api != 'INIT_PRODUCER_ID' AND error IN ('INVALID_TXN_STATE', 'PRODUCER_FENCED', 'INVALID_PRODUCER_EPOCH')
),
late AS (
  SELECT r.transactional_id, r.client_id, r.producer_id, r.api, r.error, r.ns, max(b.completed_ns) AS since_ns,
         max(b.timeout_ms) AS timeout_ms
  FROM refused r
  JOIN asked b
    ON b.transactional_id = r.transactional_id AND b.api IN ('INIT_PRODUCER_ID', 'END_TXN') AND b.error IS NULL
    AND b.completed_ns <= r.ns
  GROUP BY r.transactional_id, r.client_id, r.producer_id, r.api, r.error, r.ns
  HAVING max_by(b.client_id, b.completed_ns) = r.client_id
),
steps AS (
  SELECT producer_id, ns FROM batches WHERE api = 'PRODUCE' AND is_transactional AND NOT is_control
  UNION ALL
  SELECT producer_id, ns FROM asked WHERE api IN ('ADD_PARTITIONS_TO_TXN', 'ADD_OFFSETS_TO_TXN') AND error IS NULL
),
opened AS (
  SELECT l.transactional_id, l.client_id, l.api, l.error, l.ns, l.timeout_ms, min(s.ns) AS opened_ns
  FROM late l JOIN steps s ON s.producer_id = l.producer_id AND s.ns BETWEEN l.since_ns AND l.ns
  GROUP BY l.transactional_id, l.client_id, l.api, l.error, l.ns, l.timeout_ms
)
SELECT transactional_id, client_id, count(*) AS refused, array_agg(DISTINCT error) AS errors,
       array_agg(DISTINCT api) AS apis, max(timeout_ms) AS transaction_timeout_ms,
       max(ns - opened_ns) / 1e9 AS open_seconds, min(ns) AS first_ns, max(ns) AS last_ns, count(*) AS weight,
       (
         SELECT count(*)
         FROM asked e
         WHERE e.transactional_id = o.transactional_id AND e.api = 'END_TXN' AND e.error IS NULL
       ) AS ended
FROM opened o
WHERE (ns - opened_ns) / 1e6 >= timeout_ms
GROUP BY transactional_id, client_id
""",
    subject={"transactionalId": "transactional_id", "client": "client_id"},
    evidence=("refused", "errors", "apis", "ended", "open_seconds", "transaction_timeout_ms"),
    says="{client_id} takes longer for a transaction than its transaction.timeout.ms ({transaction_timeout_ms}): the "
    "coordinator aborted {refused} of transactional.id {transactional_id} meanwhile, and refused what came then "
    "({apis}: {errors}), after up to {open_seconds} s; {ended} ended well",
    ruled_out="another producer with the same transactional.id",
    advice="raise transaction.timeout.ms (at most transaction.max.timeout.ms of the broker, 900000), or do less in a "
    "transaction: what was written in an aborted one is lost unless {client_id} writes it again",
    see="decode pcap {files} --client {client_id} --api InitProducerId,AddPartitionsToTxn,EndTxn",
    source="transaction.timeout.ms 60000, transaction.abort.timed.out.transaction.cleanup.interval.ms 10000; KIP-98",
    explains={
        "errors-again": ("client",),
        "long-transaction": ("transactionalId",),
        "hanging-transaction": ("transactionalId",),
        "connection-churn": ("client",),
    },
)
