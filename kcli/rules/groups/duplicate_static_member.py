"""Two processes have one group.instance.id."""

from kcli.rules.rule import CRITICAL, Rule

RULE = Rule(
    finding="duplicate-static-member",
    title="a group.instance.id that several processes have",
    severity=CRITICAL,
    when="errors LIKE '%INSTANCE_ID,%'",
    sql="""
WITH joins AS (
  SELECT group_id, instance_id, coalesce(client_id, '') AS client_id, connection, member_id, completed_ns,
         lag(connection) OVER (PARTITION BY group_id, instance_id ORDER BY completed_ns) AS before
  FROM group_calls
  WHERE instance_id IS NOT NULL AND (api = 'JOIN_GROUP' OR (api = 'CONSUMER_GROUP_HEARTBEAT' AND generation = 0))
),
fenced AS (
  SELECT group_id, instance_id, count(*) AS fenced, array_agg(DISTINCT api) AS apis,
         array_agg(DISTINCT client_id) AS clients, min(completed_ns) AS first_ns, max(completed_ns) AS last_ns
  FROM group_calls
  WHERE error IN ('FENCED_INSTANCE_ID', 'UNRELEASED_INSTANCE_ID') AND instance_id IS NOT NULL
  GROUP BY group_id, instance_id
)
SELECT f.group_id, f.instance_id, f.fenced, f.apis, count(j.connection) AS joins,
       count(DISTINCT j.member_id) AS member_ids, count(DISTINCT j.connection) AS connections,
       sum(CASE WHEN before IS NOT NULL AND before != connection THEN 1 ELSE 0 END) AS in_turn,
       coalesce(array_agg(DISTINCT j.client_id) FILTER (WHERE j.client_id IS NOT NULL), max(f.clients)) AS clients,
       max(f.first_ns) AS first_ns, max(f.last_ns) AS last_ns, f.fenced AS weight
FROM fenced f LEFT JOIN joins j ON f.group_id = j.group_id AND f.instance_id = j.instance_id
GROUP BY f.group_id, f.instance_id, f.fenced, f.apis
HAVING f.fenced >= 2 OR sum(CASE WHEN before IS NOT NULL AND before != connection THEN 1 ELSE 0 END) >= 2
""",
    subject={"group": "group_id", "client": "clients"},
    evidence=("instance_id", "fenced", "apis", "joins", "member_ids", "connections", "in_turn", "clients"),
    says="group {group_id}: {clients} join as the same group.instance.id {instance_id}, on {connections} connections: "
    "they fenced each other {fenced} times",
    ruled_out="a restart of one process: they take turns",
    advice="give each process its own group.instance.id; find who started {instance_id} twice",
    see="decode pcap {files} --errors=FENCED_INSTANCE_ID",
    source="KIP-345; group.instance.id",
    explains={
        "rebalance-storm": ("group",),
        "slow-rebalance": ("group",),
        "connection-churn": ("client",),
        "errors-again": ("client",),
        "consumer-stuck": ("group",),
    },
)
