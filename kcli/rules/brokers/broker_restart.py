"""A broker was stopped, and nothing shows that it crashed.

The stop was controlled if the broker handed its leaders over before. Without that, packets can't show a controlled
stop: when a process is killed while no request is in flight, the kernel closes its connections exactly as the process
does.
"""

from kcli.rules.brokers.broker_crash import BACK, CONSEQUENCES, OUTAGES, ROLE, WAITED
from kcli.rules.rule import INFO, Rule

HOW = """CASE WHEN handed_over = 0 THEN 'stopped, in order or killed while idle'
            ELSE 'stopped in order' END"""
HANDED_OVER = """CASE WHEN handed_over = 0 THEN 'no response named a new leader'
            ELSE concat('responses named the new leaders (', handed_over,
                        CASE WHEN handed_over = 1 THEN ' answer)' ELSE ' answers)' END) END"""
ADVISED = """CASE WHEN handed_over = 0
                THEN concat('read the end of its log: a clean shutdown writes its steps there, ',
                            'a killed process nothing (then: dmesg, the OOM killer)')
            WHEN back_ns IS NULL THEN 'start it, unless it is to stay away; retries of the clients suffice' END"""

RULE = Rule(
    finding="broker-restart",
    title="brokers that were stopped",
    severity=INFO,
    when="refused_connections > 0",
    sql=f"""
SELECT {ROLE}, broker, broker_name, closed, unanswered, handed_over, refused,
       (o.gone_ns - s.first_ns) / 1e9 AS at_second, (back_ns - o.gone_ns) / 1e9 AS away_seconds,
       -(o.gone_ns - s.first_ns) / 1e9 AS weight, {BACK} AS back, {WAITED} AS waited, w.waiting_clients,
       w.longest_wait_seconds, o.gone_ns AS first_ns, coalesce(back_ns, last_refused_ns, closed_ns) AS last_ns, spares,
       {HOW} AS how, {HANDED_OVER} AS told, {ADVISED} AS advised
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
    text="{role} {broker_name} {how}, {at_second} s into the capture: {told}, then {closed} connections were closed "
    "(requests left unanswered: {unanswered}); {back}{waited}",
    advice="nothing; retries of the clients suffice",
    see="sql 'SELECT timestamp, client_id, topic, partition, lost_ms FROM leader_changes ORDER BY timestamp' {files}",
    source="controlled.shutdown.enable; KIP-951",
    explains=dict.fromkeys(CONSEQUENCES, ()),
)
