"""A broker was restarted in order: nothing is wrong."""

from kcli.rules.brokers.broker_crash import BACK, CONSEQUENCES, OUTAGES, WAITED
from kcli.rules.rule import INFO, Rule

RULE = Rule(
    finding="broker-restart",
    title="brokers that were stopped in order",
    severity=INFO,
    when="refused_connections > 0",
    sql=f"""
SELECT broker, broker_name, closed, unanswered, handed_over, refused, (o.gone_ns - span.first_ns) / 1e9 AS at_second,
       (back_ns - o.gone_ns) / 1e9 AS away_seconds, -(o.gone_ns - span.first_ns) / 1e9 AS weight, {BACK} AS back,
       {WAITED} AS waited, w.waiting_clients, w.longest_wait_seconds, o.gone_ns AS first_ns,
       coalesce(back_ns, last_refused_ns, closed_ns) AS last_ns, spares
FROM {OUTAGES}
WHERE NOT crashed
""",
    subject={"broker": "broker"},
    evidence=(
        "closed",
        "unanswered",
        "handed_over",
        "refused",
        "at_second",
        "away_seconds",
        "waiting_clients",
        "longest_wait_seconds",
    ),
    says="broker {broker_name} stopped in order, {at_second} s into the capture: clients were told the new leaders "
    "({handed_over} answers), then it closed {closed} connections (requests left unanswered: {unanswered}); "
    "{back}{waited}",
    advice="nothing; retries of the clients suffice",
    see="sql 'SELECT timestamp, client_id, topic, partition, lost_ms FROM leader_changes ORDER BY timestamp' {files}",
    source="controlled.shutdown.enable; KIP-951",
    explains=dict.fromkeys(CONSEQUENCES, ()),
)
