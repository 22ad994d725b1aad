"""No right to a topic."""

from kcli.rules.prepared import CLIENT_END, SERVER_END
from kcli.rules.rule import CRITICAL, Rule

# The refusal repeats. Or there is one refusal, and the client stays but neither reads nor writes: a Java consumer whose
# application catches the exception and polls on. Or it goes on with other topics alone, and the connection on which it
# was refused shows that it is the same process: consumers ask again only after metadata.max.age.ms. A user without its
# ACLs is one cause, whatever topics and clients it has.
RULE = Rule(
    finding="topic-authorization-failed",
    title="missing permissions on topics",
    severity=CRITICAL,
    when="errors LIKE '%,TOPIC_AUTHORIZATION_FAILED,%'",
    sql=f"""
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
at_work AS (
  SELECT client_id, topic FROM fetched WHERE error IS NULL
  UNION
  SELECT client_id, topic FROM produced WHERE error IS NULL
),
lasting AS (
  SELECT client_id, topic, max(coalesce(client_ns, server_ns, last_ns) - ns) >= 5000000000 AS stays
  FROM (
    SELECT r.client_id, r.topic, r.ns, k.last_ns, {CLIENT_END} AS client_ns,
           {SERVER_END} AS server_ns
    FROM refused r
    JOIN clients k ON r.client_id = k.client_id
    LEFT JOIN conns c ON r.connection = c.connection
  ) AS ends
  GROUP BY client_id, topic
),
working AS (
  SELECT r.client_id, r.topic, bool_or(w.topic = r.topic) AS took_it
  FROM refused r JOIN at_work w ON r.client_id = w.client_id
  GROUP BY r.client_id, r.topic
),
users AS (
  SELECT connection, max(nullif(replace(principal, 'User:', ''), '')) AS principal FROM logins GROUP BY connection
),
logged_in AS (
  SELECT DISTINCT connection FROM sasl_calls WHERE api = 'SASL_AUTHENTICATE' AND error IS NULL AND answered
),
missing AS (
  SELECT r.client_id, r.topic, count(*) AS refused, array_agg(DISTINCT api) AS apis,
         (max(ns) - min(ns)) / 1e9 AS seconds, min(ns) AS first_ns, max(ns) AS last_ns,
         CASE WHEN count(u.principal) > 0 THEN array_agg(DISTINCT u.principal) FILTER (WHERE u.principal IS NOT NULL)
              END AS users,
         CASE WHEN count(*) = 1 AND max(w.client_id) IS NOT NULL THEN 'warning' ELSE 'critical' END AS severity,
         CASE WHEN count(*) = 1 AND max(w.client_id) IS NOT NULL
              THEN '; it continues without this topic' ELSE '' END AS after,
         CASE WHEN bool_or(api = 'PRODUCE') THEN 'Write'
              WHEN bool_or(api IN ('FETCH', 'OFFSET_COMMIT')) THEN 'Read' ELSE 'Read or Write' END AS operation,
         CASE WHEN count(i.connection) = count(*) THEN 'the login: it succeeded' ELSE '' END AS not_so,
         CASE WHEN count(u.principal) > 0 THEN concat('user ', max(u.principal)) ELSE concat('client ', r.client_id)
              END AS cause
  FROM refused r
  LEFT JOIN users u ON r.connection = u.connection
  LEFT JOIN logged_in i ON r.connection = i.connection
  LEFT JOIN clients c ON r.client_id = c.client_id
  LEFT JOIN working w ON r.client_id = w.client_id AND r.topic = w.topic
  LEFT JOIN lasting l ON r.client_id = l.client_id AND r.topic = l.topic
  WHERE r.topic IS NOT NULL
  GROUP BY r.client_id, r.topic
  HAVING count(*) >= 2 OR (max(c.last_ns) - max(ns) >= 5000000000 AND max(w.client_id) IS NULL)
    OR (bool_or(l.stays) AND NOT bool_or(w.took_it))
)
SELECT *, refused AS weight,
       CASE WHEN min(topic) OVER same != max(topic) OVER same THEN ', and likewise for the other topics' ELSE '' END
         AS likewise
FROM missing
WINDOW same AS (PARTITION BY cause, severity)
""",
    subject={"topic": "topic", "client": "client_id", "user": "users"},
    evidence=("refused", "apis", "seconds", "users"),
    text="{client_id} is not authorized for {topic}: {refused} times TOPIC_AUTHORIZATION_FAILED in {seconds} s ({apis})"
    "{after}",
    ruled_out="{not_so}",
    advice="add an ACL for its user on {topic} (kafka-acls.sh --add --allow-principal User:... --topic {topic} "
    "--operation {operation}{likewise}), or log in as another user",
    see="decode pcap {files} --topic {topic} --errors",
    source="authorizer.class.name, allow.everyone.if.no.acl.found",
    explains={
        "errors-again": ("client",),
        "connection-churn": ("client",),
        "metadata-storm": ("client",),
        "no-partitions": ("client",),
        "unknown-topic": ("client", "topic"),
    },
)
