"""An error that a client meets again and again, and that no other rule knows."""

from kcli.rules.prepared import TROUBLES
from kcli.rules.rule import Rule

# Ten times; each INVALID_PRODUCER_ID_MAPPING ends a producer, so three are enough. What the same request will always be
# told counts from the fourth time on, as commits are seconds apart; a person gives up before. Topics and partitions
# that are not there for up to 30 s, and then serve for the first time, are new ones: no client gives up sooner with its
# defaults (librdkafka's topic.metadata.propagation.max.ms 30000, max.block.ms 60000).
FINAL = """('OFFSET_METADATA_TOO_LARGE', 'INVALID_REPLICATION_FACTOR', 'INVALID_PARTITIONS', 'INVALID_CONFIG',
                            'INVALID_REPLICA_ASSIGNMENT', 'POLICY_VIOLATION')"""
RULE = Rule(
    finding="errors-again",
    title="errors that repeat without end",
    when="failed >= 3 AND seconds >= 3",
    sql=f"""
WITH failures AS (SELECT client_id, api, explode(errors) AS error, ns, server
             FROM calls WHERE NOT inner_client AND failed),
committed AS (
  SELECT coalesce(client_id, '') AS client_id, error AS refusal, array_agg(DISTINCT group_id) AS groups,
         bool_and(coalesce(member_id, '') = '') AS from_outside
  FROM commits
  WHERE error IS NOT NULL
  GROUP BY 1, 2
),
counted AS (
  SELECT m.client_id, m.api, m.error, count(*) AS answers, (max(ns) - min(ns)) / 1e9 AS seconds, min(ns) AS first_ns,
         max(ns) AS last_ns, array_agg(DISTINCT server) AS servers, max(k.groups) AS groups,
         bool_or(m.error = 'UNKNOWN_MEMBER_ID' AND coalesce(k.from_outside, false)) AS from_outside
  FROM failures m
  LEFT JOIN committed k ON m.api = 'OFFSET_COMMIT' AND m.client_id = k.client_id AND m.error = k.refusal
  WHERE {TROUBLES}
  GROUP BY m.client_id, m.api, m.error
  HAVING count(*) >= CASE WHEN m.error = 'INVALID_PRODUCER_ID_MAPPING' THEN 3
                          WHEN m.error IN {FINAL}
                            OR bool_or(m.error = 'UNKNOWN_MEMBER_ID' AND coalesce(k.from_outside, false)) THEN 4
                          ELSE 10 END
    AND max(ns) - min(ns) >= 3000000000
),
-- Those between the first and the last: what began late is no rarer for all that went well before.
asked AS (
  SELECT c.client_id, c.api, c.error, count(*) AS all_requests,
         sum(CASE WHEN a.ns BETWEEN c.first_ns AND c.last_ns THEN 1 ELSE 0 END) AS requests
  FROM counted c JOIN calls a ON a.client_id = c.client_id AND a.api = c.api
  GROUP BY c.client_id, c.api, c.error
),
-- Errors for topics and partitions, and when these are known and served.
refused AS (
  SELECT coalesce(client_id, '') AS client_id, 'METADATA' AS api, error, topic AS subject, completed_ns AS ns
  FROM metadata_topics
  UNION ALL
  SELECT client_id, 'PRODUCE', error, concat(topic, '-', partition), ns FROM produced WHERE error IS NOT NULL
  UNION ALL
  SELECT client_id, 'FETCH', error, concat(topic, '-', partition), ns FROM fetched WHERE error IS NOT NULL
),
served AS (
  SELECT 'METADATA' AS api, topic AS subject, min(completed_ns) AS first_ns, max(completed_ns) AS last_ns
  FROM metadata_partitions
  GROUP BY topic
  UNION ALL
  SELECT 'PRODUCE', concat(topic, '-', partition), min(ns), max(ns)
  FROM produced
  WHERE answered AND error IS NULL
  GROUP BY topic, partition
  UNION ALL
  SELECT 'FETCH', concat(topic, '-', partition), min(ns), max(ns)
  FROM fetched
  WHERE answered AND error IS NULL
  GROUP BY topic, partition
),
begun AS (
  SELECT client_id, api, error
  FROM (
    SELECT client_id, api, error, subject, min(ns) AS from_ns, max(ns) AS to_ns
    FROM refused
    WHERE error IN ('UNKNOWN_TOPIC_OR_PARTITION', 'UNKNOWN_TOPIC_ID', 'LEADER_NOT_AVAILABLE', 'NOT_LEADER_OR_FOLLOWER')
    GROUP BY client_id, api, error, subject
  ) AS r LEFT JOIN served s USING (api, subject)
  GROUP BY client_id, api, error
  HAVING bool_and(coalesce(s.last_ns > to_ns AND (api = 'METADATA' AND to_ns - from_ns < 3000000000
                                                 OR s.first_ns > from_ns AND to_ns - from_ns < 30000000000), false))
)
SELECT c.client_id, c.api, c.error, answers, requests, seconds, servers, groups, 100.0 * answers / requests AS percent,
       first_ns, last_ns, answers AS weight,
       CASE WHEN c.error = 'UNKNOWN_PRODUCER_ID'
            THEN 'all records of this producer were deleted (retention, kafka-delete-records.sh) before it wrote '
                 'again, and its broker forgot it (KIP-360): keep records longer than {{client_id}} pauses, or upgrade '
                 'the brokers to 2.4 or later'
            WHEN c.error = 'INVALID_PRODUCER_ID_MAPPING'
            THEN 'the coordinator had forgotten its transactional.id: {{client_id}} pauses for longer than '
                 'transactional.id.expiration.ms of the brokers (7 days by default); raise that, or begin with a new '
                 'producer (initTransactions) after a long pause'
            WHEN from_outside
            THEN 'it commits without being a member (assign) to a group that has members: give it a group.id of its '
                 'own, or let it subscribe'
            WHEN c.error = 'OFFSET_METADATA_TOO_LARGE'
            THEN 'none of these offsets is committed, so after a restart its records come again: commit less metadata '
                 'with them, or raise offset.metadata.max.bytes of the brokers (4096)'
            WHEN c.error = 'INVALID_REPLICATION_FACTOR'
            THEN 'ask for at most as many replicas as there are brokers (replication.factor of Kafka Streams and of '
                 'internal topics of Connect), or for -1: the brokers'' default.replication.factor'
            WHEN c.error = 'POLICY_VIOLATION'
            THEN 'a policy of the brokers refuses it (create.topic.policy.class.name, alter.config.policy.class.name), '
                 'and the response says why: kcli decode shows it' END AS advised
FROM counted c JOIN asked a ON c.client_id = a.client_id AND c.api = a.api AND c.error = a.error
LEFT JOIN begun n ON c.api = n.api AND c.client_id = n.client_id AND c.error = n.error
WHERE n.client_id IS NULL AND answers >= 0.3 * CASE WHEN seconds >= 5 THEN requests ELSE all_requests END
""",
    subject={"client": "client_id", "group": "groups"},
    evidence=("api", "error", "answers", "requests", "seconds", "servers"),
    text="{client_id} gets {error} again and again: {answers} of {requests} responses to {api} in {seconds} s",
    ruled_out="start-up: they continue for {seconds} s",
    absent=dict.fromkeys(("broker-restart", "broker-crash", "broker-down"), "brokers that stop"),
    advice="find out what {error} means for {api}: kcli decode shows the requests; a client that gets it all the "
    "time should stop and report it",
    see="decode pcap {files} --client {client_id} --errors={error}",
    source="Kafka's Errors; start-up: topic.metadata.propagation.max.ms 30000",
)
