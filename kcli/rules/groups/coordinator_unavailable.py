"""The coordinator of a group, a transactional id or a share partition does not become available."""

from kcli.rules.rule import CRITICAL, Rule
from kcli.schemas.errors import COORDINATOR_ERRORS

# At start-up, coordinators are unavailable while the broker creates or loads __consumer_offsets: there an end is near,
# so the errors have to last.
RULE = Rule(
    finding="coordinator-unavailable",
    title="coordinators that do not become available",
    severity=CRITICAL,
    when="failed >= 5 AND errors LIKE '%COORDINATOR%'",
    sql=f"""
WITH named AS (
  SELECT client_id, 'group' AS kind, group_id AS name, completed_ns AS ns, error, answered, server
  FROM group_calls
  UNION ALL
  SELECT client_id, coalesce(kind, CASE WHEN group_id IS NULL THEN 'transactional id' ELSE 'group' END),
         coordinator_key, completed_ns, error, false, server
  FROM coordinator_asks
  UNION ALL
  SELECT client_id, 'transactional id', transactional_id, completed_ns, error, answered, server
  FROM transaction_calls
  WHERE transactional_id IS NOT NULL
),
bad AS (
  SELECT coalesce(client_id, '') AS client_id, kind, name, min(ns) AS first_ns, max(ns) AS last_ns, count(*) AS refused,
         array_agg(DISTINCT error) AS errors, array_agg(DISTINCT server) AS servers
  FROM named
  WHERE error IN {COORDINATOR_ERRORS}
  GROUP BY 1, 2, 3
),
well AS (SELECT kind, name, count(*) AS good FROM named WHERE error IS NULL AND answered GROUP BY kind, name)
SELECT b.client_id, b.kind, b.kind AS cause, b.name,
       CASE b.kind WHEN 'group' THEN b.name
                   WHEN 'share partition' THEN regexp_replace(b.name, ':[^:]*:[^:]*$', '') END AS group_id,
       CASE WHEN b.kind = 'transactional id' THEN b.name END AS transactional_id,
       CASE b.kind WHEN 'group' THEN '__consumer_offsets' WHEN 'share partition' THEN '__share_group_state'
                   ELSE '__transaction_state' END AS log,
       CASE b.kind WHEN 'group' THEN 'offsets.topic' WHEN 'share partition' THEN 'share.coordinator.state.topic'
                   ELSE 'transaction.state.log' END AS setting, refused, errors,
       servers, (last_ns - b.first_ns) / 1e9 AS seconds, coalesce(good, 0) AS good, b.first_ns, b.last_ns,
       refused AS weight
FROM bad b LEFT JOIN well g ON b.kind = g.kind AND b.name = g.name
WHERE refused >= 5 AND (last_ns - b.first_ns) / 1e9 >= 8 AND coalesce(good, 0) <= refused
""",
    subject={"group": "group_id", "transactionalId": "transactional_id", "client": "client_id"},
    evidence=("refused", "errors", "good", "seconds", "servers"),
    text="{kind} {name} has no coordinator: {client_id} got {errors} {refused} times in {seconds} s by {servers}; "
    "of all responses about it, {good} were good",
    ruled_out="start-up: it has taken {seconds} s",
    advice="look at the leaders of {log}: offline partitions, fewer brokers than {setting}.replication.factor, "
    "a load that never ends (a log that is not compacted: log.cleaner.enable, a dead cleaner thread)",
    see="decode pcap {files} --client {client_id} --errors",
    source="kafka.server:group-coordinator-metrics partition-load-time-max; offsets.topic.replication.factor, "
    "transaction.state.log.replication.factor",
    explains={"errors-again": ("client",), "metadata-storm": ("client",), "long-transaction": ("client",)},
)
