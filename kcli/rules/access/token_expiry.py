"""A login ran out and was not renewed."""

from kcli.rules.rule import Rule

RULE = Rule(
    finding="token-expiry",
    title="logins that run out",
    when="apis LIKE '%,SASL_AUTHENTICATE,%'",
    sql="""
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
  SELECT l.*, c.server, least(coalesce(s_fin_ns, s_rst_ns), coalesce(s_rst_ns, s_fin_ns)) AS server_ns,
         least(coalesce(c_fin_ns, c_rst_ns), coalesce(c_rst_ns, c_fin_ns)) AS client_ns
  FROM logins_of l JOIN conns c ON l.connection = c.connection
)
SELECT client_id, count(*) AS cut, max(lifetime_ms) / 1e3 AS lifetime_seconds, max(mechanism) AS mechanism,
       count(*) AS weight, array_agg(DISTINCT server) AS servers, min(server_ns) AS first_ns, max(server_ns) AS last_ns
FROM late
WHERE server_ns IS NOT NULL AND (client_ns IS NULL OR server_ns <= client_ns)
  AND (server_ns - login_ns) / 1e6 >= 0.95 * lifetime_ms
GROUP BY client_id
HAVING count(*) >= 2
""",
    subject={"client": "client_id"},
    evidence=("cut", "lifetime_seconds", "mechanism", "servers"),
    says="{client_id} does not renew its login: the broker closed {cut} connections when their {lifetime_seconds} s "
    "were over ({mechanism})",
    ruled_out="wrong credentials: the first login was taken",
    advice="use a client that re-authenticates (KIP-368: Java since 2.2, librdkafka since 2.x for OAUTHBEARER), "
    "with sasl.login.refresh.*; or raise connections.max.reauth.ms and the lifetime of tokens",
    see="decode pcap {files} --api SaslAuthenticate",
    source="connections.max.reauth.ms; KIP-368",
    explains={"connection-churn": ("client",), "errors-again": ("client",)},
)
