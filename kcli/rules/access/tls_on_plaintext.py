"""A TLS client on a plaintext port."""

from kcli.rules.rule import CRITICAL, NOT_KAFKA, Rule

# A port that answers others with TLS is no plain one; a connection there looks alike if the capture lacks its packets.
RULE = Rule(
    finding="tls-on-plaintext",
    title="TLS clients on plain ports, and plain clients on TLS ports",
    severity=CRITICAL,
    when="tls_hellos >= 2",
    sql="""
WITH speaks_tls AS (SELECT DISTINCT server FROM tcp WHERE s_first_bytes LIKE '1603%'),
hellos AS (
  SELECT host, server, connection, first_ns AS opened_ns
  FROM conns
  WHERE c_first_bytes LIKE '1603%' AND substring(c_first_bytes, 11, 2) = '01' AND s_first_size = 0
    AND (s_fin_ns IS NOT NULL OR s_rst_ns IS NOT NULL) AND server NOT IN (SELECT server FROM speaks_tls)
),
plain AS (SELECT DISTINCT server FROM calls WHERE server NOT IN (SELECT server FROM speaks_tls))
SELECT h.server, b.broker, b.broker_name, array_agg(DISTINCT host) AS hosts, count(*) AS connections,
       (max(opened_ns) - min(opened_ns)) / 1e9 AS seconds, min(opened_ns) AS first_ns, max(opened_ns) AS last_ns,
       count(*) AS weight,
       CASE WHEN max(p.server) IS NULL THEN 'no client uses plaintext there in this capture'
            ELSE 'others use plaintext there' END AS others
FROM hellos h JOIN brokers b ON h.server = b.server LEFT JOIN plain p ON h.server = p.server
GROUP BY h.server, b.broker, b.broker_name
HAVING count(*) >= 2
""",
    subject={"host": "hosts", "broker": "broker"},
    evidence=("connections", "seconds", "others", "hosts"),
    text="TLS on a PLAINTEXT port: {connections} connections of {hosts} to broker {broker_name} began with a TLS "
    "ClientHello, and the broker closed each without sending a byte; {others}",
    ruled_out="certificates: the handshake never reached them",
    advice="set security.protocol to PLAINTEXT (or SASL_PLAINTEXT) in the client, or use the port of the TLS listener",
    see=NOT_KAFKA,
    source="listeners, listener.security.protocol.map",
)
