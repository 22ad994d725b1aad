"""Defines a table: its columns, each with a type and a comment.

A kind is the name of an Arrow type, or "instant" (a timestamp in microseconds, UTC, as Spark reads no nanoseconds),
"strings" or "integers" (a list of them), or "headers" (a list of record headers). A `?` after it means that the column
may be null.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

# The comments of columns that several tables have. A definition without a comment ("") has the one of its name.
COMMENTS = {
    "timestamp": "when the request's last packet was captured",
    "completed_ns": "ns since 1970: as in exchanges",
    "connection": '"server-client", each as address:port',
    "server": "the broker's address:port",
    "client": "the client's address:port",
    "broker_address": "the broker's address, without the port",
    "client_address": "the client's address, without the port",
    "client_id": "from the request's header",
    "correlation_id": "of request and response",
    "api_version": "of request and response",
    "api_key": "number of the API",
    "api": "the API's name",
    "latency_ms": "from the request's last packet to the response's",
    "throttle_ms": "throttle time of the response",
    "answered": "there is a response; null: it is cut off, so that its error may be unknown",
    "error": "name of the error in the response",
    "file": "the capture with its last packet; unanswered: with its request",
    "group_id": "the group",
    "topic": "the topic's name",
    "topic_id": "the topic's id",
    "partition": "the partition's index",
    "leader": "node id; -1: none",
    "leader_epoch": "the leader's epoch",
    "leader_address": "host:port of the leader in the same response",
    "replicas": "node ids, separated by commas",
    "isr": "node ids, separated by commas",
    "replica_count": "number of replicas",
    "isr_count": "number of in-sync replicas",
    "requests": "number of requests",
    "with_errors": "exchanges whose response has an error",
    "unanswered": "requests without a response; with acks=0 none is due",
    "request_bytes": "bytes of all requests, with headers and lengths",
    "response_bytes": "bytes of all responses",
    "software": "name of the client's software from ApiVersions (KIP-511); null: not sent",
    "software_version": "version of that software; null: not sent",
    "magic": "format of the batch: 0, 1 or 2",
    "compression": "none, gzip, snappy, lz4 or zstd",
    "timestamp_type": "CreateTime, LogAppendTime or NoTimestampType",
    "is_transactional": "written in a transaction",
    "partition_leader_epoch": "as the broker set it",
    "producer_id": "-1: no idempotent producer",
    "producer_epoch": "-1: no idempotent producer",
    "base_sequence": "-1: no idempotent producer",
}
UNITS = {"ms": "ms", "ns": "ns", "bytes": "bytes", "seconds": "s"}

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True)
class Column:
    """kind: the name of an Arrow type, "instant", "strings", "integers" or "headers". text: the comment, by default
    that of COMMENTS. nullable: some rows are null.
    """

    name: str
    kind: str
    text: str
    nullable: bool = True

    def __post_init__(self) -> None:
        if not self.text:
            object.__setattr__(self, "text", COMMENTS.get(self.name, ""))

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
    """Parse columns of lines "name kind comment" or "name kind"."""
    rows = [line.split(None, 2) for line in text.splitlines() if line]
    return tuple(Column(name, kind.rstrip("?"), "".join(text), kind.endswith("?")) for name, kind, *text in rows)


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
