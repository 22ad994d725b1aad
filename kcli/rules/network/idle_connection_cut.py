"""A middlebox forgets connections that are silent, without a word."""

from kcli.rules.rule import Rule

RULE = Rule(
    finding="idle-connection-cut",
    title="idle connections that are cut",
    when="steady_clock AND clocks_apart_ms < 500 AND unacknowledged > 0",
    sql="""
WITH unacked AS (
  SELECT c.host, coalesce(client_id, '') AS client_id, connection, c.client, server,
         c_unacked_silence_ms / 1e3 AS silence, c_unacked_resent AS resent, c_unacked_ns AS since_ns
  FROM conns c
  WHERE c_unacked_resent >= 2 AND c_unacked_silence_ms >= 1500 AND accepted IS NOT NULL
    AND coalesce(s_last_ns, 0) <= c_unacked_ns
  UNION ALL
  SELECT c.host, coalesce(client_id, ''), connection, c.client, server, s_unacked_silence_ms / 1e3, s_unacked_resent,
         s_unacked_ns
  FROM conns c
  WHERE s_unacked_resent >= 2 AND s_unacked_silence_ms >= 1500 AND coalesce(c_last_ns, 0) <= s_unacked_ns
),
server_alive AS (
  SELECT DISTINCT d.connection
  FROM unacked d JOIN conns o ON o.server = d.server AND o.connection != d.connection AND o.s_last_ns > d.since_ns
),
host_alive AS (
  SELECT DISTINCT d.connection
  FROM unacked d JOIN conns o ON o.host = d.host AND o.connection != d.connection AND o.s_last_ns > d.since_ns
)
SELECT client_id, array_agg(DISTINCT client) AS ends, array_agg(DISTINCT host) AS hosts,
       count(*) AS cut, sum(resent) AS resent, min(silence) AS least_silence, max(silence) AS longest_silence,
       max(connections) AS connections, max(gap) AS longest_answered_silence, array_agg(DISTINCT server) AS servers,
       min(since_ns) AS first_ns, max(since_ns) AS last_ns, count(*) AS weight
FROM unacked d
JOIN (SELECT coalesce(client_id, '') AS client_id, count(*) AS connections FROM conns GROUP BY 1) AS n USING (client_id)
LEFT JOIN (
  SELECT client_id, max(CASE WHEN response_bytes IS NOT NULL THEN gap END) AS gap
  FROM (
    SELECT client_id, response_bytes,
           (ns - lag(completed_ns) OVER (PARTITION BY connection ORDER BY ns)) / 1e9 AS gap
    FROM calls
    WHERE client_id IN (SELECT client_id FROM unacked)
  ) AS c
  GROUP BY client_id
) AS g USING (client_id)
WHERE connection IN (SELECT connection FROM server_alive) AND connection IN (SELECT connection FROM host_alive)
GROUP BY client_id
HAVING count(*) >= 2 OR sum(resent) >= 4
""",
    subject={"client": "client_id", "host": "hosts"},
    evidence=(
        "cut",
        "connections",
        "resent",
        "least_silence",
        "longest_silence",
        "longest_answered_silence",
        "servers",
    ),
    text="{client_id}: {cut} of {connections} connections ({ends}), silent for {least_silence} s or more, "
    "were cut silently: {resent} segments retransmitted, never acknowledged; other connections continue",
    ruled_out="the broker and the network: packets arrive on other connections to it, and of the same host, afterwards",
    advice="set connections.max.idle.ms of the client (default 540000, in librdkafka 0: never) below the idle limit of "
    "the firewall, NAT or load balancer between, which is at most {least_silence} s; or turn on TCP keep-alive",
    see="stats {files} --by connection --client {client_id}",
    source="connections.max.idle.ms 540000 (client), 600000 (broker)",
    explains={
        "request-timeout-too-short": ("client",),
        "packet-loss": ("host",),
        "connection-churn": ("client",),
        "errors-again": ("client",),
        "slow-rebalance": ("client",),
    },
)
