"""No right to a group, the cluster or a transactional.id."""

from kcli.rules.rule import CRITICAL, Rule

RULE = Rule(
    finding="authorization-failed",
    title="missing permissions on groups, transactional ids and clusters",
    severity=CRITICAL,
    when="errors LIKE '%AUTHORIZATION_FAILED%'",
    sql="""
WITH failures AS (SELECT client_id, connection, api, explode(errors) AS error, ns FROM calls WHERE failed),
users AS (
  SELECT connection, max(nullif(replace(principal, 'User:', ''), '')) AS principal FROM logins GROUP BY connection
),
logged_in AS (
  SELECT DISTINCT connection FROM sasl_calls WHERE api = 'SASL_AUTHENTICATE' AND error IS NULL AND answered
)
SELECT m.client_id, m.error, count(*) AS refused, array_agg(DISTINCT api) AS apis, (max(ns) - min(ns)) / 1e9 AS seconds,
       min(ns) AS first_ns, max(ns) AS last_ns, max(g.groups) AS groups,
       CASE WHEN count(u.principal) > 0 THEN array_agg(DISTINCT u.principal) FILTER (WHERE u.principal IS NOT NULL)
            END AS users, count(*) AS weight,
       CASE m.error
            WHEN 'GROUP_AUTHORIZATION_FAILED' THEN 'its group'
            WHEN 'CLUSTER_AUTHORIZATION_FAILED' THEN 'the cluster'
            WHEN 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED' THEN 'its transactional.id'
            ELSE 'delegation tokens' END AS thing,
       CASE m.error
            WHEN 'GROUP_AUTHORIZATION_FAILED'
              THEN concat('--group ... --operation ', CASE WHEN bool_or(api IN ('DELETE_GROUPS', 'OFFSET_DELETE'))
                                                             THEN 'Delete'
                                                           WHEN bool_and(api LIKE '%DESCRIBE%') THEN 'Describe'
                                                           ELSE 'Read' END)
            WHEN 'CLUSTER_AUTHORIZATION_FAILED'
              THEN concat('--cluster --operation ',
                          CASE WHEN bool_or(api IN ('INIT_PRODUCER_ID', 'PRODUCE')) THEN 'IdempotentWrite'
                               WHEN bool_or(i.client_id IS NOT NULL) THEN 'ClusterAction'
                               WHEN bool_or(api = 'CREATE_TOPICS') THEN 'Create'
                               WHEN bool_or(api LIKE '%ALTER%CONFIGS' OR api = 'ALTER_CLIENT_QUOTAS')
                                 THEN 'AlterConfigs'
                               WHEN bool_and(api LIKE 'DESCRIBE%CONFIGS' OR api = 'DESCRIBE_CLIENT_QUOTAS')
                                 THEN 'DescribeConfigs'
                               WHEN bool_and(api LIKE 'DESCRIBE%' OR api LIKE 'LIST%') THEN 'Describe'
                               ELSE 'Alter' END)
            WHEN 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED'
              THEN concat('--transactional-id ... --operation ',
                          CASE WHEN bool_and(api = 'DESCRIBE_TRANSACTIONS') THEN 'Describe' ELSE 'Write' END)
            ELSE '--delegation-token ... --operation Describe' END AS right_to_add,
       CASE WHEN count(l.connection) = count(*) THEN 'the login: it succeeded' ELSE '' END AS not_so
FROM failures m LEFT JOIN users u ON m.connection = u.connection LEFT JOIN client_groups g ON m.client_id = g.client_id
LEFT JOIN logged_in l ON m.connection = l.connection
LEFT JOIN (SELECT DISTINCT client_id FROM inner_clients) AS i ON m.client_id = i.client_id
WHERE error IN ('GROUP_AUTHORIZATION_FAILED', 'CLUSTER_AUTHORIZATION_FAILED', 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
                'DELEGATION_TOKEN_AUTHORIZATION_FAILED')
GROUP BY m.client_id, m.error
HAVING count(*) >= 2
""",
    subject={"client": "client_id", "user": "users"},
    evidence=("error", "refused", "apis", "seconds", "groups"),
    text="{client_id} is not authorized for {thing}: {refused} times {error} in {seconds} s ({apis})",
    ruled_out="{not_so}",
    advice="add an ACL for its user on {thing} (kafka-acls.sh --add --allow-principal User:... {right_to_add}), or "
    "log in as another user",
    see="decode pcap {files} --client {client_id} --errors={error}",
    source="authorizer.class.name",
    explains=dict.fromkeys(("errors-again", "connection-churn", "no-partitions"), ("client",)),
)
