"""Two producers share a transactional.id."""

from kcli.rules.prepared import OF_BATCH
from kcli.rules.rule import CRITICAL, Rule

# A single takeover is reported if the fenced producer was active: it sent requests just before, and goes on sending.
# That may be intended, as when a deployment starts the new producer before it stops the old one. A producer that
# returns after a long silence was replaced, as it should be. A producer that never returns was restarted. Ids with more
# takeovers need no such proof: the queries from `few` on look only at ids with one or two.
# A producer that is refused although no other one began was fenced by the coordinator (transaction-timeout), or its id
# has expired (INVALID_PRODUCER_ID_MAPPING).
RULE = Rule(
    finding="transactional-id-clash",
    title="a transactional.id that several producers use",
    severity=CRITICAL,
    when="errors LIKE '%PRODUCER_FENCED%' OR errors LIKE '%INVALID_PRODUCER_%'",
    sql=f"""
WITH begins AS (
  SELECT transactional_id, coalesce(client_id, '') AS client_id, connection, producer_id, producer_epoch, completed_ns
  FROM transaction_calls
  WHERE api = 'INIT_PRODUCER_ID' AND transactional_id IS NOT NULL AND error IS NULL
),
turns AS (
  SELECT *, lag(client_id) OVER w AS client_before, lag(connection) OVER w AS link_before,
         lag(producer_epoch) OVER w AS epoch_before
  FROM begins
  WINDOW w AS (PARTITION BY transactional_id ORDER BY completed_ns)
),
producers AS (SELECT DISTINCT transactional_id, producer_id FROM begins),
refused AS (
  SELECT p.transactional_id, x.error, x.client_id, x.own_id, x.producer_epoch, x.completed_ns
  FROM (
    SELECT transactional_id, CAST(NULL AS BIGINT) AS producer_id, error, coalesce(client_id, '') AS client_id,
           producer_id AS own_id, producer_epoch, completed_ns
    FROM transaction_calls
    WHERE error IN ('PRODUCER_FENCED', 'INVALID_PRODUCER_EPOCH', 'INVALID_PRODUCER_ID_MAPPING')
      AND api != 'INIT_PRODUCER_ID'
    UNION ALL
    SELECT NULL, b.producer_id, p.error, b.client_id, b.producer_id, b.producer_epoch, p.ns + 2000000000
    FROM produced p
    JOIN batches b ON {OF_BATCH}
    WHERE p.error IN ('PRODUCER_FENCED', 'INVALID_PRODUCER_EPOCH')
  ) AS x
  JOIN producers p ON p.transactional_id = x.transactional_id OR p.producer_id = x.producer_id
),
fenced AS (
  SELECT y.transactional_id, error, y.client_id
  FROM (
    SELECT transactional_id, error, client_id, own_id, producer_epoch,
           max(CASE WHEN begun_id IS NOT NULL THEN completed_ns END) OVER before AS begun_ns,
           max(begun_epoch) OVER before AS last_epoch, min(begun_id) OVER before AS least_id,
           max(begun_id) OVER before AS most_id
    FROM (
      SELECT *, CAST(NULL AS BIGINT) AS begun_id, CAST(NULL AS BIGINT) AS begun_epoch FROM refused
      UNION ALL
      SELECT transactional_id, NULL, NULL, NULL, NULL, completed_ns, producer_id, producer_epoch FROM begins
    ) AS x
    WINDOW before AS (PARTITION BY transactional_id ORDER BY completed_ns)
  ) AS y
  LEFT JOIN begins b ON y.transactional_id = b.transactional_id AND begun_ns = b.completed_ns
  WHERE CASE WHEN error = 'INVALID_PRODUCER_ID_MAPPING' THEN b.producer_id != own_id
             ELSE error IS NOT NULL AND (last_epoch > y.producer_epoch OR least_id != own_id OR most_id != own_id) END
),
counted AS (
  SELECT transactional_id, count(*) AS fenced, array_agg(DISTINCT error) AS errors FROM fenced GROUP BY transactional_id
),
summed AS (
  SELECT t.transactional_id, array_agg(DISTINCT t.client_id) AS clients, count(*) AS begins,
         count(DISTINCT connection) AS connections,
         sum(CASE WHEN link_before IS NOT NULL AND link_before != connection THEN 1 ELSE 0 END) AS in_turn,
         min(producer_epoch) AS first_epoch, max(producer_epoch) AS last_epoch, max(c.fenced) AS fenced,
         max(c.errors) AS errors, min(completed_ns) AS first_ns, max(completed_ns) AS last_ns,
         CASE WHEN count(DISTINCT t.client_id) > 1 THEN 2 ELSE 3 END AS enough
  FROM turns t JOIN counted c ON t.transactional_id = c.transactional_id
  GROUP BY t.transactional_id
  HAVING count(DISTINCT connection) >= 2
),
few AS (SELECT transactional_id FROM summed WHERE in_turn < enough),
acts AS (
  SELECT transactional_id, producer_epoch, unix_micros(timestamp) * 1000 AS ns
  FROM transaction_calls
  WHERE api != 'INIT_PRODUCER_ID' AND transactional_id IN (SELECT transactional_id FROM few)
  UNION ALL
  SELECT p.transactional_id, b.producer_epoch, b.ns
  FROM batches b JOIN producers p ON b.producer_id = p.producer_id
  WHERE b.api = 'PRODUCE' AND p.transactional_id IN (SELECT transactional_id FROM few)
),
asked_first AS (
  SELECT transactional_id, connection, min(unix_micros(timestamp)) * 1000 AS ns
  FROM transaction_calls
  WHERE api = 'INIT_PRODUCER_ID' AND transactional_id IN (SELECT transactional_id FROM few)
  GROUP BY transactional_id, connection
),
last_and_next AS (
  SELECT t.transactional_id, max(CASE WHEN a.ns < i.ns THEN a.ns END) AS before_ns,
         min(CASE WHEN a.ns > i.ns THEN a.ns END) AS after_ns
  FROM turns t
  JOIN asked_first i ON i.transactional_id = t.transactional_id AND i.connection = t.connection
  JOIN acts a ON a.transactional_id = t.transactional_id AND a.producer_epoch < t.producer_epoch
  WHERE link_before IS NOT NULL AND link_before != t.connection
  GROUP BY t.transactional_id, i.ns
),
activity AS (
  SELECT transactional_id, max(CASE WHEN after_ns - before_ns <= 5000000000 THEN 1 ELSE 0 END) AS was_at_work
  FROM last_and_next
  WHERE after_ns IS NOT NULL
  GROUP BY transactional_id
),
with_activity AS (SELECT s.*, was_at_work FROM summed s LEFT JOIN activity p ON s.transactional_id = p.transactional_id)
SELECT *, begins AS weight,
       CASE WHEN in_turn >= enough THEN 'is in use by several producers at once'
            WHEN was_at_work = 1 THEN 'was taken from a producer that was using it'
            ELSE 'was taken over; the producer before came back after a silence and was fenced' END AS state,
       CASE WHEN in_turn >= enough THEN 'they take turns' ELSE 'the one before kept sending requests' END AS proof,
       CASE WHEN in_turn < enough AND was_at_work = 0
            THEN concat('nothing, if it was replaced on purpose (its open transaction was aborted); ',
                        'otherwise find out what stopped the one before: GC, a frozen machine') END AS advised,
       CASE WHEN in_turn >= enough THEN 'critical' ELSE 'info' END AS severity
FROM with_activity
WHERE in_turn >= enough OR was_at_work IS NOT NULL
""",
    subject={"transactionalId": "transactional_id", "client": "clients"},
    evidence=("begins", "connections", "in_turn", "first_epoch", "last_epoch", "fenced", "errors", "clients"),
    text="transactional.id {transactional_id} {state} ({clients}): "
    "{begins} InitProducerId on {connections} connections in turn, {fenced} requests fenced ({errors})",
    ruled_out="a restart of one producer: {proof}",
    advice="give each instance its own transactional.id (the same one again only when it restarts)",
    see="decode pcap {files} --api InitProducerId",
    source="KIP-98, KIP-447; transactional.id",
    explains={
        "errors-again": ("client",),
        "connection-churn": ("client",),
        "hanging-transaction": ("transactionalId",),
        "long-transaction": ("transactionalId",),
        "transaction-timeout": ("transactionalId",),
        "transactions-aborted": ("transactionalId",),
        "sequence-gap": ("client",),
    },
    rests_on=("summed",),
)
