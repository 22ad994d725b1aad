"""A client reads its socket slowly."""

from kcli.rules.rule import Rule

# A receive window that closes for moments belongs to a program that starts, or that works off a backlog between polls.
RULE = Rule(
    finding="slow-reader",
    title="clients that read their sockets slowly",
    when="zero_windows >= 5",
    sql="""
WITH closed AS (
  SELECT coalesce(client_id, '') AS client_id, host, sum(c_zero_windows) AS zero_windows,
         sum(c_zero_window_ms) / 1e3 AS closed_seconds, sum(s_bytes) AS bytes,
         greatest((max(last_ns) - min(first_ns)) / 1e9, 1) AS seconds
  FROM conns
  WHERE NOT inner_client
  GROUP BY 1, 2
),
big AS (
  SELECT client_id, count(*) AS answers, percentile_approx(latency_ms, 0.5) AS median_ms
  FROM calls
  WHERE response_bytes > 20000
  GROUP BY client_id
)
SELECT c.client_id, CASE WHEN c.client_id = '' THEN concat('a client of ', host) ELSE '' END AS nameless, host,
       g.groups, zero_windows, closed_seconds, bytes / seconds AS bytes_per_second,
       b.answers AS large_answers, b.median_ms AS large_answer_ms, seconds, closed_seconds AS weight,
       CASE WHEN b.answers IS NULL THEN ''
            WHEN b.answers = 1
              THEN concat('; its one response over 20 kB took ', format_number(b.median_ms, 0), ' ms')
            ELSE concat('; half of ', b.answers, ' responses over 20 kB took ', format_number(b.median_ms, 0),
                        ' ms or more') END AS large,
       CASE WHEN c.client_id = ''
            THEN concat('sql "SELECT connection, client_zero_windows, client_zero_window_ms, server_bytes ',
                        'FROM connections WHERE client_zero_windows > 0" {files}') END AS look
FROM closed c LEFT JOIN big b ON c.client_id = b.client_id LEFT JOIN client_groups g ON c.client_id = g.client_id
WHERE zero_windows >= 5 AND closed_seconds >= 0.5 AND closed_seconds >= 0.03 * seconds
  AND (closed_seconds >= 0.06 * zero_windows OR closed_seconds >= 0.2 * seconds)
""",
    subject={"client": "client_id", "host": "host", "group": "groups"},
    evidence=("zero_windows", "closed_seconds", "bytes_per_second", "large_answers", "large_answer_ms", "seconds"),
    text="{nameless}{client_id} reads its socket slowly: its receive window was closed {zero_windows} times, "
    "{closed_seconds} s in all{large}",
    ruled_out="the broker and the network: they wait that long for the client's TCP window",
    advice="look at the client's CPU and threads (throttled, swapping, GC), receive.buffer.bytes; use smaller "
    "fetches (fetch.max.bytes, max.partition.fetch.bytes)",
    see='sql "SELECT connection, client_zero_windows, client_zero_window_ms, server_bytes FROM connections '
    "WHERE client_id = '{client_id}'\" {files}",
    source="TCP window (RFC 9293); kafka.network:RequestMetrics ResponseSendTimeMs",
    explains={
        "lagging-consumer": ("client",),
        "consumer-stuck": ("client",),  # it needs minutes for one answer
        "packet-loss": ("client",),
        "request-timeout-too-short": ("client",),
    },
)
