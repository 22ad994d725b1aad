"""Packets above a size are dropped on the way, each time that they are sent."""

from kcli.rules.rule import CRITICAL, Rule

# The receiver says (SACK) that bytes before others are missing, so the tap has not overlooked them; the sender then
# sends them again until it gives up. If none of that passes the tap either, connection after connection, it is no
# chance: small packets get through, large ones do not, and nothing tells the sender the path's MTU (RFC 2923).
RULE = Rule(
    finding="path-mtu",
    title="paths that drop large packets",
    severity=CRITICAL,
    when="opened_connections >= 3",
    sql="""
WITH stuck AS (
  SELECT host, client_id, client, c_holes AS holes, s_sacks AS sacks, first_ns, last_ns, 'from' AS direction
  FROM conns
  WHERE host != broker_host AND opened AND c_holes > 0 AND s_sacks > 0 AND c_resent = 0 AND c_out_of_order = 0
    AND c_data_segments > c_holes
  UNION ALL
  SELECT host, client_id, client, s_holes, c_sacks, first_ns, last_ns, 'to'
  FROM conns
  WHERE host != broker_host AND opened AND s_holes > 0 AND c_sacks > 0 AND s_resent = 0 AND s_out_of_order = 0
    AND s_data_segments > s_holes
),
filled AS (
  SELECT host, count(*) AS connections
  FROM conns
  WHERE c_holes > 0 AND c_resent + c_out_of_order > 0 OR s_holes > 0 AND s_resent + s_out_of_order > 0
  GROUP BY host
)
SELECT s.host, direction, count(*) AS stopped, sum(holes) AS holes, sum(sacks) AS sacks,
       array_agg(DISTINCT client_id) FILTER (WHERE client_id IS NOT NULL) AS clients, array_agg(client) AS ends,
       min(first_ns) AS first_ns, max(last_ns) AS last_ns, count(*) AS weight
FROM stuck s LEFT JOIN filled f ON s.host = f.host
GROUP BY s.host, direction, f.connections
HAVING count(*) >= 3 AND count(*) >= 2 * coalesce(f.connections, 0)
""",
    subject={"host": "host", "client": "clients"},
    evidence=("direction", "stopped", "holes", "sacks", "clients"),
    text="large packets {direction} {host} do not get through: on {stopped} connections of {clients} bytes are "
    "missing, the receiver asks for them (SACK, {sacks} times), and no retransmission arrives; small packets pass",
    ruled_out="a tap that missed packets (the receiver misses them, too), random loss (a retransmission would "
    "arrive)",
    advice="look for a smaller MTU between host {host} and the brokers (VPN, tunnel, overlay network) and for a "
    "firewall that drops ICMP 'fragmentation needed': ping -M do -s 1472 finds the size that passes; lower the MTU of "
    "{host}, or clamp the MSS on the router",
    see='sql "SELECT connection, client_id, client_segments, client_holes, client_retransmissions, server_segments, '
    "server_holes, server_retransmissions FROM connections ORDER BY client_holes + server_holes DESC, connection\" "
    "{files}",
    source="RFC 1191, RFC 2923 (black holes)",
    rests_on=("stuck",),
    explains={
        "packet-loss": ("host",),
        "slow-network": ("host",),
        **dict.fromkeys(
            ("idle-connection-cut", "request-timeout-too-short", "connection-churn", "errors-again", "metadata-storm",
             "duplicate-writes", "sequence-gap", "long-transaction"),
            ("client",),
        ),
    },
)  # fmt: skip
