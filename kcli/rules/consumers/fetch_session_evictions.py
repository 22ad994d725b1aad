"""More fetch sessions are wanted than the broker has slots for."""

from kcli.rules.rule import Rule

# On a new connection a session may be unknown because its broker restarted.
RULE = Rule(
    finding="fetch-session-evictions",
    title="fetch sessions that are refused or evicted",
    when="refused_sessions >= 5 OR errors LIKE '%,FETCH_SESSION_ID_NOT_FOUND,%'",
    sql="""
WITH fetches AS (
  SELECT *, array_contains(errors, 'FETCH_SESSION_ID_NOT_FOUND')
            AND lag(ns) OVER (PARTITION BY connection ORDER BY ns, correlation_id) IS NOT NULL AS is_lost
  FROM calls
  WHERE api = 'FETCH' AND session_epoch IS NOT NULL AND session_epoch >= 0
),
by_client AS (
  SELECT server, client_id, inner_client, count(*) AS fetches,
         sum(CASE WHEN session_epoch = 0 AND granted_id = 0 AND NOT failed AND response_bytes IS NOT NULL THEN 1
                  ELSE 0 END) AS refused,
         sum(CASE WHEN is_lost THEN 1 ELSE 0 END) AS evicted,
         min(CASE WHEN session_epoch = 0 AND granted_id = 0 OR is_lost THEN ns END) AS first_ns,
         max(CASE WHEN session_epoch = 0 AND granted_id = 0 OR is_lost THEN ns END) AS last_ns,
         sum(CASE WHEN session_epoch = 0 THEN 1 ELSE 0 END) AS full_fetches,
         sum(CASE WHEN session_epoch > 0 THEN 1 ELSE 0 END) AS incremental, sum(request_bytes) AS request_bytes
  FROM fetches
  GROUP BY server, client_id, inner_client
),
short AS (SELECT server FROM by_client WHERE (refused >= 5 AND refused >= 0.2 * fetches) OR evicted >= 2),
affected AS (SELECT * FROM by_client WHERE refused + evicted > 0 AND server IN (SELECT server FROM short))
SELECT h.server, b.broker, b.broker_name, array_agg(DISTINCT h.client_id) AS clients, sum(h.refused) AS refused,
       sum(h.evicted) AS evicted, sum(h.full_fetches) AS full_fetches, sum(h.fetches) AS fetches,
       sum(h.request_bytes) AS request_bytes, coalesce(max(others), 0) AS others_with_sessions,
       min(h.first_ns) AS first_ns, max(h.last_ns) AS last_ns,
       sum(h.refused + h.evicted) AS weight
FROM affected h
JOIN brokers b ON h.server = b.server
LEFT JOIN (
  SELECT server, count(*) AS others FROM by_client WHERE incremental > 0 AND refused = 0 GROUP BY server
) AS w ON h.server = w.server
GROUP BY h.server, b.broker, b.broker_name
""",
    subject={"broker": "broker", "client": "clients"},
    evidence=("refused", "evicted", "full_fetches", "fetches", "request_bytes", "others_with_sessions", "clients"),
    text="broker {broker_name} has too few slots for fetch sessions: it granted none to {refused} full Fetches and "
    "evicted {evicted} sessions, of {clients}; {full_fetches} of {fetches} Fetches name all partitions",
    ruled_out="clients that do not request a session",
    advice="raise max.incremental.fetch.session.cache.slots (default 1000) of the broker above consumers and followers "
    "together; run fewer consumers per process; look for a client that opens a session with each Fetch "
    "(a broker keeps each for two minutes, longer than this capture may show)",
    see="fetch-session explain {files}",
    source="KIP-227; NumIncrementalFetchSessions, IncrementalFetchSessionEvictionsPerSec",
    explains={"errors-again": ("client",)},
)
