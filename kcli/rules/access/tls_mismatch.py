"""Client and broker have no TLS version or cipher suite in common."""

from kcli.rules.rule import CRITICAL, NOT_KAFKA, Rule

# A broker that refuses the ClientHello answers it with an alert alone; a client that refuses the broker's choice
# sends its alert in the clear. Java's brokers send handshake_failure where no suite fits, the key of their certificate
# included (RSA or EC), and protocol_version where no version does (RFC 8446, 6.2).
RULE = Rule(
    finding="tls-mismatch",
    title="TLS handshakes without a common version or cipher suite",
    severity=CRITICAL,
    when="tls_alerts >= 2",
    sql="""
WITH named AS (
  SELECT 40 AS alert, 'handshake_failure' AS name
  UNION ALL
  SELECT 70, 'protocol_version'
  UNION ALL
  SELECT 71, 'insufficient_security'
),
ended AS (
  SELECT server, host, first_ns AS opened_ns, coalesce(s_alert, c_alert) AS alert,
         CASE WHEN s_alert IS NULL THEN 'client' ELSE 'broker' END AS sender
  FROM conns
  WHERE requests IS NULL AND c_first_bytes LIKE '1603%'
    AND (s_alert IS NOT NULL AND s_first_bytes LIKE '1503%' OR s_alert IS NULL AND c_alert IS NOT NULL)
)
SELECT e.server, b.broker, b.broker_name, sender, array_agg(DISTINCT host) AS hosts,
       array_agg(DISTINCT n.name) AS alerts, count(*) AS connections, min(opened_ns) AS first_ns,
       max(opened_ns) AS last_ns, count(*) AS weight,
       CASE WHEN min(n.alert) = 70 AND max(n.alert) = 70 THEN 'TLS version' WHEN max(n.alert) < 70 THEN 'cipher suite'
            ELSE 'TLS version or cipher suite' END AS lacking
FROM ended e JOIN named n ON e.alert = n.alert JOIN brokers b ON e.server = b.server
GROUP BY e.server, b.broker, b.broker_name, sender
HAVING count(*) >= 2
""",
    subject={"broker": "broker", "host": "hosts"},
    evidence=("alerts", "sender", "connections", "hosts"),
    text="{hosts} and broker {broker_name} have no {lacking} in common: the {sender} ends {connections} handshakes "
    "with the alert {alerts}; no Kafka traffic on them",
    ruled_out="certificates: none was refused; the network: both sides answer",
    advice="compare ssl.enabled.protocols and ssl.cipher.suites of the broker with those of the client (librdkafka: "
    "ssl.cipher.suites; older Java: jdk.tls.disabledAlgorithms); suites for ECDSA need a broker with an EC key; "
    "openssl s_client -connect {server} shows what the broker accepts",
    see=NOT_KAFKA,
    source="TLS alerts (RFC 8446, 6.2); ssl.enabled.protocols, ssl.cipher.suites",
)
