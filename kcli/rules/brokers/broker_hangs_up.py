"""A broker closes connections instead of answering."""

from kcli.rules.prepared import CLIENT_END, SERVER_END
from kcli.rules.rule import CRITICAL, Rule

# A broker that can't take a request closes its connection without a word: a request larger than
# socket.request.max.bytes, or of a version that the broker lacks (Kafka 4 has no versions of clients before 2.1). It
# closes connections as soon as they open if the address has too many, and at the first request if the listener wants a
# login. Requests are handled in order, so that the first one without an answer is the reason. For each reason, what the
# broker answers is known: smaller requests only, no request of that version, other connections of the same address.
RULE = Rule(
    finding="broker-hangs-up",
    title="connections that a broker closes instead of answering",
    severity=CRITICAL,
    when="cut_connections >= 3",
    sql=f"""
WITH cuts AS (
  SELECT *
  FROM (
    SELECT connection, server, host, coalesce(client_id, '') AS client_id, first_ns, response_bytes,
           {SERVER_END} AS cut_ns,
           {CLIENT_END} AS client_ns
    FROM conns
    WHERE opened AND accepted AND NOT inner_client AND requests > 0
  ) AS c
  WHERE cut_ns IS NOT NULL AND (client_ns IS NULL OR cut_ns <= client_ns)
    AND NOT EXISTS (
      SELECT 1
      FROM outages o
      WHERE o.server = c.server AND c.cut_ns BETWEEN o.gone_ns - 2000000000 AND o.closed_ns + 2000000000
    )
),
waiting AS (
  SELECT connection, min_by(api, ns) AS api, min_by(api_version, ns) AS api_version,
         min_by(request_bytes, ns) AS request_bytes
  FROM calls
  WHERE unanswered AND connection IN (SELECT connection FROM cuts)
  GROUP BY connection
),
half_sent AS (
  SELECT connection, max(TRY_CAST(regexp_extract(reason, 'of ([0-9]+) bytes of a frame', 1) AS BIGINT)) AS request_bytes
  FROM undecodable
  WHERE event = 'truncated' AND sender = 'client' AND reason LIKE '% bytes of a frame%'
    AND connection IN (SELECT connection FROM cuts)
  GROUP BY connection
),
accepted_requests AS (
  SELECT server, max(request_bytes) AS most_bytes,
         bool_or(api NOT IN ('API_VERSIONS', 'SASL_HANDSHAKE', 'SASL_AUTHENTICATE')) AS works
  FROM calls
  WHERE response_bytes IS NOT NULL
  GROUP BY server
),
spoken AS (SELECT DISTINCT api, api_version FROM calls WHERE response_bytes IS NOT NULL),
other_connections AS (
  SELECT server, host, min(first_ns) AS from_ns, max(last_ns) AS to_ns
  FROM conns
  WHERE response_bytes > 0
  GROUP BY server, host
),
reasons AS (
  SELECT c.client_id, c.host, c.server, cut_ns, w.api, w.api_version,
         coalesce(h.request_bytes, w.request_bytes) AS request_bytes, most_bytes,
         CASE WHEN coalesce(h.request_bytes, w.request_bytes) > greatest(most_bytes, 65536) THEN 'size'
              WHEN l.server IS NOT NULL AND w.api NOT LIKE 'SASL_%'
                   AND c.connection NOT IN (SELECT connection FROM sasl_calls) THEN 'login'
              WHEN w.api != 'API_VERSIONS' AND s.api IS NULL AND works THEN 'version'
              WHEN response_bytes = 0 AND cut_ns - c.first_ns < 1000000000 AND b.from_ns < c.first_ns
                   AND b.to_ns > cut_ns THEN 'number' END AS kind
  FROM cuts c
  LEFT JOIN waiting w ON w.connection = c.connection
  LEFT JOIN half_sent h ON h.connection = c.connection
  LEFT JOIN accepted_requests t ON t.server = c.server
  LEFT JOIN spoken s ON s.api = w.api AND s.api_version = w.api_version
  LEFT JOIN (SELECT DISTINCT server FROM sasl_calls) AS l ON l.server = c.server
  LEFT JOIN other_connections b ON b.server = c.server AND b.host = c.host
  WHERE w.connection IS NOT NULL OR h.connection IS NOT NULL
),
summed AS (
  SELECT client_id, kind, count(*) AS times, array_agg(DISTINCT server) AS servers, array_agg(DISTINCT host) AS hosts,
         min(cut_ns) AS first_ns, max(cut_ns) AS last_ns, min(request_bytes) AS request_bytes,
         max(most_bytes) AS most_bytes,
         array_agg(DISTINCT CASE WHEN kind = 'version' THEN concat(api, ' v', api_version) END)
           FILTER (WHERE kind = 'version') AS versions, min(concat(api, ' v', api_version)) AS version
  FROM reasons
  WHERE kind IS NOT NULL
  GROUP BY client_id, kind
)
SELECT client_id, times, servers, first_ns, last_ns, times AS weight, versions,
       CASE WHEN kind = 'number' THEN hosts END AS hosts,
       CASE WHEN kind = 'size' THEN request_bytes END AS request_bytes,
       CASE WHEN kind = 'size' THEN most_bytes END AS most_bytes,
       CASE kind WHEN 'size'
                 THEN concat('at requests of ', request_bytes, ' bytes and more; the largest that it accepted has ',
                             most_bytes)
                 WHEN 'login' THEN concat('at ', version, ' without a login, though others log in there')
                 WHEN 'version' THEN concat('at ', version, ', of which it answered none')
                 ELSE 'as soon as they open, while others of the same address stay open' END AS how,
       CASE kind WHEN 'size'
                 THEN concat('make requests of {{client_id}} smaller (max.request.size, batch.size), or raise ',
                             'socket.request.max.bytes of the brokers (104857600)')
                 WHEN 'login'
                 THEN concat('set security.protocol and sasl.mechanism of {{client_id}}, or give it the port of ',
                             'another listener')
                 WHEN 'version'
                 THEN concat('upgrade {{client_id}}, or let it request API versions (api.version.request, ',
                             'api_version): Kafka 4 accepts no requests of clients before 2.1')
                 ELSE concat('open fewer connections from there, or raise max.connections.per.ip (and its ',
                             '.overrides) of the brokers, or the quota connection_creation_rate of that address ',
                             '(kafka-configs.sh --describe --entity-type ips)') END AS advised
FROM summed
WHERE times >= 3 AND last_ns - first_ns >= 1000000000
""",
    subject={"client": "client_id", "host": "hosts"},
    evidence=("times", "servers", "versions", "request_bytes", "most_bytes"),
    text="brokers close connections of {client_id} instead of answering, {times} times: {how}",
    ruled_out="a broker that is down: at these times most of its connections stay open, or it accepts new ones",
    absent={"auth-failure": "refused logins"},
    advice="read the broker's log: it has the reason",
    see="sql \"SELECT timestamp, connection, event, reason FROM undecodable WHERE event LIKE 'unanswered%' "
    "OR event = 'truncated'\" {files}",
    source="socket.request.max.bytes, max.connections.per.ip; KIP-896",
    explains={
        "connection-churn": ("client",),
        "errors-again": ("client",),
        "metadata-storm": ("client",),
        "request-timeout-too-short": ("client",),
        "rebalance-storm": ("client",),
    },
)
