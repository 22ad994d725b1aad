"""The line to some clients loses packets."""

from kcli.diagnose.rule import CRITICAL, Rule

# Segments sent again are no loss by themselves: where the receiver missed something it says so (duplicate ACKs), or the
# stream jumps over what did not come. What was sent again into silence is another matter (idle-connection-cut).
RULE = Rule(
    finding="packet-loss",
    title="lines that lose packets",
    severity=CRITICAL,
    sql="""
WITH lines AS (SELECT host, client_id, inner_client, c_data_segments + s_data_segments AS segments,
                      greatest(c_resent - c_unacked_resent, 0) + greatest(s_resent - s_unacked_resent, 0) AS resent,
                      c_holes + s_holes AS holes, c_duplicate_acks + s_duplicate_acks AS duplicate_acks,
                      c_out_of_order + s_out_of_order AS out_of_order, greatest(c_resent_wait_ms, s_resent_wait_ms)
                             AS wait_ms,
                      c_zero_windows + s_zero_windows AS zero_windows
               FROM conns),
     hosts AS (SELECT host, sum(segments) AS segments, sum(resent) AS resent, sum(holes) AS holes,
            sum(duplicate_acks) AS duplicate_acks,
                      sum(out_of_order) AS out_of_order, max(CASE WHEN resent > 0 THEN wait_ms END) AS longest_wait_ms,
                      sum(CASE WHEN resent > 0 OR holes > 0 THEN 1 ELSE 0 END) AS hit, count(*) AS connections,
                      array_agg(DISTINCT client_id) FILTER (WHERE client_id != '' AND (resent > 0 OR holes > 0))
                             AS clients
               FROM lines GROUP BY host)
SELECT h.*, h.resent / h.segments AS share, coalesce(sum(o.resent) / nullif(sum(o.segments), 0), 0) AS others_share,
       (SELECT array_agg(DISTINCT group_id) FROM members m WHERE array_contains(h.clients, m.client_id)) AS groups,
       h.resent AS weight
FROM hosts h LEFT JOIN hosts o ON h.host != o.host
GROUP BY ALL
HAVING h.resent >= 8 AND h.resent / h.segments >= 0.004 AND h.holes + h.duplicate_acks >= 0.25 * h.resent
   AND h.resent / h.segments >= 3 * coalesce(sum(o.resent) / nullif(sum(o.segments), 0), 0)
""",
    subject={"host": "host", "client": "clients", "group": "groups"},
    evidence=(
        "segments",
        "resent",
        "share",
        "holes",
        "duplicate_acks",
        "out_of_order",
        "longest_wait_ms",
        "connections",
        "others_share",
        "clients",
    ),
    says="the line to {host} loses packets: {resent} of {segments} segments sent again, {holes} holes, "
    "{duplicate_acks} duplicate "
    "ACKs, waits up to {longest_wait_ms} ms; {clients}",
    ruled_out="the broker, receive windows, a tap that missed packets",
    advice="look at the line, NIC, cable and switch of host {host} (ethtool -S, ip -s link), its MTU and firewall",
    see="stats {files} --by connection",
    source="TCP (RFC 5681, 6298)",
    explains={
        "slow-network": ("host",),
        "request-timeout-too-short": ("client",),
        "idle-connection-cut": ("client",),
        "slow-reader": ("client",),
        "lagging-consumer": ("client",),
        "connection-churn": ("client",),
        "rebalance-storm": ("client",),
    },
)
