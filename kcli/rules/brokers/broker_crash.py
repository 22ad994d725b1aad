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
    "sequence-gap",
    "coordinator-unavailable",
    "packet-loss",
    "quorum-elections",
)

RULE = Rule(
    finding="broker-crash",
    title="brokers that were gone at once",
    severity=CRITICAL,
    when="refused_connections > 0",
    sql="""
SELECT broker, broker_name, closed, unanswered, resets, refused, (gone_ns - span.first_ns) / 1e9 AS at_second,
       (back_ns - gone_ns) / 1e9 AS away_seconds,
       CASE WHEN back_ns IS NULL THEN 'it did not come back' ELSE concat('back after ',
              round((back_ns - gone_ns) / 1e9, 1), ' s') END AS back,
       unanswered + 100 AS weight,
       gone_ns AS first_ns, coalesce(back_ns, last_refused_ns, closed_ns) AS last_ns
FROM outages o JOIN brokers b ON o.server = b.server CROSS JOIN span WHERE crashed
""",
    subject={"broker": "broker"},
    evidence=("closed", "unanswered", "resets", "refused", "at_second", "away_seconds"),
    says="broker {broker_name} was gone at once, {at_second} s into the capture: {closed} connections ended "
    "together with "
    "{unanswered} requests unanswered, {refused} attempts to connect failed after that; {back}",
    ruled_out="an orderly stop: no leader was handed over before",
    advice="the end of that broker's log, the OOM killer (dmesg), its disk and hardware",
    see='sql "SELECT * FROM connections ORDER BY last_request" {files}',
    source="broker.session.timeout.ms 9000 (KRaft)",
    explains=dict.fromkeys(CONSEQUENCES, ()),
)
