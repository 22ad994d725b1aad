"""What the core read of partitions as columns, as record batches of the tables about them: see `partitions` for the
same, row by row."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

import numpy

from kcli.capture.tables.arrays import integers
from kcli.core.codec.values import uuid_text
from kcli.jsontext import loads
from kcli.pipeline.exchange_columns import Dated, ExchangeColumns, by_day, texts_by_number
from kcli.pipeline.facts import APIS
from kcli.pipeline.partitions import LAZY_CHUNK, MAGIC_1_SINCE, MAGIC_2_SINCE, MIB
from kcli.pipeline.writing import stored_schema
from kcli.records.batches import APPEND_TIME, CODEC_MASK, CONTROL, TRANSACTIONAL
from kcli.records.codecs import CODECS
from kcli.schemas.errors import error_name

# The columns of the core's rows, in order.
PARTITION = (
    "row", "session", "epoch", "name", "id", "partition", "asked", "answered", "offset", "limit", "error", "high",
    "stable", "start", "size", "batches", "last", "first_size", "behind",
)  # fmt: skip
BATCH = (
    "row", "api", "name", "id", "partition", "base_offset", "last_offset", "magic", "attributes", "leader_epoch",
    "producer_id", "producer_epoch", "base_sequence", "base_timestamp", "max_timestamp", "count", "size", "crc",
    "valid",
)  # fmt: skip
MISSING = -(1 << 63)
ID, QUOTED = 1, 2  # kinds of a topic's text, beside its name; an endpoint's is one too
COMPRESSIONS = [*CODECS, *(f"unknown-{number}" for number in range(len(CODECS), 8))]
TIMES = ("NoTimestampType", "CreateTime", "LogAppendTime")


class PartitionColumns:
    """Of the exchanges in `columns`."""

    def __init__(self, columns: ExchangeColumns) -> None:
        self.columns = columns
        self.names: list[str | None] = [None, *map(text_of, columns.taken["topics"])]

    def batches(self, wanted: Container[str]) -> Iterator[Dated]:
        """For each table and day that has rows. wanted: names of tables."""
        for table, index, batch in self.tables(wanted):
            yield from by_day(table, batch, self.columns.days[index], self.columns.nameless[index])

    def tables(self, wanted: Container[str]) -> Iterator[tuple[str, Any, Any]]:
        """(table, of each row the number of its exchange, record batch) for each wanted table that has rows."""
        import pyarrow

        for table, (rows, arrays) in self.rows().items():
            if table in wanted and rows.count:
                yield table, rows.row, pyarrow.record_batch(arrays(rows), schema=stored_schema(table))

    def rows(self) -> dict[str, tuple[Rows, Callable[[Rows], list[Any]]]]:
        """The rows of each table, and what makes their columns."""
        taken = self.columns.taken
        answered = Rows.of(taken["fetched"], PARTITION)
        versions = self.columns.numbers[:, 3][answered.row]
        old = answered.where((versions < MAGIC_2_SINCE) & (answered.batches > 0))
        far = answered.where(answered.behind >= 0)
        return {
            "fetch_partitions": (answered, self.fetched),
            "produce_partitions": (Rows.of(taken["produced"], PARTITION), self.produced),
            "down_conversions": (old, self.converted),
            "remote_fetches": (far, self.far),
            "record_batches": (Rows.of(taken["batches"], BATCH), self.described),
        }

    def who(self, rows: Rows) -> list[Any]:
        """The columns that all tables of exchanges begin with, for these rows."""
        index = integers(rows.row, "int64")
        return [each.take(index) for each in self.columns.who]

    def topics(self, rows: Rows) -> list[Any]:
        """Name, id, partition."""
        names = [texts_by_number(self.names, numbers) for numbers in (rows.name, rows.id)]
        return [*names, integers(rows.partition, "int32")]

    def fetched(self, rows: Rows) -> list[Any]:
        """The columns of `fetch_partitions`."""
        asked, answered = rows.asked > 0, rows.answered > 0
        return [
            *self.who(rows), integers(rows.session, "int32"), integers(rows.epoch, "int32"), *self.topics(rows),
            integers(asked, "bool"), integers(answered, "bool"),
            optional(rows.offset), optional(rows.limit, "int32"), error_names(rows.error),
            optional(rows.high), optional(rows.stable), optional(rows.start),
            integers(rows.size, "int64", ~answered), integers(rows.batches, "int32"), optional(rows.last),
        ]  # fmt: skip

    def produced(self, rows: Rows) -> list[Any]:
        """The columns of `produce_partitions`: see `PartRow` in the core for what stands where."""
        return [
            *self.who(rows), integers(rows.session, "int16"), integers(rows.epoch, "int32"), *self.topics(rows),
            integers(rows.answered > 0, "bool"), error_names(rows.error), optional(rows.high), optional(rows.stable),
            optional(rows.start), integers(rows.size, "int64"), integers(rows.batches, "int32"),
        ]  # fmt: skip

    def converted(self, rows: Rows) -> list[Any]:
        """The columns of `down_conversions`."""
        versions = self.columns.numbers[:, 3][rows.row]
        lazy = numpy.minimum(rows.size, numpy.maximum(LAZY_CHUNK, rows.first_size))
        sizes = [integers(values, "int64") for values in (rows.size, rows.size, lazy)]
        magics = integers(versions >= MAGIC_1_SINCE, "int8")
        return [*self.who(rows), *self.topics(rows), magics, integers(rows.batches, "int32"), *sizes]

    def far(self, rows: Rows) -> list[Any]:
        """The columns of `remote_fetches`."""
        size = integers(rows.size, "int64")
        places = [integers(values, "int64") for values in (rows.offset, rows.high, rows.behind)]
        requests = [integers(rows.size / unit, "float64") for unit in (MIB, 4 * MIB)]
        return [*self.who(rows), *self.topics(rows), *places, integers(rows.limit, "int32"), size, *requests]

    def described(self, rows: Rows) -> list[Any]:
        """The columns of `record_batches`."""
        flags, new = rows.attributes, rows.magic >= 2
        times = numpy.where(rows.magic == 0, 0, 1 + (flags & APPEND_TIME > 0))
        return [
            *self.who(rows), texts_by_number([APIS[0], APIS[1]], rows.api), *self.topics(rows),
            integers(rows.base_offset, "int64"), integers(rows.last_offset, "int64"), integers(rows.magic, "int8"),
            texts_by_number(COMPRESSIONS, flags & CODEC_MASK), texts_by_number(TIMES, times),
            integers(new & (flags & TRANSACTIONAL > 0), "bool"), integers(new & (flags & CONTROL > 0), "bool"),
            integers(rows.leader_epoch, "int32"), integers(rows.producer_id, "int64"),
            integers(rows.producer_epoch, "int16"), integers(rows.base_sequence, "int32"),
            integers(rows.base_timestamp, "int64"), integers(rows.max_timestamp, "int64"),
            integers(rows.count_, "int32"), integers(rows.size, "int32"), integers(rows.crc, "int64"),
            integers(rows.valid, "bool"),
        ]  # fmt: skip


class Rows:
    """Rows of int64, with their columns as attributes."""

    def __init__(self, columns: Sequence[str], values: Any) -> None:
        """values: int64, a row for each of the columns: these are read one by one, and far more often than rows."""
        self.columns, self.values = columns, values
        self.count = values.shape[1]

    @classmethod
    def of(cls, data: bytes, columns: Sequence[str]) -> Rows:
        """A copy of the rows as the core has them, one behind the other."""
        rows = numpy.frombuffer(data, numpy.int64).reshape(-1, len(columns))
        return cls(columns, numpy.array(rows.T, order="C"))

    def __getattr__(self, name: str) -> Any:
        return self.values[self.columns.index(name.rstrip("_"))]

    def where(self, mask: Any) -> Rows:
        """The rows that a mask selects."""
        return self if mask.all() else Rows(self.columns, numpy.compress(mask, self.values, axis=1))


def text_of(topic: tuple[int, bytes]) -> str:
    kind, data = topic
    return uuid_text(data) if kind == ID else str(loads(data)) if kind == QUOTED else data.decode()


def optional(values: Any, kind: str = "int64") -> Any:
    return integers(values, kind, values == MISSING)


def error_names(codes: Any) -> Any:
    """Null for 0."""
    least = codes.min()
    names = [error_name(code) if code else None for code in range(least, codes.max() + 1)]
    return texts_by_number(names, codes - least)
