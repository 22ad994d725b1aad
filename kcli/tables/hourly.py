"""The table `hourly`: exchanges summed by hour, API, broker and client, in SQL that both Spark and DuckDB run."""

from kcli.tables.definition import Table
from kcli.tables.exchange_views import column

HOUR = "timestamp_micros(unix_micros(timestamp) - unix_micros(timestamp) % 3600000000)"
KEYS = ("hour", "api", "server", "client_id")


def percentile(share: float) -> str:
    """Return SQL for a percentile of the latency, as the latency of one exchange. share: 0 to 1."""
    return f"percentile_disc({share}) WITHIN GROUP (ORDER BY latency_ms)"


COLUMNS = (
    column("hour", "instant", "start of the hour (UTC); an exchange counts in the hour of its request"),
    column("api", "string?", "the API's name, as in a broker's log; null: no message has that number"),
    column("server", "string"),
    column("client_id", "string?"),
    column("exchanges", "int64", "number of exchanges", "count(*)"),
    column("with_errors", "int64", "", "count(*) FILTER (WHERE cardinality(errors) > 0)"),
    column(
        "unanswered", "int64", "", "count(*) FILTER (WHERE response_bytes IS NULL AND errors IS NOT NULL)"
    ),
    column("request_bytes", "int64", "", "sum(request_bytes)"),
    column("response_bytes", "int64", "", "coalesce(sum(response_bytes), 0)"),
    column(
        "p50_ms", "float64?", "median latency; null: no response", percentile(0.5),
    ),
    column("p99_ms", "float64?", "99th percentile of latency", percentile(0.99)),
    column("max_ms", "float64?", "maximum latency", "max(latency_ms)"),
    column(
        "file", "string?", "the capture that completed its first exchange", "min_by(file, struct(completed_ns, file))"
    ),
)  # fmt: skip
HOURLY = Table(
    "hourly",
    "Exchanges by hour, API, broker and client: counts, errors, bytes and latencies.",
    COLUMNS,
    dated=False,
)
SUMS = {each.name: f"CAST({each.sql} AS {'BIGINT' if each.kind == 'int64' else 'DOUBLE'})" for each in COLUMNS
        if each.kind in ("int64", "float64")}  # fmt: skip


def hourly_query(source: str, *, file: bool) -> str:
    """Return SQL for the rows from exchanges. source: the table of exchanges. file: both tables have the column
    `file`.
    """
    columns = (each for each in COLUMNS if file or each.name != "file")
    selected = ", ".join(f"{SUMS.get(each.name, each.sql)} AS {each.name}" for each in columns)
    rows = f"(SELECT *, {HOUR} AS hour FROM {source} WHERE request_bytes IS NOT NULL) AS asked"
    return f"SELECT {selected} FROM {rows} GROUP BY {', '.join(KEYS)}"


def hourly_update(source: str, fresh: str, before: str) -> str:
    """Return SQL for the rows, which are made again only for the hours of fresh exchanges.

    source: all exchanges. fresh: the exchanges that were added or removed since the rows `before` were made.
    """
    touched = f"(SELECT DISTINCT {HOUR} AS touched FROM {fresh})"
    again = f"(SELECT * FROM {source} AS every SEMI JOIN {touched} AS those ON {HOUR} = touched) AS again"
    names = ", ".join(each.name for each in HOURLY.columns if each.name != "file")
    kept = f"SELECT {names} FROM {before} AS before ANTI JOIN {touched} AS those ON hour = touched"
    return f"{kept} UNION ALL {hourly_query(again, file=False)}"
