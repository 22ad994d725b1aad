"""A login ran out and was not renewed."""

from kcli.rules.prepared import CLIENT_END, SERVER_END
from kcli.rules.rule import Rule

# A broker accepts a delegation token that has just expired for 0 ms, and closes the connection at its next request. A
# lifetime of 0 elsewhere means no limit.
RULE = Rule(
    finding="token-expiry",
    title="logins that expire",
    when="apis LIKE '%,SASL_AUTHENTICATE,%'",
    sql=f"""
WITH logins_of AS (
  SELECT connection, coalesce(min(client_id), '') AS client_id, max(session_lifetime_ms) AS lifetime_ms,
         min(completed_ns) AS login_ns, max(mechanism) AS mechanism,
         sum(CASE WHEN api = 'SASL_AUTHENTICATE' THEN 1 ELSE 0 END) AS logins
  FROM sasl_calls
  WHERE error IS NULL
  GROUP BY connection
  HAVING max(session_lifetime_ms) > 0
),
late AS (
  SELECT l.*, c.server, {SERVER_END} AS server_ns,
         {CLIENT_END} AS client_ns
  FROM logins_of l JOIN conns c ON l.connection = c.connection
),
closed_by_broker AS (
  SELECT client_id, count(*) AS cut, array_agg(DISTINCT server) AS servers, min(server_ns) AS first_ns,
         max(server_ns) AS last_ns
  FROM late
  WHERE server_ns IS NOT NULL AND (client_ns IS NULL OR server_ns <= client_ns)
    AND (server_ns - login_ns) / 1e6 >= 0.95 * lifetime_ms
  GROUP BY client_id
),
lifetimes AS (
  SELECT client_id, max(lifetime_ms) / 1e3 AS lifetime_seconds, max(mechanism) AS mechanism,
         min(login_ns + 9.5e5 * lifetime_ms) AS over_ns
  FROM logins_of
  GROUP BY client_id
),
of_no_time AS (
  SELECT coalesce(min(s.client_id), '') AS client_id, min(s.server) AS server, max(s.completed_ns) AS completed_ns
  FROM sasl_calls s JOIN conns c ON s.connection = c.connection
  WHERE {SERVER_END} <= coalesce({CLIENT_END}, {SERVER_END})
  GROUP BY s.connection
  HAVING max(session_lifetime_ms) = 0 AND count(s.error) = 0 AND min({SERVER_END}) < max(s.completed_ns) + 2000000000
),
refused_logins AS (
  SELECT client_id, count(*) AS refused, array_agg(DISTINCT server) AS servers, min(completed_ns) AS first_ns,
         max(completed_ns) AS last_ns
  FROM (
    SELECT g.client_id, s.server, s.completed_ns
    FROM lifetimes g JOIN sasl_calls s ON g.client_id = coalesce(s.client_id, '') AND s.completed_ns >= g.over_ns
    WHERE s.error = 'SASL_AUTHENTICATION_FAILED' AND g.mechanism = 'OAUTHBEARER'
    UNION ALL
    SELECT g.client_id, server, completed_ns
    FROM lifetimes g JOIN of_no_time n ON g.client_id = n.client_id
  ) AS r
  GROUP BY client_id
)
SELECT g.client_id, coalesce(cut, 0) AS cut, coalesce(refused, 0) AS refused, lifetime_seconds, mechanism,
       coalesce(cut, 0) + coalesce(refused, 0) AS weight, coalesce(c.servers, w.servers) AS servers,
       least(coalesce(c.first_ns, w.first_ns), coalesce(w.first_ns, c.first_ns)) AS first_ns,
       greatest(coalesce(c.last_ns, w.last_ns), coalesce(w.last_ns, c.last_ns)) AS last_ns
FROM lifetimes g LEFT JOIN closed_by_broker c ON g.client_id = c.client_id
LEFT JOIN refused_logins w ON g.client_id = w.client_id
WHERE cut >= 2 OR refused >= 2
""",
    subject={"client": "client_id"},
    evidence=("cut", "refused", "lifetime_seconds", "mechanism", "servers"),
    text="{client_id} does not renew its login ({mechanism}): when it expired after {lifetime_seconds} s, the broker "
    "closed {cut} connections, and refused or ended {refused} logins with expired credentials",
    ruled_out="wrong credentials: the first login succeeded",
    advice="have {client_id} request a new token in time (Java: sasl.login.refresh.*; librdkafka: oauth_cb, or "
    "sasl.oauthbearer.method=oidc; Python: the token provider must not return an old one), and use a client that "
    "re-authenticates (KIP-368: Java 2.2, librdkafka 2.2); or raise connections.max.reauth.ms and the lifetime of "
    "tokens",
    see="decode pcap {files} --client {client_id} --api SaslHandshake,SaslAuthenticate",
    source="connections.max.reauth.ms; KIP-368",
    explains={"auth-failure": ("client",), "connection-churn": ("client",), "errors-again": ("client",)},
)
