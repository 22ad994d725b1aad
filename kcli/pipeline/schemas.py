"""The tables' columns as Arrow's and Spark's types."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.tables import FILED, TABLES
from kcli.tables.definition import Table, schema_of

if TYPE_CHECKING:
    import pyarrow

# Tables with a row for each exchange, which are most of the output. Columns without nulls cost less.
STRICT = ("exchanges", "fetch_partitions", "produce_partitions", "record_batches", "fetch_frames")
SPARK_TYPES = {
    "instant": "timestamp", "string": "string", "strings": "array<string>", "integers": "array<bigint>",
    "bool": "boolean", "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "float64": "double",
    "binary": "binary", "headers": "array<struct<key:string,value:string>>",
}  # fmt: skip


@cache
def arrow_schema(name: str) -> pyarrow.Schema:
    """Return the Arrow schema of a table's rows as they come from captures."""
    return schema_of((TABLES | FACTS)[name].columns, strict=name in STRICT)


@cache
def filed_schema(name: str) -> pyarrow.Schema:
    """Return the Arrow schema of a table's files, which lacks the partition's date."""
    return schema_of((FILED | FACTS)[name].columns, strict=name in STRICT)


def spark_columns(table: Table) -> tuple[tuple[str, str], ...]:
    """Return (name, type) of each column, in Spark's DDL."""
    return tuple((column.name, SPARK_TYPES[column.kind]) for column in table.columns)
