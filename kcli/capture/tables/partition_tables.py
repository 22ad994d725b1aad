"""The tables about partitions whose rows the core makes from single exchanges: each column once, with its array.

Each column here is in the pipeline, in `kcli sql`, in diagnose's facts and in the documentation. A new column needs
only one entry.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from kcli.core.codec.values import MISSING, uuid_text
from kcli.jsontext import loads
from kcli.records.batches import APPEND_TIME, CODEC_MASK, CONTROL, TRANSACTIONAL
from kcli.records.codecs import CODECS
from kcli.schemas.errors import error_name
from kcli.schemas.field_codes import TIMESTAMP_TYPES
from kcli.tables.arrays import integers, numbered, rows_at
from kcli.tables.core_rows import CoreRows
from kcli.tables.definition import Column, Table
from kcli.tables.exchanges import LEADING_COLUMNS

LAZY_CHUNK = 128 * 1024
MAGIC_2_SINCE, MAGIC_1_SINCE = 4, 2  # Fetch versions that take batches of magic 2 and 1 (KIP-98, KIP-31)
MIB = 1 << 20
APIS = ("PRODUCE", "FETCH", "SHARE_FETCH")  # by the core's numbers
ID, QUOTED = 1, 2  # kinds of a topic's text in the core; in other kinds (a name, an endpoint) the text is plain
COMPRESSIONS = [*CODECS, *(f"unknown-{number}" for number in range(len(CODECS), 8))]


class Exchanges:
    """The exchanges of the rows. who: columns by name; versions: of their API; topics: texts by number."""

    def __init__(self, columns: dict[str, Any], who: Sequence[Any], versions: Any) -> None:
        """Hold exchanges. columns: from `ExchangeRows.take_columns`. who: the columns of LEADING_COLUMNS."""
        self.taken, self.versions = columns, versions
        self.who = dict(zip((each.name for each in LEADING_COLUMNS), who, strict=True))
        self.topics: list[str | None] = [None, *map(text_of, columns["topics"])]
        self.known: dict[str, CoreRows] = {}

    def rows(self, kind: str) -> CoreRows:
        """Return the core's rows of a kind."""
        if kind not in self.known:
            self.known[kind] = CoreRows.of(self.taken, kind)
        return self.known[kind]


class PartitionArrays:
    """The source of the columns for some rows."""

    def __init__(self, rows: CoreRows, exchanges: Exchanges) -> None:
        self.rows, self.exchanges = rows, exchanges

    @cached_property
    def flags(self) -> Any:
        """The attributes of batches of magic 2; 0 for others, as their bits mean something else."""
        return self.rows.attributes * (self.rows.magic >= 2)

    def who(self, name: str) -> Any:
        """Return a column of the rows' exchanges."""
        return rows_at(self.exchanges.who[name], self.rows.row)

    def topic(self, numbers: Any) -> Any:
        """Return a column of topic names or ids. numbers: of the topics, by row."""
        return numbered(self.exchanges.topics, numbers).dictionary()

    def lag(self) -> Any:
        """Return the distance (offsets) of fetches from the high watermark last seen; null if unknown."""
        rows = self.rows
        return lag_of(rows.high_seen, rows.effective, (rows.effective == MISSING) | (rows.high_seen == MISSING))

    def lazy_bytes(self) -> Any:
        """Return the bytes that are held at once of records that are converted in chunks."""
        import numpy

        return numpy.minimum(self.rows.size, numpy.maximum(LAZY_CHUNK, self.rows.first_size))

    def timestamp_type(self) -> Any:
        """Return the timestamp type of each batch; magic 0 has none."""
        import numpy

        times = numpy.where(self.rows.magic == 0, 0, 1 + (self.rows.attributes & APPEND_TIME > 0))
        return numbered(TIMESTAMP_TYPES, times).dictionary()


@dataclass(frozen=True, slots=True)
class PartitionColumn(Column):
    """make: returns the column as an Arrow array."""

    make: Callable[[PartitionArrays], Any] = lambda of: None


@dataclass(frozen=True, slots=True)
class PartitionTable(Table):
    """kind: the kind of the core's rows. chosen: returns a mask of rows, from the rows and their exchanges' API
    versions.
    """

    kind: str = ""
    chosen: Callable[[CoreRows, Any], Any] | None = None

    def rows(self, exchanges: Exchanges) -> CoreRows:
        """Return the table's rows."""
        found = exchanges.rows(self.kind)
        return found if self.chosen is None else found.where(self.chosen(found, exchanges.versions[found.row]))

    def of(self, names: Container[str]) -> PartitionTable:
        """Return the table with only these columns."""
        return replace(self, columns=tuple(each for each in self.columns if each.name in names))

    def arrays(self, rows: CoreRows, exchanges: Exchanges) -> list[Any]:
        """Return the columns of these rows."""
        of = PartitionArrays(rows, exchanges)
        return [each.make(of) for each in self.columns if isinstance(each, PartitionColumn)]


def lag_of(ends: Any, reads: Any, unknown: Any) -> Any:
    """Return the distance of offsets from the ends of logs as a column; null if it is unknown, or beyond 64 bits, as
    with numbers that no log has. ends, reads, unknown: arrays by row.
    """
    lag = ends - reads
    return integers(lag, "int64", unknown | ((ends ^ reads) & (ends ^ lag) < 0))


def column(name: str, kind: str, text: str, make: Callable[[PartitionArrays], Any]) -> PartitionColumn:
    """Define a column. kind: as of a Column, followed by ? if nullable."""
    return PartitionColumn(name, kind.rstrip("?"), text, kind.endswith("?"), make)


def number(name: str, kind: str, text: str, field: str) -> PartitionColumn:
    """Define a column that is a field of the core's rows; if it is nullable, missing values are null."""

    def make(of: PartitionArrays) -> Any:
        values = getattr(of.rows, field)
        return integers(values, kind.rstrip("?"), values == MISSING if kind.endswith("?") else None)

    return column(name, kind, text, make)


def who(each: Column) -> PartitionColumn:
    """Define a column that repeats one of the exchange."""
    return PartitionColumn(each.name, each.kind, each.text, each.nullable, lambda of: of.who(each.name))


def error_names(codes: Any) -> Any:
    """Return names of error codes; null for 0."""
    least = codes.min()
    names = [error_name(code) if code else None for code in range(least, codes.max() + 1)]
    return numbered(names, codes - least).dictionary()


def text_of(topic: tuple[int, bytes]) -> str:
    """Return a topic's name or id. topic: (kind, bytes), from the core."""
    kind, data = topic
    return uuid_text(data) if kind == ID else str(loads(data)) if kind == QUOTED else data.decode()


OF_EXCHANGE = tuple(map(who, LEADING_COLUMNS))
PARTITION = (
    column("topic", "string?", "the topic's name; null: only its id is known", lambda of: of.topic(of.rows.name)),
    column(
        "topic_id", "string?", "the topic's id; null: the version has none", lambda of: of.topic(of.rows.id)
    ),
    number("partition", "int32", "", "partition"),
)  # fmt: skip
ANSWERED = column("answered", "bool", "named in the response", lambda of: integers(of.rows.answered > 0, "bool"))
ERROR = column(
    "error", "string?", "name of the partition's error; null: no error", lambda of: error_names(of.rows.error)
)
FETCH_PARTITIONS = PartitionTable(
    "fetch_partitions",
    "Every partition in a Fetch request or response.",
    (
        *OF_EXCHANGE,
        number("session_id", "int32", "fetch session (KIP-227); 0: none", "session"),
        number("session_epoch", "int32", "0: a full fetch, -1: a full fetch that ends the session", "epoch"),
        *PARTITION,
        column("asked", "bool", "named in the request", lambda of: integers(of.rows.asked > 0, "bool")),
        ANSWERED,
        number("fetch_offset", "int64?", "the requested offset; null: not in the request", "offset"),
        number("max_bytes", "int32?", "partition_max_bytes of the request", "limit"),
        ERROR,
        number("high_watermark", "int64?", "of the response", "high"),
        number("last_stable_offset", "int64?", "of the response; null before v4", "stable"),
        number("log_start_offset", "int64?", "of the response; null before v5", "start"),
        column(
            "records_bytes", "int64?", "bytes of records in the response",
            lambda of: integers(of.rows.size, "int64", of.rows.answered == 0),
        ),
        number("batches", "int32", "complete batches in those records", "batches"),
        number("last_offset", "int64?", "offset of the last record in them; null: no records", "last"),
        number(
            "effective_offset", "int64?",
            "where it reads: fetch_offset, or that of the latest earlier fetch on the connection", "effective",
        ),
        number(
            "high_watermark_seen", "int64?",
            "high watermark of the response, or of the latest earlier response on the connection with one", "high_seen",
        ),
        number("log_start_seen", "int64?", "log start offset, in the same way", "start_seen"),
        column(
            "lag", "int64?", "high_watermark_seen - effective_offset; negative: it reads after the end",
            PartitionArrays.lag,
        ),
    ),
    kind="fetched",
)  # fmt: skip
# `PartRow` in the core documents the fields.
PRODUCE_PARTITIONS = PartitionTable(
    "produce_partitions",
    "Every partition in a Produce request.",
    (
        *OF_EXCHANGE,
        number("acks", "int16", "0: no acknowledgement, 1: by the leader, -1: by all in-sync replicas", "session"),
        number("timeout_ms", "int32", "longest time that the broker waits for acknowledgements", "epoch"),
        *PARTITION,
        ANSWERED,
        ERROR,
        number(
            "base_offset", "int64?", "offset of the first record, from the response; -1: none was written", "high"
        ),
        number(
            "log_append_time_ms", "int64?",
            "from the response, ms since 1970; -1: the records keep their own timestamps; null before v2", "stable",
        ),
        number("log_start_offset", "int64?", "of the response; null before v5", "start"),
        number("records_bytes", "int64", "bytes of records in the request", "size"),
        number("batches", "int32", "batches in those records", "batches"),
    ),
    kind="produced",
)  # fmt: skip
RECORD_BATCHES = PartitionTable(
    "record_batches",
    "Every record batch that was produced or fetched, without its records.",
    (
        *OF_EXCHANGE,
        column("api", "string", "PRODUCE, FETCH or SHARE_FETCH", lambda of: numbered(APIS, of.rows.api).dictionary()),
        *PARTITION,
        number("base_offset", "int64", "offset of the first record", "base_offset"),
        number("last_offset", "int64", "offset of the last record", "last_offset"),
        number("magic", "int8", "", "magic"),
        column(
            "compression", "string", "",
            lambda of: numbered(COMPRESSIONS, of.rows.attributes & CODEC_MASK).dictionary(),
        ),
        column("timestamp_type", "string", "", PartitionArrays.timestamp_type),
        column("is_transactional", "bool", "", lambda of: integers(of.flags & TRANSACTIONAL > 0, "bool")),
        column(
            "is_control", "bool", "a control batch: a transaction marker or KRaft control records",
            lambda of: integers(of.flags & CONTROL > 0, "bool"),
        ),
        number("partition_leader_epoch", "int32", "", "leader_epoch"),
        number("producer_id", "int64", "", "producer_id"),
        number("producer_epoch", "int16", "", "producer_epoch"),
        number("base_sequence", "int32", "", "base_sequence"),
        number("base_timestamp", "int64", "ms since 1970; -1: none", "base_timestamp"),
        number("max_timestamp", "int64", "ms since 1970; -1: none", "max_timestamp"),
        number("count", "int32", "number of records in the batch's header", "count_"),
        number("size_in_bytes", "int32", "size of the whole batch", "size"),
        number("crc", "int64", "the checksum in the batch's header", "crc"),
        number("crc_valid", "bool", "whether the checksum is correct", "valid"),
    ),
    kind="batches",
)  # fmt: skip
DOWN_CONVERSIONS = PartitionTable(
    "down_conversions",
    "Fetches by clients too old for the stored format, for which the broker converts records (KIP-283).",
    (
        *OF_EXCHANGE,
        *PARTITION,
        column(
            "to_magic", "int8", "newest magic that the client can read: 0 or 1",
            lambda of: integers(of.exchanges.versions[of.rows.row] >= MAGIC_1_SINCE, "int8"),
        ),
        number("batches", "int32", "messages or wrapper messages in the response", "batches"),
        number("converted_bytes", "int64", "bytes of records of the partition in the response", "size"),
        number(
            "eager_bytes", "int64", "memory before KIP-283; a response needs the sum over its partitions", "size"
        ),
        column(
            "lazy_bytes", "int64",
            "memory in chunks of 128 KiB (KIP-283); a response needs the most of its partitions",
            lambda of: integers(of.lazy_bytes(), "int64"),
        ),
    ),
    kind="fetched",
    chosen=lambda rows, versions: (versions < MAGIC_2_SINCE) & (rows.batches > 0),
)  # fmt: skip
REMOTE_FETCHES = PartitionTable(
    "remote_fetches",
    "Fetches far behind a partition's end, whose responses would be larger with a larger "
    "remote.max.partition.fetch.bytes (KIP-1018).",
    (
        *OF_EXCHANGE,
        *PARTITION,
        number("fetch_offset", "int64", "the requested offset", "offset"),
        number("high_watermark", "int64", "the high watermark", "high"),
        number("behind", "int64", "records between the end of the response and the high watermark", "behind"),
        number("max_bytes", "int32", "partition_max_bytes of the request", "limit"),
        number("records_bytes", "int64", "bytes of records in the response", "size"),
        column(
            "requests_1mb", "float64", "requests of 1 MiB for these bytes",
            lambda of: integers(of.rows.size / MIB, "float64"),
        ),
        column(
            "requests_4mb", "float64", "requests of 4 MiB for these bytes",
            lambda of: integers(of.rows.size / (4 * MIB), "float64"),
        ),
    ),
    kind="fetched",
    chosen=lambda rows, versions: rows.behind >= 0,
)  # fmt: skip
PARTITION_TABLES: dict[str, PartitionTable] = {
    each.name: each for each in (FETCH_PARTITIONS, PRODUCE_PARTITIONS, DOWN_CONVERSIONS, REMOTE_FETCHES, RECORD_BATCHES)
}
