"""Defines a table: its columns, each with a type and a comment.

A kind is the name of an Arrow type, or "instant" (a timestamp in microseconds, UTC, as Spark reads no nanoseconds),
"strings" or "integers" (a list of them), or "headers" (a list of record headers). A `?` after it means that the column
may be null.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

UNITS = {"ms": "ms", "ns": "ns", "bytes": "bytes", "seconds": "s"}

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True)
class Column:
    """kind: the name of an Arrow type, "instant", "strings", "integers" or "headers". text: the comment. nullable: some
    rows are null.
    """

    name: str
    kind: str
    text: str
    nullable: bool = True

    @property
    def unit(self) -> str | None:
        """The unit of its numbers, from the end of its name; None if there is none, or only the comment has it."""
        return UNITS.get(self.name.rpartition("_")[2])


@dataclass(frozen=True, slots=True)
class Table:
    """dated: the pipeline partitions the table by the UTC date of `timestamp`, as in the folder `date=2026-11-21`."""

    name: str
    text: str
    columns: tuple[Column, ...]
    dated: bool = True

    @property
    def names(self) -> list[str]:
        """The columns' names, in order."""
        return [column.name for column in self.columns]


def columns(text: str) -> tuple[Column, ...]:
    """Parse columns of lines "name kind comment"."""
    rows = [line.split(None, 2) for line in text.splitlines() if line]
    return tuple(Column(name, kind.rstrip("?"), comment, kind.endswith("?")) for name, kind, comment in rows)


def define(tables: dict[str, Table], name: str, text: str, *parts: str | Sequence[Column], dated: bool = True) -> None:
    """Add a table to `tables`. parts: columns, as a sequence or as lines for `columns`."""
    made = (each for part in parts for each in (columns(part) if isinstance(part, str) else part))
    tables[name] = Table(name, text, tuple(made), dated)


# DuckDB's types by kind.
DUCKDB_TYPES = {
    "string": "VARCHAR", "strings": "VARCHAR[]", "integers": "BIGINT[]", "binary": "BLOB", "bool": "BOOLEAN",
    "float64": "DOUBLE", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT",
    "instant": "TIMESTAMPTZ",
}  # fmt: skip


def arrow_type(kind: str) -> Any:
    """Return the pyarrow.DataType of a column's kind."""
    import pyarrow

    if kind == "instant":
        return pyarrow.timestamp("us", "UTC")
    if kind in ("strings", "integers"):
        return pyarrow.list_(pyarrow.string() if kind == "strings" else pyarrow.int64())
    if kind == "headers":
        text = pyarrow.string()
        return pyarrow.list_(pyarrow.struct([pyarrow.field("key", text), pyarrow.field("value", text)]))
    return getattr(pyarrow, kind.replace("bool", "bool_"))()


def schema_of(columns_given: Iterable[Column], *, strict: bool = False) -> pyarrow.Schema:
    """Return the pyarrow.Schema of columns, with each comment as metadata. strict: columns that are not nullable are
    declared so.
    """
    import pyarrow

    return pyarrow.schema([
        pyarrow.field(each.name, arrow_type(each.kind), each.nullable or not strict, {"comment": each.text})
        for each in columns_given
    ])  # fmt: skip
