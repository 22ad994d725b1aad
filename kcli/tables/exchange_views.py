"""The tables `throttling` and `groups`: each column once, with its SQL, which both Spark and DuckDB run."""

from dataclasses import dataclass

from kcli.tables.definition import Column

JSON_MACRO = "get_json_object(text, path) AS json_extract_string(text, path)"  # DuckDB has it under another name
MOMENT_MACRO = "timestamp_micros(us) AS make_timestamptz(us)"
MICROS_MACRO = "unix_micros(moment) AS epoch_us(moment)"
PAIR_MACRO = "struct(one, other) AS row(one, other)"
ELEMENT_MACRO = "element_at(list, place) AS list[place]"
# Macros that give DuckDB's functions their names in Spark.
MACROS = (
    JSON_MACRO,
    "percentile_approx(value, share) AS quantile_disc(value, share)",
    "explode(list) AS unnest(list)",
    "format_number(value, digits) AS format('{:,}', CAST(round(value) AS HUGEINT))",  # without a fraction
    MICROS_MACRO,
    "split(text, pattern) AS string_split_regex(text, pattern)",
    "sort_array(list) AS list_sort(list)",
    MOMENT_MACRO,
    PAIR_MACRO,
    ELEMENT_MACRO,
    "try_divide(a, b) AS CASE WHEN b = 0 THEN NULL ELSE a / b END",
)
THROTTLE_MS = "CAST(get_json_object(response, '$.throttleTimeMs') AS INT)"
# The contents of requests and responses of a group.
ASKED = """
(SELECT *, get_json_object(request, '$.groupId') AS group_id, get_json_object(response, '$.memberId') AS member_id,
        cardinality(errors) > 0 AS failed,
        api = 'JOIN_GROUP' OR get_json_object(request, '$.memberEpoch') = '0' AS joins,
        CAST(coalesce(get_json_object(response, '$.generationId'), get_json_object(response, '$.memberEpoch'))
             AS INT) AS generation
 FROM {source} WHERE api IN ('JOIN_GROUP', 'CONSUMER_GROUP_HEARTBEAT', 'SHARE_GROUP_HEARTBEAT')
       AND request IS NOT NULL) AS asked
"""


@dataclass(frozen=True, slots=True)
class ViewColumn(Column):
    """sql: the column's value, over the rows that the table is made from."""

    sql: str = ""


def column(name: str, kind: str, text: str = "", sql: str = "") -> ViewColumn:
    """Define a column. kind: as of a Column, followed by ? if nullable. sql: by default, the column of the same
    name.
    """
    return ViewColumn(name, kind.rstrip("?"), text, kind.endswith("?"), sql or name)


THROTTLING = (
    column("timestamp", "instant"),
    column("connection", "string"),
    column("server", "string"),
    column("client_id", "string?"),
    column("api", "string", "the API's name, as in a broker's log"),
    column("throttle_ms", "int32", "", THROTTLE_MS),
    column("latency_ms", "float64?"),
    column("file", "string"),
)
GROUPS = (
    column("group_id", "string"),
    column(
        "protocol", "string", "the latest group protocol: classic (JoinGroup), consumer (KIP-848) or share (KIP-932)",
        "CASE max_by(api, struct(completed_ns, api)) WHEN 'JOIN_GROUP' THEN 'classic'"
        " WHEN 'SHARE_GROUP_HEARTBEAT' THEN 'share' ELSE 'consumer' END",
    ),
    column(
        "joins", "int64", "JoinGroup requests, and heartbeats by which members joined (KIP-848, KIP-932)",
        "count(*) FILTER (WHERE joins)",
    ),
    column(
        "rebalances", "int64", "number of generations, or of member epochs (KIP-848, KIP-932)",
        "count(DISTINCT generation) FILTER (WHERE generation > 0)",
    ),
    column(
        "members", "int64", "number of member ids", "count(DISTINCT member_id) FILTER (WHERE member_id != '')"
    ),
    column(
        "generation", "int32?", "the latest generation or member epoch; -1: all were refused", "max(generation)"
    ),
    column("first_request", "instant", "time of the first request", "min(timestamp)"),
    column("last_request", "instant", "time of the last request", "max(timestamp)"),
    column(
        "with_errors", "int64", "requests whose response has an error", "count(*) FILTER (WHERE failed)"
    ),
    column(
        "file", "string", "the capture that completed the first request", "min_by(file, struct(completed_ns, file))"
    ),
)  # fmt: skip
# By table: its columns, and the query that they are selected from.
EXCHANGE_VIEWS = {
    "throttling": (THROTTLING, f"{{source}} WHERE {THROTTLE_MS} > 0"),
    "groups": (GROUPS, f"{ASKED} GROUP BY group_id"),
}


def exchange_view(table: str, source: str, *, file: bool) -> str:
    """Return SQL for the rows of a table. source: the table of exchanges. file: both tables have the column `file`."""
    columns, rows = EXCHANGE_VIEWS[table]
    selected = ", ".join(f"{each.sql} AS {each.name}" for each in columns if file or each.name != "file")
    return f"SELECT {selected} FROM {rows.format(source=source)}"
