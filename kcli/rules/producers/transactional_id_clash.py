"""Two producers share a transactional.id."""

from kcli.rules.rule import CRITICAL, Rule

RULE = Rule(
    finding="transactional-id-clash",
    title="a transactional.id that several producers have",
    severity=CRITICAL,
    when="errors LIKE '%PRODUCER_FENCED%' OR errors LIKE '%INVALID_PRODUCER_%'",
    sql="""
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
fenced AS (
  SELECT p.transactional_id, x.error, x.client_id
  FROM (
    SELECT transactional_id, CAST(NULL AS BIGINT) AS producer_id, error, coalesce(client_id, '') AS client_id
    FROM transaction_calls
    WHERE error IN ('PRODUCER_FENCED', 'INVALID_PRODUCER_EPOCH', 'INVALID_PRODUCER_ID_MAPPING')
      AND api != 'INIT_PRODUCER_ID'
    UNION ALL
    SELECT NULL, b.producer_id, p.error, b.client_id
    FROM produced p
    JOIN batches b
      ON b.connection = p.connection AND b.correlation_id = p.correlation_id AND b.topic = p.topic
      AND b.partition = p.partition AND b.api = 'PRODUCE'
    WHERE p.error IN ('PRODUCER_FENCED', 'INVALID_PRODUCER_EPOCH')
  ) AS x
  JOIN producers p ON p.transactional_id = x.transactional_id OR p.producer_id = x.producer_id
),
counted AS (
  SELECT transactional_id, count(*) AS fenced, array_agg(DISTINCT error) AS errors FROM fenced GROUP BY transactional_id
)
SELECT t.transactional_id, array_agg(DISTINCT t.client_id) AS clients, count(*) AS begins,
       count(DISTINCT connection) AS connections,
       sum(CASE WHEN link_before IS NOT NULL AND link_before != connection THEN 1 ELSE 0 END) AS in_turn,
       min(producer_epoch) AS first_epoch, max(producer_epoch) AS last_epoch, coalesce(max(c.fenced), 0) AS fenced,
       max(c.errors) AS errors, min(completed_ns) AS first_ns, max(completed_ns) AS last_ns, count(*) AS weight
FROM turns t LEFT JOIN counted c ON t.transactional_id = c.transactional_id
GROUP BY t.transactional_id
HAVING count(DISTINCT connection) >= 2 AND coalesce(max(c.fenced), 0) >= 1
  AND sum(CASE WHEN link_before IS NOT NULL AND link_before != connection THEN 1
               ELSE 0 END) >= CASE WHEN count(DISTINCT t.client_id) > 1 THEN 2 ELSE 3 END
""",
    subject={"transactionalId": "transactional_id", "client": "clients"},
    evidence=("begins", "connections", "in_turn", "first_epoch", "last_epoch", "fenced", "errors", "clients"),
    says="transactional.id {transactional_id} is in use by several producers at once ({clients}): "
    "{begins} InitProducerId on {connections} connections in turn, {fenced} requests fenced ({errors})",
    ruled_out="a restart of one producer: they take turns",
    advice="give each instance its own transactional.id (the same one again only when it restarts)",
    see="decode pcap {files} --api InitProducerId",
    source="KIP-98, KIP-447; transactional.id",
    explains={
        "errors-again": ("client",),
        "connection-churn": ("client",),
        "hanging-transaction": ("transactionalId",),
        "long-transaction": ("transactionalId",),
        "sequence-gap": ("client",),
    },
)
