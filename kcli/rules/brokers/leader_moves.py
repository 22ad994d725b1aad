"""Leaders of a topic move again and again."""

from kcli.rules.rule import Rule

# Two waves are told apart by a pause between their errors, or by different leaders: waves in quick succession leave no
# pause. A reassignment moves each partition once, one after the other; so some partitions have to move again. A client
# that asks the old leader for seconds (librdkafka) joins the waves; then Metadata shows when leaders moved. What moves
# the leaders of several topics at the same time is one cause.
RULE = Rule(
    finding="leader-moves",
    title="leaders that move repeatedly",
    when="errors LIKE '%,NOT_LEADER_OR_FOLLOWER,%' OR errors LIKE '%,FENCED_LEADER_EPOCH,%' "
    "OR errors LIKE '%,UNKNOWN_LEADER_EPOCH,%'",
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
spaced AS (
  SELECT *, ns - lag(ns) OVER (PARTITION BY topic ORDER BY ns) AS gap_ns,
         ns - lag(ns) OVER (PARTITION BY topic, partition ORDER BY ns) AS own_gap_ns
  FROM unexplained
),
terms AS (
  SELECT topic, partition, leader_epoch, leader, min(completed_ns) AS ns
  FROM metadata_partitions
  WHERE leader >= 0
  GROUP BY topic, partition, leader_epoch, leader
),
leader_terms AS (
  SELECT topic, partition, ns, leader,
         lag(leader) OVER (PARTITION BY topic, partition ORDER BY leader_epoch, ns) AS before
  FROM terms
),
new_leaders AS (
  SELECT topic, ns - lag(ns) OVER (PARTITION BY topic ORDER BY ns) AS gap_ns,
         count(*) OVER (PARTITION BY topic, partition) AS moves
  FROM leader_terms t
  WHERE before != leader
    AND NOT EXISTS (SELECT 1 FROM outage_windows o WHERE t.ns BETWEEN o.from_ns AND o.to_ns)
),
moves AS (
  SELECT topic, count(*) AS moves, max(moves) AS most_moves,
         CASE WHEN max(moves) < 2 THEN 1
              ELSE greatest(max(moves), 1 + sum(CASE WHEN gap_ns > 1000000000 THEN 1 ELSE 0 END)) END AS episodes
  FROM new_leaders
  GROUP BY topic
),
waves AS (
  SELECT topic, count(*) AS errors, sum(CASE WHEN gap_ns IS NULL OR gap_ns > 1000000000 THEN 1 ELSE 0 END) AS bursts,
         sum(CASE WHEN own_gap_ns > 1000000000 THEN 1 ELSE 0 END) AS again,
         array_agg(DISTINCT error) AS names, array_agg(DISTINCT client_id) AS clients,
         count(DISTINCT partition) AS partitions, (max(ns) - min(ns)) / 1e9 AS seconds,
         count(DISTINCT server) AS brokers, min(ns) AS first_ns, max(ns) AS last_ns
  FROM spaced
  WHERE topic IS NOT NULL
  GROUP BY topic
),
moved AS (
  SELECT w.*, greatest(bursts, coalesce(episodes, 0)) AS episodes, coalesce(moves, 0) AS moves,
         max(last_ns) OVER (ORDER BY first_ns, w.topic ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
  FROM waves w LEFT JOIN moves m ON w.topic = m.topic
  WHERE greatest(bursts, coalesce(episodes, 0)) >= 3 AND again + greatest(coalesce(most_moves, 0) - 1, 0) >= 2
    AND seconds >= 3
)
SELECT topic, errors, episodes, names, clients, partitions, moves, seconds, brokers, first_ns, last_ns,
       sum(CASE WHEN first_ns <= before_ns THEN 0 ELSE 1 END)
         OVER (ORDER BY first_ns, topic ROWS UNBOUNDED PRECEDING) AS cause, errors AS weight
FROM moved
""",
    subject={"topic": "topic"},
    evidence=("errors", "episodes", "names", "partitions", "moves", "brokers", "seconds", "clients"),
    text="leaders of {topic} moved in {episodes} waves over {seconds} s: {errors} responses with {names} from "
    "{brokers} brokers, Metadata named another leader {moves} times",
    ruled_out="restarts of brokers in the capture",
    advice="find what moves them: kafka-reassign-partitions, a balancer (Cruise Control), "
    "auto.leader.rebalance.enable, a broker that flaps",
    see="sql 'SELECT * FROM leader_changes' {files}",
    source="KIP-951; leader.imbalance.check.interval.seconds 300",
    # Some clients (kafka-go) connect anew for each.
    explains={
        "slow-replication": (),
        "errors-again": (),
        "fetch-session-evictions": (),
        "connection-churn": ("client",),
        "busy-fetch": ("client",),  # Java up to 2.4 spins on an empty session
        "long-transaction": ("topic",),
    },
)
