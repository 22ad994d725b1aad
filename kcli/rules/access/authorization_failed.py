"""No right to a group, the cluster or a transactional.id."""

from kcli.rules.rule import CRITICAL, Rule

RULE = Rule(
    finding="authorization-failed",
    title="missing permissions on groups, transactional ids and clusters",
    severity=CRITICAL,
    when="errors LIKE '%AUTHORIZATION_FAILED%'",
    sql="""
WITH met AS (SELECT client_id, connection, api, explode(errors) AS error, ns FROM calls WHERE failed),
users AS (
  SELECT connection, max(nullif(replace(principal, 'User:', ''), '')) AS principal FROM logins GROUP BY connection
)
SELECT m.client_id, m.error, count(*) AS refused, array_agg(DISTINCT api) AS apis, (max(ns) - min(ns)) / 1e9 AS seconds,
       min(ns) AS first_ns, max(ns) AS last_ns, max(g.groups) AS groups,
       CASE WHEN count(u.principal) > 0 THEN array_agg(DISTINCT u.principal) FILTER (WHERE u.principal IS NOT NULL)
            END AS users, count(*) AS weight,
       CASE m.error
            WHEN 'GROUP_AUTHORIZATION_FAILED' THEN 'its group'
            WHEN 'CLUSTER_AUTHORIZATION_FAILED' THEN 'the cluster'
            WHEN 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED' THEN 'its transactional.id'
            ELSE 'delegation tokens' END AS thing
FROM met m LEFT JOIN users u ON m.connection = u.connection LEFT JOIN client_groups g ON m.client_id = g.client_id
WHERE error IN ('GROUP_AUTHORIZATION_FAILED', 'CLUSTER_AUTHORIZATION_FAILED', 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
                'DELEGATION_TOKEN_AUTHORIZATION_FAILED')
GROUP BY m.client_id, m.error
HAVING count(*) >= 2
""",
    subject={"client": "client_id", "user": "users"},
    evidence=("error", "refused", "apis", "seconds", "groups"),
    says="{client_id} has no right to {thing}: {refused} times {error} in {seconds} s ({apis})",
    ruled_out="the login: it succeeded",
    advice="add an ACL for its user on {thing} (kafka-acls.sh --add --allow-principal User:... --operation Read, "
    "Write or IdempotentWrite), or the right user",
    see="decode pcap {files} --client {client_id} --errors={error}",
    source="authorizer.class.name",
    explains={"errors-again": ("client",), "connection-churn": ("client",)},
)
