"""Packets to a broker get no answer at all, from some hosts or from all."""

from kcli.rules.rule import CRITICAL, Rule

# A broker that is down refuses (RST), one that hangs still acknowledges. Here is no packet of it: SYNs are sent again
# and again, none is answered, and no connection from that host is taken meanwhile. The host itself is well: other
# brokers answer it. So is the capture: it has the broker's answers to others, or at other times, or brokers that are
# reached name it. If others reach it meanwhile, the path from this host is at fault, else the broker's own.
# A broker that hangs takes connections until its backlog is full, and leaves these without an answer. A SYN that is
# answered after seconds, from when the path was mended, counts until then.
RULE = Rule(
    finding="broker-unreachable",
    title="brokers whose packets do not arrive, or that get none",
    severity=CRITICAL,
    when="refused_connections > 0 OR longest_trip_ms >= 3000",
    sql="""
WITH waits AS (
  SELECT server, host, client, syns, first_ns, coalesce(s_syn_ns, last_ns) AS last_ns
  FROM conns
  WHERE opened AND (s_syn_ns IS NULL AND s_segments = 0 OR syn_ms >= 3000) AND host != broker_host
),
unanswered_syns AS (
  SELECT server, host, count(*) AS attempts, sum(syns) AS syns, min(first_ns) AS from_ns, max(last_ns) AS last_ns,
         array_agg(DISTINCT client) AS ends
  FROM waits
  GROUP BY server, host
  HAVING sum(syns) >= 3 AND max(last_ns) - min(first_ns) >= 3000000000
),
answers AS (
  SELECT server, host, min(ns) AS ns
  FROM (
    SELECT l.server, l.host, c.completed_ns AS ns
    FROM unanswered_syns l JOIN calls c ON c.server = l.server AND c.address = l.host
    WHERE c.response_bytes IS NOT NULL AND c.completed_ns > l.from_ns + 1000000000
    UNION ALL
    SELECT l.server, l.host, c.s_syn_ns
    FROM unanswered_syns l JOIN conns c ON c.server = l.server AND c.host = l.host
    WHERE c.s_syn_ns >= l.from_ns
  ) AS heard_again
  GROUP BY server, host
),
spans AS (
  SELECT l.server, l.host, attempts, syns, ends, from_ns, least(last_ns, coalesce(ns, last_ns)) AS to_ns
  FROM unanswered_syns l LEFT JOIN answers a ON a.server = l.server AND a.host = l.host
),
reachable AS (
  SELECT DISTINCT l.server, l.host
  FROM spans l
  JOIN calls c
    ON c.address = l.host AND c.server != l.server AND c.response_bytes IS NOT NULL
    AND c.completed_ns BETWEEN l.from_ns - 5000000000 AND l.to_ns
  LEFT JOIN spans o ON o.server = c.server AND o.host = c.address
  WHERE o.server IS NULL
),
meanwhile AS (
  SELECT l.server, l.host, count(*) AS to_others
  FROM spans l
  JOIN calls c
    ON c.server = l.server AND c.address != l.host AND c.response_bytes IS NOT NULL
    AND c.completed_ns BETWEEN l.from_ns + 1000000000 AND l.to_ns
  GROUP BY l.server, l.host
),
cut AS (
  SELECT l.server, l.host, attempts, syns, ends, from_ns, to_ns, coalesce(to_others, 0) AS to_others
  FROM spans l
  JOIN reachable w ON w.server = l.server AND w.host = l.host
  LEFT JOIN meanwhile m ON m.server = l.server AND m.host = l.host
  WHERE to_ns - from_ns >= 3000000000
),
known AS (
  SELECT server FROM calls WHERE response_bytes IS NOT NULL
  UNION
  SELECT a.address FROM advertised a JOIN advertised o ON a.server = o.server AND a.node_id != o.node_id
  WHERE o.address IN (SELECT server FROM calls)
),
by_server AS (
  SELECT server, sum(attempts) AS attempts, sum(syns) AS syns,
         flatten(array_agg(ends)) AS ends, min(from_ns) AS from_ns, max(to_ns) AS to_ns, max(to_others) AS to_others
  FROM cut
  WHERE server IN (SELECT server FROM known)
  GROUP BY server
),
-- Those, too, that still wait on a connection from before.
cut_off AS (
  SELECT server, host FROM cut
  UNION
  SELECT c.server, c.host
  FROM by_server s
  JOIN conns c ON c.server = s.server AND c.c_unacked_resent >= 3 AND c.c_unacked_ns BETWEEN s.from_ns - 10000000000
                                                                                       AND s.to_ns
),
requesters AS (
  SELECT s.server, array_agg(DISTINCT o.host) AS hosts,
         array_agg(DISTINCT k.client_id) FILTER (WHERE NOT k.inner_client) AS clients
  FROM by_server s
  JOIN cut_off o ON o.server = s.server
  LEFT JOIN calls k ON k.address = o.host AND k.ns BETWEEN s.from_ns - 10000000000 AND s.to_ns
  GROUP BY s.server
),
left_alone AS (
  SELECT s.server, count(*) AS connections
  FROM by_server s
  JOIN conns c ON c.server = s.server AND c.syn_ms < 1000 AND c.s_data_segments = 0
    AND c.first_ns BETWEEN s.from_ns - 10000000000 AND s.to_ns
  GROUP BY s.server
)
SELECT s.server, broker, broker_name, a.hosts, attempts, syns, clients, (to_ns - from_ns) / 1e9 AS seconds, to_others,
       ends, from_ns AS first_ns, to_ns AS last_ns, 1000 + syns AS weight,
       CASE WHEN to_others > 0 THEN NULL
            ELSE 'look at the host of broker {broker_name}: are it, its network and its switch port up, is this '
                 'the right advertised.listeners address? Its cluster moves leaders away when it loses its '
                 'session' END AS advised
FROM by_server s
JOIN brokers b ON s.server = b.server
JOIN requesters a ON a.server = s.server
LEFT JOIN left_alone l ON l.server = s.server
WHERE to_others > 0 OR l.connections IS NULL
""",
    subject={"broker": "broker", "host": "hosts"},
    evidence=("attempts", "syns", "seconds", "to_others", "clients"),
    text="broker {broker_name} can't be reached from {hosts}: {syns} SYNs on {attempts} connections get neither "
    "SYN-ACK nor RST in {seconds} s, while other brokers answer there; other hosts get {to_others} responses from it "
    "meanwhile",
    ruled_out="a broker that is down (it would refuse), one that hangs (it would accept connections)",
    advice="look at the firewalls, routes and security groups between {hosts} and broker {broker_name}: they drop "
    "packets silently",
    see="sql \"SELECT client_address, min(first_request) AS first, max(last_request) AS last FROM connections "
    "WHERE server = '{server}' GROUP BY ALL\" {files}",
    source="TCP (RFC 9293); socket.connection.setup.timeout.ms 10000; broker.session.timeout.ms 9000 (KRaft)",
    explains={
        "silent-broker": ("broker",),
        "under-min-isr": ("broker",),
        "idle-connection-cut": ("host",),
        "packet-loss": ("host",),
        **dict.fromkeys(
            ("request-timeout-too-short", "connection-churn", "errors-again", "metadata-storm", "duplicate-writes",
             "sequence-gap", "consumer-stuck"),
            ("client",),
        ),
        **dict.fromkeys(
            ("coordinator-unavailable", "leader-moves", "slow-replication", "rebalance-storm", "slow-rebalance",
             "long-transaction"),
            (),
        ),
    },
)  # fmt: skip
