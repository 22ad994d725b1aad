"""No right to a topic."""

from kcli.rules.rule import CRITICAL, Rule

RULE = Rule(
    finding="topic-authorization-failed",
    title="topics without the right to them",
    severity=CRITICAL,
    when="errors LIKE '%,TOPIC_AUTHORIZATION_FAILED,%'",
    sql="""
WITH refused AS (
  SELECT coalesce(client_id, '') AS client_id, connection, topic, completed_ns AS ns, 'METADATA' AS api
  FROM metadata_topics
  WHERE error = 'TOPIC_AUTHORIZATION_FAILED'
  UNION ALL
  SELECT client_id, connection, topic, ns, 'FETCH'
  FROM fetched
  WHERE error = 'TOPIC_AUTHORIZATION_FAILED'
  UNION ALL
  SELECT client_id, connection, topic, ns, 'PRODUCE'
  FROM produced
  WHERE error = 'TOPIC_AUTHORIZATION_FAILED'
  UNION ALL
  SELECT coalesce(client_id, ''), connection, topic, completed_ns, 'OFFSET_COMMIT'
  FROM commits
  WHERE error = 'TOPIC_AUTHORIZATION_FAILED'
),
users AS (
  SELECT connection, max(nullif(replace(principal, 'User:', ''), '')) AS principal FROM logins GROUP BY connection
)
SELECT r.client_id, r.topic, count(*) AS refused, array_agg(DISTINCT api) AS apis, (max(ns) - min(ns)) / 1e9 AS seconds,
       min(ns) AS first_ns, max(ns) AS last_ns,
       array_agg(DISTINCT u.principal) FILTER (WHERE u.principal IS NOT NULL) AS users, count(*) AS weight
FROM refused r LEFT JOIN users u ON r.connection = u.connection
WHERE r.topic IS NOT NULL
GROUP BY r.client_id, r.topic
HAVING count(*) >= 2
""",
    subject={"topic": "topic", "client": "client_id", "user": "users"},
    evidence=("refused", "apis", "seconds", "users"),
    says="{client_id} has no right to {topic}: {refused} times TOPIC_AUTHORIZATION_FAILED in {seconds} s ({apis})",
    ruled_out="the login: it was taken",
    advice="add an ACL for its user on {topic} (kafka-acls.sh --add --allow-principal User:... --topic {topic} "
    "--operation Read or Write), or the right user",
    see="decode pcap {files} --topic {topic} --errors",
    source="authorizer.class.name, allow.everyone.if.no.acl.found",
    explains={
        "errors-again": ("client",),
        "connection-churn": ("client",),
        "metadata-storm": ("client",),
        "unknown-topic": ("client", "topic"),
    },
)
