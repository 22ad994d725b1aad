"""The table `connections` in SQL that Spark and DuckDB both run, over whatever is known of connections."""

from __future__ import annotations

# What each row of traffic says of its connection: it may be an exchange, a sum of exchanges, a login or TCP's word.
TRAFFIC = {
    "client_id": "CAST(NULL AS STRING)",
    "api_key": "CAST(NULL AS SMALLINT)",
    "completed_ns": "CAST(NULL AS BIGINT)",  # of an exchange, a login, or the first exchange of a sum
    "first_request": "CAST(NULL AS TIMESTAMP)",
    "last_request": "CAST(NULL AS TIMESTAMP)",
    "requests": "0",
    "unanswered": "0",
    "with_errors": "0",
    "request_bytes": "0",
    "response_bytes": "0",
    "principal": "CAST(NULL AS STRING)",  # empty: a login was refused
    "round_trip_ms": "CAST(NULL AS DOUBLE)",
    "retransmissions": "CAST(NULL AS BIGINT)",
    "tls": "false",
}
# What an exchange says; rows of something else have no request_bytes.
IS_ASKED = "CASE WHEN request_bytes IS NOT NULL THEN"
EXCHANGE = {
    "client_id": "client_id",
    "api_key": "api_key",
    "completed_ns": "completed_ns",
    "first_request": f"{IS_ASKED} timestamp END",
    "last_request": f"{IS_ASKED} timestamp END",
    "requests": f"{IS_ASKED} 1 ELSE 0 END",
    "unanswered": "CASE WHEN request_bytes IS NOT NULL AND response_bytes IS NULL THEN 1 ELSE 0 END",
    "with_errors": "CASE WHEN cardinality(errors) > 0 THEN 1 ELSE 0 END",
    "request_bytes": "coalesce(request_bytes, 0)",
    "response_bytes": "coalesce(response_bytes, 0)",
}
TLS = "event = 'not-kafka' AND substring(reason, 1, 3) = 'TLS'"  # of an event: its connection is encrypted
CONNECTIONS = """
SELECT connection, server, client, {broker_address} AS broker_address, {client_address} AS client_address, client_id,
       principal, round_trip_ms, retransmissions, tls, first_request, last_request, requests, unanswered, with_errors,
       request_bytes, response_bytes, apis{columns}
FROM (SELECT connection, split_part(connection, '-', 1) AS server, split_part(connection, '-', 2) AS client,
             min_by(client_id, completed_ns) FILTER (WHERE client_id IS NOT NULL) AS client_id,
             nullif(max_by(principal, completed_ns) FILTER (WHERE principal IS NOT NULL), '') AS principal,
             min(round_trip_ms) AS round_trip_ms, CAST(sum(retransmissions) AS BIGINT) AS retransmissions,
             bool_or(tls) AS tls, min(first_request) AS first_request, max(last_request) AS last_request,
             CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(unanswered) AS BIGINT) AS unanswered,
             CAST(sum(with_errors) AS BIGINT) AS with_errors, CAST(sum(request_bytes) AS BIGINT) AS request_bytes,
             CAST(sum(response_bytes) AS BIGINT) AS response_bytes, count(DISTINCT api_key) AS apis{aggregates}
      FROM ({traffic}) AS traffic GROUP BY connection) AS summed
WHERE requests > 0 OR tls
"""


def address_sql(end: str) -> str:
    """The address out of a column with an end of a connection: without its port, and without brackets."""
    return f"translate(regexp_replace({end}, ':[0-9]+$', ''), '[]', '')"


def traffic_part(source: str, *others: str, **known: str) -> str:
    """Rows of traffic out of a table, or a table and its condition. others: columns of it that are kept, too; known:
    what TRAFFIC's columns are, in SQL."""
    columns = (f"{known.get(name, unknown)} AS {name}" for name, unknown in TRAFFIC.items())
    return f"SELECT {', '.join(['connection', *columns, *others])} FROM {source}"


def connections_query(*parts: str, **more: str) -> str:
    """The rows of `connections` out of parts of traffic. more: further columns, each an aggregate in SQL."""
    return CONNECTIONS.format(
        broker_address=address_sql("server"),
        client_address=address_sql("client"),
        traffic=" UNION ALL ".join(parts),
        columns="".join(f", {name}" for name in more),
        aggregates="".join(f", {sql} AS {name}" for name, sql in more.items()),
    )
