"""Metadata sends clients to a host and port that they cannot reach."""

from kcli.rules.rule import CRITICAL, Rule

# A client whose connections are refused asks for Metadata again each time. A client that gets no answer waits, and asks
# for Metadata hardly more than once; there a listener counts only if none of its addresses can be reached.
# The same holds if nobody tried: a capture of one broker's port shows no connection to the others. Some clients
# (franz-go, kafka-python 3) ask once, and connect again and again: there the refused attempts count.
RULE = Rule(
    finding="wrong-advertised-listener",
    title="advertised addresses that clients can't reach",
    severity=CRITICAL,
    when="unreached > 0",
    sql="""
WITH tried AS (
  SELECT server AS address, count(*) AS attempts, sum(CASE WHEN accepted OR requests > 0 THEN 1 ELSE 0 END) AS accepted,
         sum(CASE WHEN s_rst_ns IS NOT NULL AND NOT accepted THEN 1 ELSE 0 END) AS refused,
         sum(CASE WHEN s_rst_ns IS NULL AND NOT accepted THEN last_ns - first_ns ELSE 0 END) / 1e9 AS waited_seconds,
         array_agg(DISTINCT host) AS hosts, min(first_ns) AS first_ns
  FROM conns
  GROUP BY server
),
asking AS (
  SELECT server, coalesce(client_id, '') AS client_id, count(*) AS asked, min(completed_ns) AS began_ns,
         max(completed_ns) AS ended_ns
  FROM metadata_calls
  GROUP BY 1, 2
),
working AS (
  SELECT DISTINCT client_id
  FROM calls
  WHERE api NOT IN ('API_VERSIONS', 'METADATA', 'FIND_COORDINATOR', 'SASL_HANDSHAKE', 'SASL_AUTHENTICATE',
                    'GET_TELEMETRY_SUBSCRIPTIONS')
),
sent AS (
  SELECT a.node_id, a.address, array_agg(DISTINCT a.server) AS listeners
  FROM advertised a
  WHERE a.address != a.server
  GROUP BY a.node_id, a.address
),
blind AS (
  SELECT a.server
  FROM advertised a LEFT JOIN tried t ON t.address = a.address
  GROUP BY a.server
  HAVING sum(coalesce(t.accepted, 0)) = 0
),
lost AS (
  SELECT s.node_id, s.address, s.listeners, t.attempts, t.refused, t.waited_seconds, t.hosts
  FROM sent s JOIN tried t ON t.address = s.address
  WHERE t.accepted = 0 AND (t.attempts >= 2 OR t.waited_seconds >= 3)
  UNION ALL
  SELECT s.node_id, s.address, s.listeners, 0, 0, 0, NULL
  FROM sent s
  WHERE s.address NOT IN (SELECT address FROM tried)
),
away AS (
  SELECT l.*, k.client_id, k.asked, k.began_ns, k.ended_ns
  FROM lost l JOIN asking k ON array_contains(l.listeners, k.server)
  WHERE k.client_id NOT IN (SELECT client_id FROM working)
    AND CASE WHEN k.server IN (SELECT server FROM blind) THEN k.asked >= 3 OR l.attempts > 0
             ELSE k.asked >= 3 AND l.attempts > 0 END
)
SELECT node_id, address, max(listeners) AS listeners, max(attempts) AS attempts, max(refused) AS refused,
       array_agg(DISTINCT client_id) AS clients, sum(asked) AS asked,
       split(concat_ws('|', CAST(node_id AS STRING), address, concat_ws('|', max(listeners))), '[|]') AS broker,
       max(hosts) AS hosts, min(began_ns) AS first_ns, max(ended_ns) AS last_ns, sum(asked) AS weight,
       (
         SELECT array_agg(DISTINCT group_id)
         FROM coordinator_asks q
         WHERE q.client_id IN (SELECT w.client_id FROM away w)
       ) AS groups,
       CASE WHEN max(attempts) = 0 THEN 'nobody even tried (does its name resolve?)'
            WHEN max(refused) = 0 THEN concat('no attempt to connect there was answered (', max(attempts), ')')
            ELSE concat(max(attempts), ' attempts to connect there, ', max(refused),
                        ' refused, none taken') END AS outcome
FROM away
GROUP BY node_id, address
HAVING sum(asked) >= 3 OR max(waited_seconds) >= 3 OR max(refused) >= 3
""",
    subject={"broker": "broker", "client": "clients", "group": "groups"},
    evidence=("address", "listeners", "attempts", "refused", "asked", "clients", "hosts"),
    says="listener {listeners} sends clients to {address}, where they get no connection: {outcome}; "
    "{clients} ask Metadata {asked} times, and neither write nor read",
    ruled_out="a broker that is away: others of its listeners work",
    advice="set advertised.listeners of broker {node_id} for that listener to a name and port that {clients} can "
    "resolve and reach",
    see="sql 'SELECT DISTINCT server, leader, leader_address FROM metadata_partitions' {files}",
    source="advertised.listeners",
    explains={
        "connection-churn": ("client",),
        "metadata-storm": ("client",),
        "errors-again": ("client",),
        "coordinator-unavailable": (),
    },
)
