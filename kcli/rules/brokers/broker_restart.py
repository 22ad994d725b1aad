"""A broker was restarted in order: nothing is wrong."""

from kcli.rules.brokers.broker_crash import CONSEQUENCES
from kcli.rules.rule import INFO, Rule

RULE = Rule(
    finding="broker-restart",
    title="brokers that were stopped in order",
    severity=INFO,
    when="refused_connections > 0",
    sql="""
SELECT broker, broker_name, closed, unanswered, handed_over, refused, (gone_ns - span.first_ns) / 1e9 AS at_second,
       (back_ns - gone_ns) / 1e9 AS away_seconds, -(gone_ns - span.first_ns) / 1e9 AS weight,
       CASE WHEN back_ns IS NULL THEN 'it did not come back' ELSE concat('back after ',
              round((back_ns - gone_ns) / 1e9, 1), ' s') END AS back,
       gone_ns AS first_ns, coalesce(back_ns, last_refused_ns, closed_ns) AS last_ns
FROM outages o JOIN brokers b ON o.server = b.server CROSS JOIN span WHERE NOT crashed
""",
    subject={"broker": "broker"},
    evidence=("closed", "unanswered", "handed_over", "refused", "at_second", "away_seconds"),
    says="broker {broker_name} stopped in order, {at_second} s into the capture: {handed_over} answers told clients "
    "of other "
    "leaders, then it closed {closed} connections with {unanswered} requests unanswered; {back}",
    advice="nothing; retries of the clients suffice",
    see="sql 'SELECT * FROM leader_changes' {files}",
    source="controlled.shutdown.enable; KIP-951",
    explains=dict.fromkeys(CONSEQUENCES, ()),
)
