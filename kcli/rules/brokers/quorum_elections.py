"""The controllers' quorum elects again and again."""

from kcli.rules.rule import CRITICAL, Rule

RULE = Rule(
    finding="quorum-elections",
    title="controllers that hold repeated elections",
    severity=CRITICAL,
    when="apis LIKE '%,VOTE,%'",
    sql="""
WITH votes AS (SELECT ns, server, client_id, ns - lag(ns) OVER (ORDER BY ns) AS gap_ns FROM calls WHERE api = 'VOTE'),
begun AS (
  SELECT count(*) AS begun, array_agg(DISTINCT client_id) AS leaders FROM calls WHERE api = 'BEGIN_QUORUM_EPOCH'
),
named AS (
  SELECT array_agg(DISTINCT name) AS broker, array_agg(DISTINCT broker_name) AS names
  FROM (
    SELECT explode(broker) AS name, broker_name FROM brokers WHERE server IN (SELECT server FROM votes)
  ) AS b
)
SELECT count(*) AS votes, sum(CASE WHEN gap_ns IS NULL OR gap_ns > 1000000000 THEN 1 ELSE 0 END) AS elections,
       (max(ns) - min(ns)) / 1e9 AS seconds, array_agg(DISTINCT server) AS servers, max(b.begun) AS begun,
       min(ns) AS first_ns, max(ns) AS last_ns, count(*) AS weight, max(n.broker) AS broker, max(n.names) AS names
FROM votes CROSS JOIN begun b CROSS JOIN named n
HAVING sum(CASE WHEN gap_ns IS NULL OR gap_ns > 1000000000 THEN 1 ELSE 0 END) >= 3
""",
    subject={"broker": "broker"},
    evidence=("votes", "elections", "begun", "seconds", "servers"),
    text="the controllers {names} elect again and again: {elections} rounds with {votes} Vote requests in {seconds} s, "
    "{begun} BeginQuorumEpoch",
    ruled_out="the first election when a quorum starts",
    advice="check the network between controllers, pauses of the leader (GC, disk), "
    "controller.quorum.fetch.timeout.ms and controller.quorum.election.timeout.ms",
    see="stats {files} --api Vote --by broker",
    source="controller.quorum.fetch.timeout.ms 2000, controller.quorum.election.timeout.ms 1000; KIP-595",
    explains={"leader-moves": ()},
)
