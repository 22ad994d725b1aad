"""A broker is down while others name it."""

from kcli.rules.rule import CRITICAL, Rule

# Every attempt to connect to the broker is refused, from first to last, while clients reach other brokers at the
# addresses in the same Metadata answers. So one broker is down, and no listener advertises a wrong address.
RULE = Rule(
    finding="broker-down",
    title="brokers that are down while others name them",
    severity=CRITICAL,
    when="unreached > 0 AND refused_connections >= 2",
    sql="""
WITH connects AS (
  SELECT server AS address, count(*) AS attempts, sum(CASE WHEN accepted OR requests > 0 THEN 1 ELSE 0 END) AS taken,
         sum(CASE WHEN s_rst_ns IS NOT NULL AND NOT accepted THEN 1 ELSE 0 END) AS refused,
         min(first_ns) AS first_ns, max(first_ns) AS last_ns
  FROM conns
  GROUP BY server
),
others AS (
  SELECT a.node_id, a.address, count(DISTINCT o.node_id) AS reached
  FROM advertised a JOIN advertised o ON a.server = o.server AND a.node_id != o.node_id
  WHERE o.address IN (SELECT server FROM calls)
  GROUP BY a.node_id, a.address
)
SELECT broker, broker_name, t.attempts, t.refused, o.reached, t.first_ns, t.last_ns,
       (t.last_ns - t.first_ns) / 1e9 AS seconds, t.refused AS weight
FROM connects t JOIN others o ON t.address = o.address JOIN brokers b ON t.address = b.server
WHERE t.taken = 0 AND t.refused >= 2 AND t.refused >= 0.8 * t.attempts AND (t.last_ns - t.first_ns) / 1e9 >= 0.5
""",
    subject={"broker": "broker"},
    evidence=("attempts", "refused", "reached", "seconds"),
    text="broker {broker_name} is down: {refused} of {attempts} attempts to connect there are refused over "
    "{seconds} s, none is accepted; Metadata names it and {reached} other brokers, to which clients do connect",
    ruled_out="a wrong advertised listener: the other brokers are reached at their advertised addresses",
    advice="start broker {broker_name}, or find out why it does not start: its log, disk, the OOM killer (dmesg)",
    see="stats {files} --by broker",
    source="broker.session.timeout.ms 9000 (KRaft)",
    explains={
        "wrong-advertised-listener": ("broker",),
        **dict.fromkeys(
            ("coordinator-unavailable", "connection-churn", "metadata-storm", "errors-again", "leader-moves",
             "rebalance-storm", "slow-rebalance", "slow-replication", "long-transaction"),
            (),
        ),
    },
)  # fmt: skip
