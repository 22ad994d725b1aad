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
WITH transaction_requests AS (
  SELECT transactional_id, coalesce(client_id, '') AS client_id, producer_id, api, error, timeout_ms,
         unix_micros(timestamp) * 1000 AS ns, completed_ns
  FROM transaction_calls
  WHERE transactional_id IS NOT NULL AND producer_id IS NOT NULL AND answered
),
refused AS (
  SELECT *
  FROM transaction_requests
  WHERE api != 'INIT_PRODUCER_ID' AND error IN ('INVALID_TXN_STATE', 'PRODUCER_FENCED', 'INVALID_PRODUCER_EPOCH')
),
moments AS (
  SELECT transactional_id, client_id, producer_id, api, error, ns, NULL AS since_ns, NULL AS timeout_ms FROM refused
  UNION ALL
  SELECT transactional_id, client_id, producer_id, api, NULL, completed_ns, completed_ns, timeout_ms
  FROM transaction_requests
  WHERE api IN ('INIT_PRODUCER_ID', 'END_TXN') AND error IS NULL
),
followed AS (
  SELECT transactional_id, client_id, producer_id, api, error, ns,
         max(since_ns) OVER (PARTITION BY transactional_id ORDER BY ns) AS since_ns,
         max(since_ns) OVER (PARTITION BY transactional_id, client_id ORDER BY ns) AS own_ns,
         max(timeout_ms) OVER (PARTITION BY transactional_id ORDER BY ns) AS timeout_ms
  FROM moments
),
late AS (
  SELECT *
  FROM followed
  WHERE error IS NOT NULL AND own_ns = since_ns AND (ns - since_ns) / 1e6 >= timeout_ms
),
steps AS (
  SELECT producer_id, ns FROM batches WHERE api = 'PRODUCE' AND is_transactional AND NOT is_control
  UNION ALL
  SELECT producer_id, ns FROM transaction_requests
  WHERE api IN ('ADD_PARTITIONS_TO_TXN', 'ADD_OFFSETS_TO_TXN') AND error IS NULL
),
begun AS (
  SELECT producer_id, since_ns, step_ns,
         min(step_ns) OVER (PARTITION BY producer_id ORDER BY since_ns DESC) AS opened_ns
  FROM (
    SELECT DISTINCT producer_id, since_ns, CAST(NULL AS BIGINT) AS step_ns FROM late
    UNION ALL
    SELECT producer_id, ns, ns FROM steps WHERE producer_id IN (SELECT producer_id FROM late)
  ) AS x
),
opened AS (
  SELECT l.*, b.opened_ns
  FROM late l
  JOIN begun b ON b.producer_id = l.producer_id AND b.since_ns = l.since_ns AND b.step_ns IS NULL
)
SELECT o.transactional_id, client_id, count(*) AS refused, array_agg(DISTINCT error) AS errors,
       array_agg(DISTINCT api) AS apis, max(timeout_ms) AS transaction_timeout_ms,
       max(ns - opened_ns) / 1e9 AS open_seconds, min(ns) AS first_ns, max(ns) AS last_ns, count(*) AS weight,
       coalesce(max(ended), 0) AS ended
FROM opened o
LEFT JOIN (
  SELECT transactional_id, count(*) AS ended
  FROM transaction_requests
  WHERE api = 'END_TXN' AND error IS NULL
  GROUP BY transactional_id
) AS e
  ON o.transactional_id = e.transactional_id
WHERE (ns - opened_ns) / 1e6 >= timeout_ms
GROUP BY o.transactional_id, client_id
""",
    rests_on=("late",),
    subject={"transactionalId": "transactional_id", "client": "client_id"},
    evidence=("refused", "errors", "apis", "ended", "open_seconds", "transaction_timeout_ms"),
    text="{client_id} takes longer for a transaction than its transaction.timeout.ms ({transaction_timeout_ms}): the "
    "coordinator aborted {refused} of transactional.id {transactional_id} meanwhile, and refused the requests after "
    "that ({apis}: {errors}), after up to {open_seconds} s; {ended} ended well",
    ruled_out="another producer with the same transactional.id",
    advice="raise transaction.timeout.ms (at most transaction.max.timeout.ms of the broker, 900000), or do less in a "
    "transaction: what was written in an aborted one is lost unless {client_id} writes it again",
    see="decode pcap {files} --client {client_id} --api InitProducerId,AddPartitionsToTxn,EndTxn",
    source="transaction.timeout.ms 60000, transaction.abort.timed.out.transaction.cleanup.interval.ms 10000; KIP-98",
    explains={
        "errors-again": ("client",),
        "long-transaction": ("transactionalId",),
        "hanging-transaction": ("transactionalId",),
        "transactions-aborted": ("transactionalId",),
        "connection-churn": ("client",),
    },
)
