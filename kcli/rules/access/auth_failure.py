"""Wrong credentials, tried again and again."""

from kcli.rules.rule import CRITICAL, Rule

RULE = Rule(
    finding="auth-failure",
    title="refused logins",
    severity=CRITICAL,
    when="errors LIKE '%SASL%' OR apis LIKE '%,SASL_AUTHENTICATE,%'",
    sql="""
WITH named AS (
  SELECT connection, max(mechanism) AS mechanism, max(principal) AS principal FROM sasl_calls GROUP BY connection
),
tried AS (
  SELECT coalesce(client_id, '') AS client_id, s.connection, s.server, s.error, s.message, s.timestamp, n.mechanism,
         n.principal
  FROM sasl_calls s JOIN named n USING (connection)
  WHERE s.error IN ('SASL_AUTHENTICATION_FAILED', 'UNSUPPORTED_SASL_MECHANISM', 'ILLEGAL_SASL_STATE')
),
passed AS (
  SELECT coalesce(client_id, '') AS client_id, count(DISTINCT connection) AS good
  FROM sasl_calls
  WHERE api = 'SASL_AUTHENTICATE' AND error IS NULL AND answered AND connection NOT IN (SELECT connection FROM tried)
  GROUP BY 1
)
SELECT t.client_id, array_agg(DISTINCT t.principal) FILTER (WHERE t.principal IS NOT NULL) AS users,
       count(*) AS refused, coalesce(max(p.good), 0) AS good, count(DISTINCT t.connection) AS connections,
       array_agg(DISTINCT error) AS errors, max(message) AS message,
       array_agg(DISTINCT mechanism) FILTER (WHERE mechanism IS NOT NULL) AS mechanisms,
       (max(unix_micros(timestamp)) - min(unix_micros(timestamp))) / 1e6 AS seconds,
       min(unix_micros(timestamp)) * 1000 AS first_ns, max(unix_micros(timestamp)) * 1000 AS last_ns,
       count(*) AS weight, array_agg(DISTINCT server) AS servers
FROM tried t LEFT JOIN passed p ON t.client_id = p.client_id
GROUP BY t.client_id
HAVING count(*) >= 2
""",
    subject={"client": "client_id", "user": "users"},
    evidence=("refused", "good", "connections", "errors", "message", "mechanisms", "seconds", "servers"),
    says='{client_id}: {refused} logins refused on {connections} connections, {good} taken ({mechanisms}: "{message}")',
    ruled_out="the broker: it answers",
    advice="correct user and password (sasl.jaas.config, sasl.username and sasl.password) or the mechanism; "
    "let retries back off (reconnect.backoff.max.ms)",
    see="decode pcap {files} --api SaslHandshake,SaslAuthenticate --errors",
    source="failed-authentication-rate; connection.failed.authentication.delay.ms",
    explains={"connection-churn": ("client",), "errors-again": ("client",), "request-timeout-too-short": ("client",)},
)
