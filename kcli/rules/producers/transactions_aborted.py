"""A producer aborts its transactions again and again."""

from kcli.rules.rule import CRITICAL, Rule

# An application that fails at a record aborts its transaction, goes back, and fails at the same record again. Single
# aborts are usual, as of tasks that move to other members in a rebalance.
RULE = Rule(
    finding="transactions-aborted",
    title="producers that abort their transactions again and again",
    severity=CRITICAL,
    when="apis LIKE '%,END_TXN,%' AND seconds >= 5",
    sql="""
WITH ends AS (
  SELECT transactional_id, coalesce(client_id, '') AS client_id, producer_id, committed, completed_ns,
         min(CASE WHEN NOT committed THEN completed_ns END) OVER w AS first_ns,
         max(CASE WHEN NOT committed THEN completed_ns END) OVER w AS last_ns
  FROM transaction_calls
  WHERE api = 'END_TXN' AND answered AND error IS NULL AND transactional_id IS NOT NULL
  WINDOW w AS (PARTITION BY transactional_id)
),
aborting AS (
  SELECT transactional_id, array_agg(DISTINCT client_id) AS clients, min(producer_id) AS least_id,
         max(producer_id) AS most_id, sum(CASE WHEN committed THEN 0 ELSE 1 END) AS aborted, count(*) AS ended,
         first_ns, last_ns, (last_ns - first_ns) / 1e9 AS seconds
  FROM ends
  WHERE completed_ns BETWEEN first_ns AND last_ns
  GROUP BY transactional_id, first_ns, last_ns
  HAVING sum(CASE WHEN committed THEN 0 ELSE 1 END) >= greatest(10, 0.8 * count(*)) AND last_ns - first_ns >= 5000000000
),
written AS (
  SELECT transactional_id, sum(records) AS records, array_agg(DISTINCT topic) AS topics
  FROM aborting JOIN batches b ON b.producer_id BETWEEN least_id AND most_id AND b.ns BETWEEN first_ns AND last_ns
  WHERE b.api = 'PRODUCE' AND is_transactional AND NOT is_control AND array_contains(clients, b.client_id)
  GROUP BY transactional_id
),
-- the groups whose offsets it commits in its transactions: it asks for their coordinators
read AS (
  SELECT transactional_id, array_agg(DISTINCT group_id) AS groups
  FROM aborting JOIN coordinator_asks c ON array_contains(clients, coalesce(c.client_id, ''))
  WHERE group_id IS NOT NULL
  GROUP BY transactional_id
)
SELECT a.*, records, topics, groups, CASE WHEN groups IS NULL THEN 'lagging-consumer' END AS spares, aborted AS weight,
       CASE WHEN records > 0
            THEN concat('; ', records, ' records to ', concat_ws(', ', topics), ' were in these ', ended, ', and ',
                        CASE WHEN ended = aborted THEN 'none' ELSE 'few' END, ' reach readers with read_committed')
            ELSE '' END AS lost
FROM aborting a LEFT JOIN written w ON a.transactional_id = w.transactional_id
LEFT JOIN read r ON a.transactional_id = r.transactional_id
""",
    rests_on=("aborting",),
    subject={"transactionalId": "transactional_id", "client": "clients", "topic": "topics", "group": "groups"},
    evidence=("aborted", "ended", "records", "seconds"),
    text="{clients} aborts its transactions (transactional.id {transactional_id}): {aborted} of {ended} in {seconds} s"
    "{lost}",
    ruled_out="the coordinator: the producer itself asks for each abort",
    advice="look into the log of {clients}: which exception makes it abort? If it is always at the same record (its "
    "reader fetches the same offset again), skip that record or write it to a topic of its own",
    see="decode pcap {files} --client {clients} --api EndTxn",
    source="KIP-98: abortTransaction",
    explains={"long-transaction": ("transactionalId",), "lagging-consumer": ("group",)},
)
