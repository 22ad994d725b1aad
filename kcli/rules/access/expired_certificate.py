"""A certificate is not valid for the other side."""

from kcli.rules.prepared import CLIENT_END
from kcli.rules.rule import CRITICAL, Rule

# Alert descriptions: RFC 8446, 6. TLS 1.3 encrypts alerts. Such an alert is recognized by its length and by its place:
# it comes where the other end expects Finished, or the first data.
# Clients on Python's asyncio (aiokafka) send no alert: they close the connection right after the certificate. A health
# check that only looks for the broker's hello does the same.
RULE = Rule(
    finding="expired-certificate",
    title="refused certificates",
    severity=CRITICAL,
    when="tls_alerts >= 2 OR tls_hellos >= 3",
    sql=f"""
WITH named AS (
  SELECT 42 AS alert, 'bad_certificate' AS name
  UNION ALL
  SELECT 43, 'unsupported_certificate'
  UNION ALL
  SELECT 44, 'certificate_revoked'
  UNION ALL
  SELECT 45, 'certificate_expired'
  UNION ALL
  SELECT 46, 'certificate_unknown'
  UNION ALL
  SELECT 48, 'unknown_ca'
  UNION ALL
  SELECT 116, 'certificate_required'
  UNION ALL
  SELECT 255, 'encrypted (TLS 1.3)'
  UNION ALL
  SELECT -1, 'closed without an alert'
),
ended AS (
  SELECT server, host, connection, first_ns AS opened_ns, c_alert AS alert, 'client' AS sender
  FROM conns
  WHERE c_alert IS NOT NULL AND requests IS NULL
  UNION ALL
  SELECT server, host, connection, first_ns, s_alert, 'broker'
  FROM conns
  WHERE s_alert IS NOT NULL AND c_alert IS NULL AND requests IS NULL
  UNION ALL
  SELECT server, host, connection, first_ns, -1, 'client'
  FROM conns
  WHERE c_alert IS NULL AND s_alert IS NULL AND c_first_bytes LIKE '1603%' AND s_first_bytes LIKE '1603%'
    AND c_data_segments = 1 AND s_bytes >= 500 AND requests IS NULL
    AND {CLIENT_END} - s_first_data_ns BETWEEN 0 AND 3000000000
    AND {CLIENT_END} < coalesce(s_fin_ns, s_rst_ns, c_fin_ns + 1)
)
SELECT e.server, b.broker, b.broker_name, array_agg(DISTINCT host) AS hosts, array_agg(DISTINCT n.name) AS alerts,
       max(sender) AS sender, count(*) AS connections,
       count(*) / greatest((max(opened_ns) - min(opened_ns)) / 1e9, 1) AS per_second,
       (max(opened_ns) - min(opened_ns)) / 1e9 AS seconds, min(opened_ns) AS first_ns, max(opened_ns) AS last_ns,
       count(*) AS weight,
       CASE WHEN max(CASE WHEN n.alert BETWEEN 0 AND 254 THEN 1 ELSE 0 END) = 0
              THEN concat('read the reason in the log of the ', max(sender), '; most often: ')
            ELSE '' END AS unsaid, CASE WHEN max(n.alert) = -1 THEN 'warning' ELSE 'critical' END AS severity,
       concat('renew the certificate of the ', CASE max(sender) WHEN 'client' THEN 'broker' ELSE 'client' END, ', or ',
              CASE WHEN min(n.alert) = 45 AND max(n.alert) = 45 THEN concat('set the clock of the ', max(sender))
                   ELSE concat('give the ', max(sender),
                               ' the CA that signed it (ssl.truststore.location, ssl.ca.location)') END) AS remedy
FROM ended e JOIN named n ON e.alert = n.alert JOIN brokers b ON e.server = b.server
GROUP BY e.server, b.broker, b.broker_name
HAVING count(*) >= CASE WHEN max(n.alert) = -1 THEN 3 ELSE 2 END
""",
    subject={"broker": "broker", "host": "hosts"},
    evidence=("alerts", "sender", "connections", "per_second", "seconds", "hosts"),
    text="TLS handshakes with broker {broker_name} fail because the {sender} refuses the certificate ({alerts}), on "
    "{connections} connections of {hosts}, {per_second} a second; no Kafka traffic on them",
    ruled_out="the network: the handshake reached the certificate",
    advice="{unsaid}{remedy}; openssl s_client -connect {server} shows it",
    see="decode pcap {files} --errors",
    source="TLS alerts (RFC 5246, 7.2); ssl.keystore.location",
)
