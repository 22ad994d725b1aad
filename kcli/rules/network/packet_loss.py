"""The network to some clients loses packets."""

from kcli.rules.rule import CRITICAL, Rule

# Retransmissions alone prove no loss. A receiver that misses a segment says so (SACK), and so does one that got it
# twice (D-SACK). Loopback is no line: it drops segments that a full receive buffer can't take. Retransmissions without
# any answer are another finding (idle-connection-cut).
RULE = Rule(
    finding="packet-loss",
    title="networks that lose packets",
    severity=CRITICAL,
    when="resent >= 8",
    sql="""
WITH lines AS (
  SELECT host, client_id, c_data_segments + s_data_segments AS segments,
         greatest(c_resent - c_unacked_resent - s_repeats, 0) + greatest(s_resent - s_unacked_resent - c_repeats,
                                                                         0) AS resent, c_holes + s_holes AS holes,
         c_sacks + s_sacks AS sacks, c_duplicate_acks + s_duplicate_acks AS duplicate_acks,
         c_repeats + s_repeats AS repeats, greatest(c_resent_wait_ms, s_resent_wait_ms) AS wait_ms
  FROM conns
  WHERE host != broker_host
),
hosts AS (
  SELECT host, sum(segments) AS segments, sum(resent) AS resent, sum(holes) AS holes, sum(sacks) AS sacks,
         sum(duplicate_acks) AS duplicate_acks, sum(repeats) AS repeats, count(*) AS connections,
         max(CASE WHEN resent > 0 THEN wait_ms END) AS longest_wait_ms,
         array_agg(DISTINCT client_id) FILTER (WHERE client_id != '' AND (resent > 0 OR holes > 0)) AS clients
  FROM lines
  GROUP BY host
),
compared AS (
  SELECT h.host, coalesce(sum(o.resent) / nullif(sum(o.segments), 0), 0) AS others_share
  FROM hosts h LEFT JOIN hosts o ON h.host != o.host
  GROUP BY h.host
)
SELECT h.*, 1.0 * h.resent / h.segments AS share, others_share, h.resent AS weight,
       (SELECT array_agg(DISTINCT group_id) FROM group_clients m WHERE array_contains(h.clients, m.client_id)) AS groups
FROM hosts h JOIN compared c ON h.host = c.host
WHERE h.resent >= 8 AND h.resent >= 0.004 * h.segments AND h.sacks >= 2 AND h.sacks + h.holes >= 0.15 * h.resent
  AND h.resent >= 3 * others_share * h.segments
""",
    subject={"host": "host", "client": "clients", "group": "groups"},
    evidence=(
        "segments",
        "resent",
        "share",
        "holes",
        "sacks",
        "duplicate_acks",
        "repeats",
        "longest_wait_ms",
        "connections",
        "others_share",
        "clients",
    ),
    text="the network to {host} loses packets: {resent} of {segments} segments retransmitted, {sacks} acknowledgements "
    "report gaps (SACK), {holes} gaps in the capture, waits up to {longest_wait_ms} ms; {clients}",
    ruled_out="a tap that missed packets: receivers report the gaps",
    absent={"slow-reader": "closed receive windows"},
    advice="check the network, NIC, cable and switch of host {host} (ethtool -S, ip -s link), its MTU and firewall",
    see="stats {files} --by connection",
    source="TCP (RFC 5681, 6298)",
    explains={
        "slow-network": ("host",),
        "request-timeout-too-short": ("client",),
        "idle-connection-cut": ("client",),
        "slow-reader": ("client",),
        "lagging-consumer": ("client",),
        "queued-requests": ("client",),
        "connection-churn": ("client",),
        "rebalance-storm": ("client",),
        "slow-rebalance": ("client",),
        "long-transaction": ("client",),
    },
)
