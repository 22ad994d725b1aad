"""A broker is gone at once."""

from kcli.rules.rule import CRITICAL, Rule

CONSEQUENCES = (
    "leader-moves",
    "errors-again",
    "connection-churn",
    "request-timeout-too-short",
    "slow-replication",
    "slow-broker",
    "idle-connection-cut",
    "wrong-advertised-listener",
    "rebalance-storm",
    "slow-rebalance",
    "coordinator-unavailable",
    "packet-loss",
    "quorum-elections",
)

# What a server is called, with `controllers` as k.
ROLE = "CASE WHEN k.server IS NULL THEN 'broker' ELSE 'controller' END AS role"
# Of outages, for this rule and that of restarts.
BACK = """CASE WHEN back_ns IS NOT NULL THEN concat('back after ', round((back_ns - o.gone_ns) / 1e9, 1), ' s')
            ELSE concat('no connection to it succeeded, the last was tried ',
                        round((last_refused_ns - o.gone_ns) / 1e9, 1), ' s later') END"""
WAITED = """CASE WHEN waits IS NULL THEN ''
            ELSE concat('; clients that waited: ', concat_ws(', ', array_sort(waits))) END"""
OUTAGES = """outages o
JOIN brokers b ON o.server = b.server
LEFT JOIN controllers k ON o.server = k.server
JOIN stretches s ON o.gone_ns BETWEEN s.first_ns AND s.last_ns
CROSS JOIN outage_spares
LEFT JOIN outage_waits w ON w.server = o.server AND w.gone_ns = o.gone_ns"""

RULE = Rule(
    finding="broker-crash",
    title="brokers that failed suddenly",
    severity=CRITICAL,
    when="refused_connections > 0",
    sql=f"""
SELECT {ROLE}, broker, broker_name, closed, unanswered, resets, refused, (o.gone_ns - s.first_ns) / 1e9 AS at_second,
       (back_ns - o.gone_ns) / 1e9 AS away_seconds, {BACK} AS back, {WAITED} AS waited, w.waiting_clients,
       w.longest_wait_seconds, unanswered + 100 AS weight, o.gone_ns AS first_ns,
       coalesce(back_ns, last_refused_ns, closed_ns) AS last_ns, spares
FROM {OUTAGES}
WHERE crashed
""",
    subject={"broker": "broker"},
    evidence=(
        "closed",
        "unanswered",
        "resets",
        "refused",
        "at_second",
        "away_seconds",
        "waiting_clients",
        "longest_wait_seconds",
    ),
    text="{role} {broker_name} vanished without a shutdown, {at_second} s into the capture: "
    "{closed} connections ended together (requests left unanswered: {unanswered}); {refused} attempts to connect "
    "failed after that; {back}{waited}",
    ruled_out="a clean shutdown: no response named a new leader before",
    advice="read the end of its log, then look for the OOM killer (dmesg), a full disk, broken hardware",
    see='sql "SELECT connection, client_id, closed, closed_by, closed_how, unanswered FROM connections ORDER BY '
    'closed" {files}',
    source="broker.session.timeout.ms 9000 (KRaft)",
    explains=dict.fromkeys(CONSEQUENCES, ()),
)
