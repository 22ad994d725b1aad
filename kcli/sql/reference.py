"""Makes the page of all tables (docs/reference/tables.md): every column with type, unit and comment."""

from collections.abc import Mapping

from kcli.pipeline import tables as pipeline
from kcli.sql.definitions import TABLES
from kcli.tables.captured import PARQUET_COLUMNS
from kcli.tables.definition import Column, Table

SQL, PIPELINE, PARQUET = "`kcli sql`", "`kcli pipeline run`", "`decode pcap --format parquet`"
LISTED = TABLES | {pipeline.RUNS.name: pipeline.RUNS}
HEAD = """\
# Tables

The tables of `kcli sql`, of `kcli pipeline run`, and of Parquet files. This page is made from their definitions
(`make tables`).

Types are Arrow's; `instant` is a timestamp in microseconds, UTC, `strings` a list of strings, `headers` a list of
records' headers. A type with `?` may be null. Sizes in bytes are those on the wire unless a column says
otherwise; -1 is the value that Kafka itself uses. In `kcli sql` every row has its `file`; the tables of a pipeline's
folder have all columns that were written.

"""


def document() -> str:
    """Return the page as Markdown."""
    listed = "\n".join(f"- [`{name}`](#{name}): {table.text}" for name, table in LISTED.items())
    return "\n".join([HEAD + listed + "\n", *map(describe, LISTED.values())])


def describe(table: Table) -> str:
    """Return the section of a table."""
    found = places_of(table.name)
    dated = table.name in pipeline.SHOWN and pipeline.SHOWN[table.name].dated
    partitioned = " The pipeline partitions it by the day of `timestamp` (UTC)." if dated else ""
    if table.name == pipeline.RECORDS.name:
        partitioned = " The pipeline makes it with `--records`, and partitions it by the day (UTC) of the request."
    filed = pipeline.SHOWN[table.name].columns if table.name in pipeline.SHOWN else ()
    columns = {column.name: column for column in (*filed, *table.columns)}
    rows = "\n".join(row_of(columns[name], found) for name in dict.fromkeys((*table.names, *columns)))
    head = f"## {table.name}\n\n{table.text}\n\nIn {', '.join(found)}.{partitioned}\n\n"
    return f"{head}| column | type | unit | | not in |\n|---|---|---|---|---|\n{rows}\n"


def places_of(table: str) -> Mapping[str, frozenset[str]]:
    """Return the columns of a table, by each place that has the table."""
    found = {SQL: frozenset(LISTED[table].names)}
    if table in pipeline.SHOWN:
        found[PIPELINE] = frozenset(pipeline.SHOWN[table].names)
    if table in ("exchanges", "events"):
        found[PARQUET] = frozenset(column.name for column in PARQUET_COLUMNS)
    return found


def row_of(column: Column, found: Mapping[str, frozenset[str]]) -> str:
    """Return the row of a column in Markdown."""
    kind = f"{column.kind}?" if column.nullable else column.kind
    absent_from = ", ".join(place for place, names in found.items() if column.name not in names)
    return f"| `{column.name}` | {kind} | {column.unit or ''} | {column.text} | {absent_from} |"


if __name__ == "__main__":
    import sys

    sys.stdout.write(document())
