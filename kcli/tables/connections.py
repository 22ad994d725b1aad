"""The table `connections`: each column once, with the SQL that Spark and DuckDB both run over what is known of them."""

from __future__ import annotations

from dataclasses import dataclass

from kcli.tables.definition import Column

NO_TEXT, NO_NUMBER, NO_TIME = "CAST(NULL AS STRING)", "CAST(NULL AS BIGINT)", "CAST(NULL AS TIMESTAMP)"
# What an exchange says; rows of something else have no request_bytes.
IS_ASKED = "CASE WHEN request_bytes IS NOT NULL THEN"
TLS = "event = 'not-kafka' AND substring(reason, 1, 3) = 'TLS'"  # of an event: its connection is encrypted


@dataclass(frozen=True, slots=True)
class ConnectionColumn(Column):
    """sql: the column, over a connection's rows of traffic; of_ends: over the columns `server` and `client`.

    unknown: what a row of traffic says that knows nothing of it, "": it says nothing; exchange: what an exchange says.
    """

    sql: str = ""
    unknown: str = ""
    exchange: str = ""
    of_ends: bool = False


def column(
    name: str, kind: str, text: str, sql: str, unknown: str = "", exchange: str = "", *, of_ends: bool = False
) -> ConnectionColumn:
    """Define a column. kind: of a Column, followed by ? if nullable."""
    return ConnectionColumn(name, kind.rstrip("?"), text, kind.endswith("?"), sql, unknown, exchange, of_ends)


def total(name: str, text: str, exchange: str) -> ConnectionColumn:
    """Define a column that is a sum over the traffic."""
    return column(name, "int64", text, f"CAST(sum({name}) AS BIGINT)", "0", exchange)


def address_sql(end: str) -> str:
    """Return SQL for the address in a column with an end of a connection: without its port and brackets."""
    return f"translate(regexp_replace({end}, ':[0-9]+$', ''), '[]', '')"


COLUMNS = (
    column("connection", "string", '"server-client", each as address:port', "connection"),
    column("server", "string", "the broker's end, address:port", "split_part(connection, '-', 1)"),
    column("client", "string", "the client's end, address:port", "split_part(connection, '-', 2)"),
    column(
        "broker_address", "string", "the broker's address, without the port", address_sql("server"), of_ends=True
    ),
    column(
        "client_address", "string", "the client's address, without the port", address_sql("client"), of_ends=True
    ),
    column(
        "client_id", "string?", "of its first request that had one",
        "min_by(client_id, completed_ns) FILTER (WHERE client_id IS NOT NULL)", NO_TEXT, "client_id",
    ),
    column(
        "principal", "string?",
        "User:NAME, as it logged in (SCRAM; PLAIN with --show-secrets); null without, or where refused",
        # Of traffic: empty where a login was refused.
        "nullif(max_by(principal, completed_ns) FILTER (WHERE principal IS NOT NULL), '')", NO_TEXT,
    ),
    column(
        "round_trip_ms", "float64?",
        "from the client's SYN to its acknowledgement of the broker's (TCP's handshake); null: not seen",
        "min(round_trip_ms)", "CAST(NULL AS DOUBLE)",
    ),
    column(
        "retransmissions", "int64?",
        "segments with bytes that had come before, of both ends; null: of a file of exchanges",
        "CAST(sum(retransmissions) AS BIGINT)", NO_NUMBER,
    ),
    column("tls", "bool", "it is encrypted: no request of it can be read", "bool_or(tls)", "false"),
    column(
        "first_request", "instant?", "time of its first request", "min(first_request)", NO_TIME,
        f"{IS_ASKED} timestamp END",
    ),
    column(
        "last_request", "instant?", "time of its last request", "max(last_request)", NO_TIME,
        f"{IS_ASKED} timestamp END",
    ),
    total("requests", "how many", f"{IS_ASKED} 1 ELSE 0 END"),
    total(
        "unanswered", "of them without a response",
        "CASE WHEN request_bytes IS NOT NULL AND response_bytes IS NULL THEN 1 ELSE 0 END",
    ),
    total("with_errors", "of them answered with an error", "CASE WHEN cardinality(errors) > 0 THEN 1 ELSE 0 END"),
    total("request_bytes", "of all requests, with headers and lengths", "coalesce(request_bytes, 0)"),
    total("response_bytes", "of all responses", "coalesce(response_bytes, 0)"),
    column("apis", "int64", "how many APIs were asked", "count(DISTINCT api_key)"),
)  # fmt: skip
FILE = column(
    "file", "string?", "the capture that completed its first request, or showed that it is TLS",
    "coalesce(min_by(file, completed_ns), min(file))",
)  # fmt: skip
# What each row of traffic says of its connection: it may be an exchange, a sum of exchanges, a login or TCP's word.
# completed_ns: of an exchange, a login, or the first exchange of a sum.
TRAFFIC = {
    "api_key": "CAST(NULL AS SMALLINT)",
    "completed_ns": NO_NUMBER,
    **{each.name: each.unknown for each in COLUMNS if each.unknown},
}
EXCHANGE = {
    "api_key": "api_key",
    "completed_ns": "completed_ns",
    **{each.name: each.exchange for each in COLUMNS if each.exchange},
}


def traffic_part(source: str, *others: str, **known: str) -> str:
    """Return SQL for rows of traffic out of a table, or a table and its condition. others: columns of it to keep;
    known: TRAFFIC's columns, in SQL.
    """
    columns = (f"{known.get(name, unknown)} AS {name}" for name, unknown in TRAFFIC.items())
    return f"SELECT {', '.join(['connection', *columns, *others])} FROM {source}"


def connections_query(*parts: str, **more: str) -> str:
    """Return SQL for the rows of `connections` out of parts of traffic. more: further columns, each an aggregate."""
    summed = {each.name: each.sql for each in COLUMNS if not each.of_ends} | more
    given = {each.name: each.sql if each.of_ends else each.name for each in COLUMNS} | {name: name for name in more}
    return f"""
SELECT {columns_sql(given)}
FROM (SELECT {columns_sql(summed)} FROM ({" UNION ALL ".join(parts)}) AS traffic GROUP BY connection) AS summed
WHERE requests > 0 OR tls
"""


def columns_sql(columns: dict[str, str]) -> str:
    """Return columns by name, as a query selects them."""
    return ", ".join(name if sql == name else f"{sql} AS {name}" for name, sql in columns.items())
