"""Leaders of a topic move again and again."""

from kcli.rules.rule import Rule

RULE = Rule(
    finding="leader-moves",
    title="leaders that move again and again",
    when="errors LIKE '%LEADER%'",
    sql="""
WITH errors AS (
  SELECT topic, partition, ns, client_id, error, server
  FROM fetched
  WHERE error IN ('NOT_LEADER_OR_FOLLOWER', 'FENCED_LEADER_EPOCH', 'UNKNOWN_LEADER_EPOCH')
  UNION ALL
  SELECT topic, partition, ns, client_id, error, server
  FROM produced
  WHERE error = 'NOT_LEADER_OR_FOLLOWER'
),
unexplained AS (
  SELECT e.* FROM errors e WHERE NOT EXISTS (SELECT 1 FROM outage_windows o WHERE e.ns BETWEEN o.from_ns AND o.to_ns)
),
spaced AS (SELECT *, ns - lag(ns) OVER (PARTITION BY topic ORDER BY ns) AS gap_ns FROM unexplained),
told AS (
  SELECT topic, partition, completed_ns AS ns, leader,
         lag(leader) OVER (PARTITION BY topic, partition ORDER BY completed_ns) AS before
  FROM metadata_partitions
),
moves AS (
  SELECT topic, count(*) AS moves, count(DISTINCT leader) AS leaders
  FROM told t
  WHERE before IS NOT NULL AND before != leader AND leader >= 0
    AND NOT EXISTS (SELECT 1 FROM outage_windows o WHERE t.ns BETWEEN o.from_ns AND o.to_ns)
  GROUP BY topic
)
SELECT s.topic, count(*) AS errors, sum(CASE WHEN gap_ns IS NULL OR gap_ns > 1000000000 THEN 1 ELSE 0 END) AS episodes,
       array_agg(DISTINCT error) AS names, array_agg(DISTINCT client_id) AS clients,
       count(DISTINCT partition) AS partitions, coalesce(max(m.moves), 0) AS moves,
       (max(ns) - min(ns)) / 1e9 AS seconds, count(DISTINCT server) AS brokers, min(ns) AS first_ns, max(ns) AS last_ns,
       count(*) AS weight
FROM spaced s LEFT JOIN moves m ON s.topic = m.topic
WHERE s.topic IS NOT NULL
GROUP BY s.topic
HAVING sum(CASE WHEN gap_ns IS NULL OR gap_ns > 1000000000 THEN 1 ELSE 0 END) >= 3 AND (max(ns) - min(ns)) / 1e9 >= 3
""",
    subject={"topic": "topic"},
    evidence=("errors", "episodes", "names", "partitions", "moves", "brokers", "seconds", "clients"),
    says="leaders of {topic} moved in {episodes} waves over {seconds} s: {errors} answers with {names} from {brokers} "
    "brokers, Metadata named another leader {moves} times",
    ruled_out="restarts of brokers in the capture",
    advice="find what moves them: kafka-reassign-partitions, a balancer (Cruise Control), "
    "auto.leader.rebalance.enable, a broker that flaps",
    see="sql 'SELECT * FROM leader_changes' {files}",
    source="KIP-951; leader.imbalance.check.interval.seconds 300",
    explains={"slow-replication": (), "errors-again": (), "sequence-gap": ("topic",), "fetch-session-evictions": ()},
)
