"""A plain client on a TLS port."""

from kcli.rules.rule import CRITICAL, NOT_KAFKA, Rule

# One alert is enough: no other fault makes a server answer a plain request with one. A Java client may try only once:
# it reads the alert as a length of 336 MB, and its network thread ends with an OutOfMemoryError.
RULE = Rule(
    finding="plaintext-on-tls",
    title="plain clients on TLS ports",
    severity=CRITICAL,
    when="tls_alerts >= 1",
    sql="""
SELECT c.server, b.broker, b.broker_name, array_agg(DISTINCT host) AS hosts,
       array_agg(DISTINCT client_id) FILTER (WHERE client_id != '') AS clients, count(*) AS connections,
       (max(opened_ns) - min(opened_ns)) / 1e9 AS seconds, min(opened_ns) AS first_ns, max(opened_ns) AS last_ns,
       count(*) AS weight
FROM (SELECT *, first_ns AS opened_ns FROM conns) c JOIN brokers b ON c.server = b.server
WHERE s_first_bytes LIKE '1503%' AND c_first_size > 0 AND c_first_bytes NOT LIKE '16%' AND c_first_bytes LIKE '00%'
GROUP BY c.server, b.broker, b.broker_name
""",
    subject={"host": "hosts", "broker": "broker", "client": "clients"},
    evidence=("connections", "seconds", "hosts", "clients"),
    text="plaintext on a TLS port: {hosts} opened {connections} connections to broker {broker_name} with a plaintext "
    "request, and the broker answered with a TLS alert",
    ruled_out="certificates: the handshake never reached them",
    advice="set security.protocol to SSL (or SASL_SSL) in the client, or use the port of the PLAINTEXT listener; "
    "restart Java clients that failed with OutOfMemoryError there",
    see=NOT_KAFKA,
    source="listeners, listener.security.protocol.map",
    explains={"connection-churn": ("client",), "request-timeout-too-short": ("client",), "silent-broker": ("broker",)},
)
