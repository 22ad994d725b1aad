"""What the core read of partitions as columns, as record batches of the tables about them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Any

import numpy

from kcli.core.codec.values import uuid_text
from kcli.jsontext import loads
from kcli.pipeline.exchange_columns import Dated, ExchangeColumns, by_day
from kcli.pipeline.writing import stored_schema
from kcli.records.batches import APPEND_TIME, CODEC_MASK, CONTROL, TRANSACTIONAL
from kcli.records.codecs import CODECS
from kcli.schemas.errors import error_name
from kcli.tables.arrays import integers, numbered
from kcli.tables.rows import Rows

MISSING = -(1 << 63)
LAZY_CHUNK = 128 * 1024
MAGIC_2_SINCE, MAGIC_1_SINCE = 4, 2  # Fetch versions that take batches of magic 2 and 1 (KIP-98, KIP-31)
MIB = 1 << 20
APIS = ("PRODUCE", "FETCH", "SHARE_FETCH")  # by the core's numbers
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
        answered = Rows.of(taken, "fetched")
        versions = self.columns.rows.version[answered.row]
        old = answered.where((versions < MAGIC_2_SINCE) & (answered.batches > 0))
        far = answered.where(answered.behind >= 0)
        return {
            "fetch_partitions": (answered, self.fetched),
            "produce_partitions": (Rows.of(taken, "produced"), self.produced),
            "down_conversions": (old, self.converted),
            "remote_fetches": (far, self.far),
            "record_batches": (Rows.of(taken, "batches"), self.described),
        }

    def who(self, rows: Rows) -> list[Any]:
        """The columns that all tables of exchanges begin with, for these rows."""
        index = integers(rows.row, "int64")
        return [each.take(index) for each in self.columns.who]

    def topics(self, rows: Rows) -> list[Any]:
        """Name, id, partition."""
        names = [numbered(self.names, numbers).dictionary() for numbers in (rows.name, rows.id)]
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
            optional(rows.effective), optional(rows.high_seen), optional(rows.start_seen), lags(rows),
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
        versions = self.columns.rows.version[rows.row]
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
            *self.who(rows), numbered(APIS, rows.api).dictionary(), *self.topics(rows),
            integers(rows.base_offset, "int64"), integers(rows.last_offset, "int64"), integers(rows.magic, "int8"),
            numbered(COMPRESSIONS, flags & CODEC_MASK).dictionary(), numbered(TIMES, times).dictionary(),
            integers(new & (flags & TRANSACTIONAL > 0), "bool"), integers(new & (flags & CONTROL > 0), "bool"),
            integers(rows.leader_epoch, "int32"), integers(rows.producer_id, "int64"),
            integers(rows.producer_epoch, "int16"), integers(rows.base_sequence, "int32"),
            integers(rows.base_timestamp, "int64"), integers(rows.max_timestamp, "int64"),
            integers(rows.count_, "int32"), integers(rows.size, "int32"), integers(rows.crc, "int64"),
            integers(rows.valid, "bool"),
        ]  # fmt: skip


def text_of(topic: tuple[int, bytes]) -> str:
    kind, data = topic
    return uuid_text(data) if kind == ID else str(loads(data)) if kind == QUOTED else data.decode()


def optional(values: Any, kind: str = "int64") -> Any:
    return integers(values, kind, values == MISSING)


def lags(rows: Rows) -> Any:
    """How far behind the end that was last seen fetches stand."""
    unknown = (rows.effective == MISSING) | (rows.high_seen == MISSING)
    return integers(numpy.where(unknown, 0, rows.high_seen - rows.effective), "int64", unknown)


def error_names(codes: Any) -> Any:
    """Null for 0."""
    least = codes.min()
    names = [error_name(code) if code else None for code in range(least, codes.max() + 1)]
    return numbered(names, codes - least).dictionary()
