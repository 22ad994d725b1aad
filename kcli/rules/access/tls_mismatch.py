"""Client and broker have no TLS version or cipher suite in common."""

from kcli.rules.rule import CRITICAL, NOT_KAFKA, Rule

# A broker that refuses the ClientHello answers it with an alert alone; a client that refuses the broker's choice
# sends its alert in the clear. Java's brokers send handshake_failure where no suite fits, the key of their certificate
# included (RSA or EC), and protocol_version where no version does (RFC 8446, 6.2). A client that has to work tries
# again with the same hello, for seconds. A scanner (nmap, testssl) offers one thing after another: its hellos have
# several sizes, each for a part of the time, where those of several clients come all the time. Who tries once or twice
# is no client that anybody waits for.
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
  SELECT server, host, c_first_size, first_ns AS opened_ns, coalesce(s_alert, c_alert) AS alert,
         CASE WHEN s_alert IS NULL THEN 'client' ELSE 'broker' END AS sender
  FROM conns
  WHERE requests IS NULL AND c_first_bytes LIKE '1603%'
    AND (s_alert IS NOT NULL AND s_first_bytes LIKE '1503%' OR s_alert IS NULL AND c_alert IS NOT NULL)
),
sizes AS (
  SELECT server, host, c_first_size, count(*) AS times, min(opened_ns) AS first_ns, max(opened_ns) AS last_ns
  FROM ended
  GROUP BY server, host, c_first_size
),
beside AS (
  SELECT *, count(*) OVER h AS hellos, sum(last_ns - first_ns) OVER h AS spans_ns, min(first_ns) OVER h AS begin_ns,
         max(last_ns) OVER h AS end_ns,
         lead(first_ns) OVER (PARTITION BY server, host ORDER BY first_ns) AS next_first_ns,
         lag(last_ns) OVER (PARTITION BY server, host ORDER BY last_ns) AS before_last_ns
  FROM sizes
  WINDOW h AS (PARTITION BY server, host)
),
kinds AS (
  SELECT server, host, c_first_size, hellos,
         CASE WHEN hellos >= 4 AND spans_ns <= 0.3 * hellos * (end_ns - begin_ns)
                AND NOT (times >= 3 AND (first_ns = begin_ns AND next_first_ns - first_ns >= 10000000000
                                         OR last_ns = end_ns AND last_ns - before_last_ns >= 10000000000)) THEN 'scan'
              WHEN times >= 3 AND last_ns - first_ns >= 1000000000 THEN 'again'
              ELSE 'once' END AS kind
  FROM beside
)
SELECT e.server, b.broker, b.broker_name, sender, array_agg(DISTINCT e.host) AS hosts,
       array_agg(DISTINCT n.name) AS alerts, count(*) AS connections, min(opened_ns) AS first_ns,
       max(opened_ns) AS last_ns, count(*) AS weight,
       CASE WHEN min(n.alert) = 70 AND max(n.alert) = 70 THEN 'TLS version' WHEN max(n.alert) < 70 THEN 'cipher suite'
            ELSE 'TLS version or cipher suite' END AS lacking,
       max(hellos) AS hellos,
       CASE kind WHEN 'scan' THEN 'info' WHEN 'once' THEN 'warning' ELSE 'critical' END AS severity,
       CASE kind WHEN 'scan'
                   THEN concat('; hellos of ', max(hellos), ' sizes, ', count(*), ' in ',
                               round((max(opened_ns) - min(opened_ns)) / 1e9, 1), ' s, as a scanner sends them')
                 WHEN 'once' THEN '; nobody goes on trying'
                 ELSE '' END AS how,
       CASE WHEN kind = 'scan'
              THEN 'nothing if that is a scan of your own (nmap, testssl); else find out who runs it on {hosts}'
            END AS advised
FROM ended e
JOIN kinds k ON e.server = k.server AND e.host = k.host AND e.c_first_size = k.c_first_size
JOIN named n ON e.alert = n.alert
JOIN brokers b ON e.server = b.server
GROUP BY e.server, b.broker, b.broker_name, sender, kind
HAVING count(*) >= 2
""",
    subject={"broker": "broker", "host": "hosts"},
    evidence=("alerts", "sender", "connections", "hosts", "hellos"),
    text="{hosts} and broker {broker_name} have no {lacking} in common: the {sender} ends {connections} handshakes "
    "with the alert {alerts}; no Kafka traffic on them{how}",
    ruled_out="certificates: none was refused; the network: both sides answer",
    advice="compare ssl.enabled.protocols and ssl.cipher.suites of the broker with those of the client (librdkafka: "
    "ssl.cipher.suites; older Java: jdk.tls.disabledAlgorithms); suites for ECDSA need a broker with an EC key; "
    "openssl s_client -connect {server} shows what the broker accepts",
    see=NOT_KAFKA,
    source="TLS alerts (RFC 8446, 6.2); ssl.enabled.protocols, ssl.cipher.suites",
)
