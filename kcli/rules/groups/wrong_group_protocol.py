"""A member does not fit its group."""

from kcli.rules.rule import CRITICAL, Rule

RULE = Rule(
    finding="wrong-group-protocol",
    title="members that do not fit their group",
    severity=CRITICAL,
    when="failed >= 2 AND (apis LIKE '%,JOIN_GROUP,%' OR apis LIKE '%,CONSUMER_GROUP_HEARTBEAT,%')",
    sql="""
WITH joins AS (
  SELECT group_id, coalesce(client_id, '') AS client_id, protocols, error, completed_ns AS ns
  FROM group_calls
  WHERE api IN ('JOIN_GROUP', 'SYNC_GROUP', 'CONSUMER_GROUP_HEARTBEAT')
)
SELECT group_id, client_id, count(*) AS refused, array_agg(DISTINCT error) AS errors, max(protocols) AS offered,
       (
         SELECT array_agg(DISTINCT o.protocols)
         FROM joins o
         WHERE o.group_id = j.group_id AND o.client_id != j.client_id AND o.error IS NULL AND o.protocols IS NOT NULL
       ) AS others, min(ns) AS first_ns, max(ns) AS last_ns, count(*) AS weight
FROM joins j
WHERE error IN ('INCONSISTENT_GROUP_PROTOCOL', 'UNSUPPORTED_ASSIGNOR', 'GROUP_MAX_SIZE_REACHED',
                'INVALID_SESSION_TIMEOUT', 'INVALID_GROUP_ID')
GROUP BY group_id, client_id
HAVING count(*) >= 2
""",
    subject={"client": "client_id", "group": "group_id"},
    evidence=("refused", "errors", "offered", "others"),
    says="group {group_id} refuses {client_id}: {refused} times {errors}; it offers {offered}, the others {others}",
    ruled_out="rebalances",
    advice="give all members one partition.assignment.strategy (or group.protocol), during a change both, "
    "in two rolling restarts; set session.timeout.ms within group.min.session.timeout.ms and "
    "group.max.session.timeout.ms; give another application its own group.id",
    see="decode pcap {files} --api JoinGroup --errors",
    source="partition.assignment.strategy, KIP-429, KIP-848; group.max.size",
    explains={"errors-again": ("client",), "connection-churn": ("client",), "rebalance-storm": ("group",)},
)
