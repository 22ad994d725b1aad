"""Wrong credentials, tried again and again."""

from kcli.rules.rule import CRITICAL, Rule

# Without rows, array_agg with a FILTER is NULL in DuckDB and empty in Spark, so it is used only if there are some.
# A client that is logged in asks for something. Where nothing of the broker is captured, connections that end behind
# the login, or the choice of its mechanism, without any other request, show that it was refused, or not answered.
RULE = Rule(
    finding="auth-failure",
    title="refused logins",
    severity=CRITICAL,
    when="errors LIKE '%SASL%' OR apis LIKE '%,SASL_%'",
    sql="""
WITH named AS (
  SELECT connection, max(mechanism) AS mechanism, max(principal) AS principal FROM sasl_calls GROUP BY connection
),
logged_in AS (
  SELECT DISTINCT connection
  FROM calls
  WHERE api NOT IN ('API_VERSIONS', 'SASL_HANDSHAKE', 'SASL_AUTHENTICATE')
    AND connection IN (SELECT connection FROM named)
),
without_response AS (
  SELECT s.connection, max(s.timestamp) AS timestamp
  FROM sasl_calls s JOIN tcp t ON s.connection = t.connection LEFT JOIN logged_in w ON s.connection = w.connection
  WHERE t.s_segments = 0 AND coalesce(t.c_fin_ns, t.c_rst_ns) IS NOT NULL
    AND w.connection IS NULL
  GROUP BY s.connection
),
failed_logins AS (
  SELECT coalesce(client_id, '') AS client_id, s.connection, s.server, s.error, s.message, s.timestamp, n.mechanism,
         n.principal
  FROM sasl_calls s JOIN named n USING (connection)
  WHERE s.error IN ('SASL_AUTHENTICATION_FAILED', 'UNSUPPORTED_SASL_MECHANISM', 'ILLEGAL_SASL_STATE')
    OR (s.connection, s.timestamp) IN (SELECT connection, timestamp FROM without_response)
),
accepted_logins AS (
  SELECT coalesce(client_id, '') AS client_id, count(DISTINCT connection) AS good, max(timestamp) AS last
  FROM sasl_calls
  WHERE api = 'SASL_AUTHENTICATE' AND error IS NULL AND answered
    AND connection NOT IN (SELECT connection FROM failed_logins)
  GROUP BY 1
)
SELECT t.client_id, CASE WHEN count(t.principal) > 0
                         THEN array_agg(DISTINCT t.principal) FILTER (WHERE t.principal IS NOT NULL) END AS users,
       count(*) AS refused, coalesce(max(p.good), 0) AS good, count(DISTINCT t.connection) AS connections,
       CASE WHEN count(error) > 0 THEN array_agg(DISTINCT error) FILTER (WHERE error IS NOT NULL) END AS errors,
       max(message) AS message,
       CASE WHEN count(mechanism) > 0
            THEN array_agg(DISTINCT mechanism) FILTER (WHERE mechanism IS NOT NULL) END AS mechanisms,
       (max(unix_micros(timestamp)) - min(unix_micros(timestamp))) / 1e6 AS seconds,
       min(unix_micros(timestamp)) * 1000 AS first_ns, max(unix_micros(timestamp)) * 1000 AS last_ns,
       count(*) AS weight, array_agg(DISTINCT server) AS servers,
       CASE WHEN max(error) IS NULL THEN 'refused or not answered' ELSE 'refused' END AS outcome,
       CASE WHEN max(error) IS NULL THEN 'their connections end after the login; the capture has no response'
            ELSE coalesce(concat('"', max(message), '"'), max(error)) END AS shown,
       CASE WHEN max(error) IS NULL THEN 'a client that is logged in: it would send other requests'
            ELSE 'the broker: it answers' END AS not_so,
       CASE WHEN max(error) IS NULL THEN 'capture both directions; if it is refused: ' ELSE '' END AS first_step,
       CASE WHEN max(error) IS NULL THEN 'decode pcap {files} --api SaslHandshake,SaslAuthenticate' END AS look,
       CASE WHEN max(error) IS NULL OR count(*) <= 3 AND max(p.last) > max(timestamp) THEN 'warning'
            ELSE 'critical' END AS severity,
       CASE WHEN max(p.last) > max(timestamp) THEN '; its last login was accepted' ELSE '' END AS at_last,
       CASE WHEN min(mechanism) = 'OAUTHBEARER' AND max(mechanism) = 'OAUTHBEARER'
            THEN 'the token: its issuer, audience and scope, its life and the clocks of both sides '
                 '(sasl.login.callback.handler.class, sasl.oauthbearer.*)'
            ELSE 'user and password (sasl.jaas.config, sasl.username and sasl.password)' END AS secret
FROM failed_logins t LEFT JOIN accepted_logins p ON t.client_id = p.client_id
GROUP BY t.client_id
HAVING count(*) >= CASE WHEN max(error) IS NULL THEN 3 ELSE 2 END
""",
    subject={"client": "client_id", "user": "users"},
    evidence=("refused", "good", "connections", "errors", "message", "mechanisms", "seconds", "servers"),
    text="{client_id}: {refused} logins {outcome} on {connections} connections, {good} accepted ({mechanisms}: {shown})"
    "{at_last}",
    ruled_out="{not_so}",
    advice="{first_step}correct {secret} or the mechanism; let retries back off (reconnect.backoff.max.ms)",
    see="decode pcap {files} --api SaslHandshake,SaslAuthenticate --errors",
    source="failed-authentication-rate; connection.failed.authentication.delay.ms",
    explains={"connection-churn": ("client",), "errors-again": ("client",), "request-timeout-too-short": ("client",)},
)
