"""The table `connections`: each column once, with its SQL, which both Spark and DuckDB run over rows of traffic."""

from dataclasses import dataclass

from kcli.tables.definition import Column

NEVER = 1 << 62  # ns
NO_TEXT, NO_NUMBER, NO_TIME = "CAST(NULL AS STRING)", "CAST(NULL AS BIGINT)", "CAST(NULL AS TIMESTAMP)"
# A condition for exchanges; other rows have no request_bytes.
IS_ASKED = "CASE WHEN request_bytes IS NOT NULL THEN"
TLS = "event = 'not-kafka' AND substring(reason, 1, 3) = 'TLS'"  # of an event: its connection is encrypted


@dataclass(frozen=True, slots=True)
class ConnectionColumn(Column):
    """sql: an aggregate over a connection's rows of traffic; of_ends: sql is over the columns `server` and `client`
    instead.

    exchange: SQL for the column in rows of exchanges; tcp: the same in rows of the facts `tcp`; unknown: the same in
    all other rows of traffic, "" if traffic lacks the column.
    """

    sql: str = ""
    unknown: str = ""
    exchange: str = ""
    of_ends: bool = False
    tcp: str = ""


def column(
    name: str, kind: str, text: str, sql: str, unknown: str = "", exchange: str = "", *, of_ends: bool = False
) -> ConnectionColumn:
    """Define a column. kind: as of a Column, followed by ? if nullable."""
    return ConnectionColumn(name, kind.rstrip("?"), text, kind.endswith("?"), sql, unknown, exchange, of_ends)


def total(name: str, text: str, exchange: str) -> ConnectionColumn:
    """Define a column that is a sum over the traffic."""
    return column(name, "int64", text, f"CAST(sum({name}) AS BIGINT)", "0", exchange)


def counted(name: str, text: str, tcp: str) -> ConnectionColumn:
    """Define a column that is a sum over the facts of TCP."""
    sql = f"CAST(sum({name}) AS BIGINT)"
    return ConnectionColumn(name, "int64", f"{text}; null for a file of exchanges", True, sql, NO_NUMBER, tcp=tcp)


def measured(name: str, text: str, tcp: str, sql: str) -> ConnectionColumn:
    """Define a column of milliseconds from the facts of TCP."""
    return ConnectionColumn(name, "float64", text, True, sql, "CAST(NULL AS DOUBLE)", tcp=tcp)


def described(name: str, kind: str, text: str, tcp: str) -> ConnectionColumn:
    """Define a column about the end of the TCP connection."""
    sql = f"min_by({name}, closed) FILTER (WHERE closed IS NOT NULL)"
    return ConnectionColumn(name, kind, text, True, sql, NO_TEXT, tcp=tcp)


def of_end(end: str, tcp: str) -> tuple[ConnectionColumn, ...]:
    """Define the columns about the packets of one end. end: client or server. tcp: the prefix of the columns in
    `tcp`.
    """
    other = "server" if end == "client" else "client"
    samples = f"{end}_rtt_samples"
    return (
        counted(f"{end}_segments", f"TCP segments of the {end}", f"{tcp}segments"),
        counted(f"{end}_bytes", "payload bytes in them, with repetitions", f"{tcp}bytes"),
        counted(f"{end}_retransmissions", "retransmitted segments with data", f"{tcp}resent"),
        counted(f"{end}_holes", "gaps in the sequence numbers when a later segment arrived", f"{tcp}holes"),
        counted(
            f"{end}_out_of_order", "segments that were overtaken: sent before those that came first",
            f"{tcp}out_of_order",
        ),
        counted(
            f"{end}_duplicate_acks", f"duplicate ACKs for the {other}'s bytes (RFC 5681)", f"{tcp}duplicate_acks"
        ),
        counted(f"{end}_zero_windows", f"times that the {end} closed its window", f"{tcp}zero_windows"),
        measured(
            f"{end}_zero_window_ms", "how long the window was closed", f"{tcp}zero_window_ms",
            f"sum({end}_zero_window_ms)",
        ),
        counted(samples, f"round-trip times from the {end}'s bytes, sent once, to their ACK", f"{tcp}rtt_samples"),
        *(
            measured(
                f"{end}_rtt_{share}_ms", text, f"{tcp}rtt_{share}_ms",
                # Of parts with as many samples, the slower one counts.
                f"max_by({end}_rtt_{share}_ms, {samples} + {end}_rtt_{share}_ms / 1000000000) "
                f"FILTER (WHERE {end}_rtt_{share}_ms IS NOT NULL)",
            )
            for share, text in (
                ("p50", "median of these round-trip times, rounded up by at most a quarter; null without samples"),
                ("p99", "99th percentile of these round-trip times, rounded in the same way"),
            )
        ),
    )  # fmt: skip


def first_of(*names: str) -> str:
    """Return SQL for the earliest of several times in ns; null if all are null."""
    return f"nullif(least({', '.join(f'coalesce({name}, {NEVER})' for name in names)}), {NEVER})"


def instant_of(ns: str) -> str:
    """Return SQL for a timestamp from ns since 1970."""
    return f"timestamp_micros(CAST(floor(({ns}) / 1000) AS BIGINT))"


def address_sql(end: str) -> str:
    """Return SQL for the address in the column of an end, without port and brackets."""
    return f"translate(regexp_replace({end}, ':[0-9]+$', ''), '[]', '')"


ENDINGS = ("c_fin_ns", "c_rst_ns", "s_fin_ns", "s_rst_ns")
COLUMNS = (
    column("connection", "string", "", "connection"),
    column("server", "string", "", "split_part(connection, '-', 1)"),
    column("client", "string", "", "split_part(connection, '-', 2)"),
    column("broker_address", "string", "", address_sql("server"), of_ends=True),
    column("client_address", "string", "", address_sql("client"), of_ends=True),
    column(
        "client_id", "string?", "client id of its first request with one",
        "min_by(client_id, struct(completed_ns, client_id)) FILTER (WHERE client_id IS NOT NULL)", NO_TEXT, "client_id",
    ),
    column(
        "principal", "string?",
        "User:NAME of the login (SCRAM; PLAIN with --show-secrets); null: no login, or a refused one",
        # In rows of traffic, it is empty if the login was refused.
        "nullif(max_by(principal, struct(completed_ns, principal)) FILTER (WHERE principal IS NOT NULL), '')", NO_TEXT,
    ),
    column(
        "round_trip_ms", "float64?",
        "from the client's latest SYN to its ACK of the broker's SYN; null: the handshake was not captured",
        "min(round_trip_ms)", "CAST(NULL AS DOUBLE)",
    ),
    column(
        "retransmissions", "int64?",
        "segments with data that either side retransmitted; null for a file of exchanges",
        "CAST(sum(client_retransmissions + server_retransmissions) AS BIGINT)",
    ),
    column("tls", "bool", "the connection is encrypted, and its requests can't be read", "bool_or(tls)", "false"),
    column(
        "first_request", "instant?", "time of its first request", "min(first_request)", NO_TIME,
        f"{IS_ASKED} timestamp END",
    ),
    column(
        "last_request", "instant?", "time of its last request", "max(last_request)", NO_TIME,
        f"{IS_ASKED} timestamp END",
    ),
    total("requests", "", f"{IS_ASKED} 1 ELSE 0 END"),
    total(
        "unanswered", "requests without a response; with acks=0 none is due",
        "CASE WHEN request_bytes IS NOT NULL AND response_bytes IS NULL AND errors IS NOT NULL THEN 1 ELSE 0 END",
    ),
    total("with_errors", "exchanges with an error", "CASE WHEN cardinality(errors) > 0 THEN 1 ELSE 0 END"),
    total("request_bytes", "", "coalesce(request_bytes, 0)"),
    total("response_bytes", "", "coalesce(response_bytes, 0)"),
    column("apis", "int64", "number of APIs used", "count(DISTINCT api_key)"),
    column(
        "login", "string?", "User:NAME of the login attempt, also if it was refused (in the form of `principal`)",
        "max_by(login, struct(completed_ns, login)) FILTER (WHERE login IS NOT NULL)", NO_TEXT,
    ),
    column(
        "mechanism", "string?", "SASL mechanism of the handshake; null: no login, or before the capture",
        "max_by(mechanism, struct(completed_ns, mechanism)) FILTER (WHERE mechanism IS NOT NULL)", NO_TEXT,
    ),
    column(
        "login_result", "string?", "accepted, unanswered, or the error's name; null: its end was not captured",
        "max_by(login_result, struct(completed_ns, login_result)) FILTER (WHERE login_result IS NOT NULL)", NO_TEXT,
    ),
    *of_end("client", "c_"),
    *of_end("server", "s_"),
    measured(
        "syn_ms",
        "from the first SYN to the SYN-ACK: round-trip time between the place of capture and the broker; null: not "
        "captured, or not in this order",
        "syn_ms", "min(syn_ms)",
    ),
    measured(
        "ack_ms", "from the SYN-ACK to its ACK: round-trip time between the place of capture and the client", "ack_ms",
        "min(ack_ms)",
    ),
    ConnectionColumn(
        "opened", "instant", "time of its SYN; null: before the capture", True, "min(opened)", NO_TIME,
        tcp=instant_of("c_syn_ns"),
    ),
    ConnectionColumn(
        "closed", "instant", "time of its first FIN or RST; null: none captured", True, "min(closed)", NO_TIME,
        tcp=instant_of(first_of(*ENDINGS)),
    ),
    described(
        "closed_by", "string", "client or server: the sender of that FIN or RST",
        f"CASE WHEN {first_of(*ENDINGS)} IS NULL THEN NULL "
        f"WHEN {first_of(*ENDINGS)} = {first_of(*ENDINGS[:2])} THEN 'client' ELSE 'server' END",
    ),
    ConnectionColumn(
        "closed_how", "string", "FIN, RST, or end of capture; null for a file of exchanges", True,
        "coalesce(min_by(closed_how, closed) FILTER (WHERE closed IS NOT NULL), max(closed_how))", NO_TEXT,
        tcp=f"CASE WHEN c_segments IS NULL THEN NULL WHEN {first_of(*ENDINGS)} IS NULL THEN 'end of capture' "
        f"WHEN {first_of(*ENDINGS)} = {first_of(*ENDINGS[1::2])} THEN 'RST' ELSE 'FIN' END",
    ),
)  # fmt: skip
FILE = column(
    "file", "string?", "the capture with the end of its first request, or the first TLS record",
    "coalesce(min_by(file, struct(completed_ns, file)), min(file))",
)  # fmt: skip
# The columns in rows of traffic: each row is an exchange, a sum of exchanges, a login, or a row of `tcp`. completed_ns:
# of an exchange, a login, or the first exchange of a sum.
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

TCP = {each.name: each.tcp for each in COLUMNS if each.tcp}


def traffic_part(source: str, *others: str, **known: str) -> str:
    """Return SQL for rows of traffic. source: a table, or a table with a WHERE. others: columns of it to keep; known:
    SQL for columns of TRAFFIC.
    """
    columns = (f"{known.get(name, unknown)} AS {name}" for name, unknown in TRAFFIC.items())
    return f"SELECT {', '.join(['connection', *columns, *others])} FROM {source}"


def connections_query(*parts: str, **more: str) -> str:
    """Return SQL for the rows of `connections` from parts of traffic. more: further columns, by name an aggregate."""
    summed = {each.name: each.sql for each in COLUMNS if not each.of_ends} | more
    aggregates = {each.name: each.sql if each.of_ends else each.name for each in COLUMNS} | {
        name: name for name in more
    }
    return f"""
SELECT {columns_sql(aggregates)}
FROM (SELECT {columns_sql(summed)} FROM ({" UNION ALL ".join(parts)}) AS traffic GROUP BY connection) AS summed
WHERE requests > 0 OR tls
"""


def columns_sql(columns: dict[str, str]) -> str:
    """Return the select list of columns, by name and SQL."""
    return ", ".join(name if sql == name else f"{sql} AS {name}" for name, sql in columns.items())
