"""Writes rows into Parquet files: one file for each table, day and task."""

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from kcli.pipeline.background import Background
from kcli.pipeline.schemas import arrow_schema, filed_schema
from kcli.pipeline.storage import StoragePath, split_query
from kcli.pipeline.tables import TABLES
from kcli.tables.arrays import batch_of_rows
from kcli.tables.parquet import LONG, FileForm, parquet_writer, stored

ROWS = 20_000  # the most rows of a row group
SHORT_ROWS = 100_000  # the most rows of record batches that wait, in which texts repeat
TEXT_BYTES = 16 << 20  # the most bytes of values in a row group
# Tables whose batches have long texts in memory that the core reuses, so that they are written at once.
AT_ONCE = frozenset({"exchanges", "exchange_facts", "fetch_frames", "records"})
SAMPLE = 64  # the bytes of every so many rows are counted
DAY_US = 86_400_000_000
NO_DAY = "1970-01-01"  # for a file without rows; it is a date, because readers derive the type from folders' names
# Tables with topic ids.
NAMED = (
    "exchanges", "fetch_partitions", "produce_partitions", "record_batches", "down_conversions", "remote_fetches",
    "records",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A new file. path: below the folder of the run; day: of a dated table; nameless: its rows may lack topic names."""

    table: str
    day: str | None
    path: str
    rows: int
    nameless: bool = False


def day_of(us: int) -> str:
    """Return the UTC date of microseconds since 1970."""
    return f"{datetime.fromtimestamp(us // 1_000_000, UTC):%Y-%m-%d}"


class OpenTableFile:
    """One open file of one table and day. background: the thread that writes it."""

    def __init__(
        self, background: Background, place: StoragePath, path: str, table: str, day: str | None, nameless: bool = False
    ) -> None:
        self.background = background
        self.table, self.day, self.path, self.nameless = table, day, path, nameless
        self.schema = written_schema(table)
        self.file = (place / path).create()
        self.writer = file_form(table).writer(self.file)
        self.rows: list[tuple[Any, ...]] = []
        self.batches: list[Any] = []
        self.waiting = self.waiting_bytes = self.count = self.weight = 0
        self.long_texts = [name for name in self.schema.names if name in LONG]

    def add(self, row: tuple[Any, ...]) -> None:
        self.rows.append(row)
        if len(self.rows) % SAMPLE == 0:
            self.weight += SAMPLE * sum(len(value) for value in row if isinstance(value, (bytes, str)))
        if len(self.rows) >= ROWS or self.weight > TEXT_BYTES:
            self.flush()

    def flush(self) -> None:
        if self.rows:
            self.write(batch_of_rows([self.whole(row) for row in self.rows], self.schema))
            self.rows, self.weight = [], 0

    def whole(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a row with all columns; those of its origin may be missing."""
        return row + (None,) * (len(self.schema) - len(row))

    def add_batch(self, batch: Any) -> None:
        """Add rows as a record batch. Small ones wait for more."""
        batch = whole_batch(batch, self.schema)
        if self.table in AT_ONCE:
            self.write(batch)
            return
        self.batches.append(batch)
        self.waiting += batch.num_rows
        self.waiting_bytes += sum(batch.column(name).nbytes for name in self.long_texts)
        if self.waiting >= SHORT_ROWS or self.waiting_bytes > TEXT_BYTES:
            self.flush_batches()

    def flush_batches(self) -> None:
        if self.batches:
            self.write(*self.batches)
        self.batches, self.waiting, self.waiting_bytes = [], 0, 0

    def write(self, *batches: Any) -> None:
        """Write one row group, in the background."""
        self.count += sum(each.num_rows for each in batches)
        self.background.do(self.write_now, batches)

    def write_now(self, batches: tuple[Any, ...]) -> None:
        import pyarrow

        rows = pyarrow.Table.from_batches(batches, self.schema)
        self.writer.write_table(rows.unify_dictionaries() if len(batches) > 1 else rows)

    def close(self) -> WrittenFile:
        """Write the remaining rows, close the file, and describe it."""
        self.flush()
        self.flush_batches()
        self.background.do(self.close_now)
        return WrittenFile(self.table, self.day, self.path, self.count, self.nameless)

    def close_now(self) -> None:
        self.writer.close()
        self.file.close()


@cache
def stored_schema(table: str) -> Any:
    """Return the Arrow schema of a table's record batches."""
    return stored(arrow_schema(table))


@cache
def written_schema(table: str) -> Any:
    """Return the Arrow schema of a table's files, which have more columns than its record batches."""
    return stored(filed_schema(table))


@cache
def file_form(table: str) -> FileForm:
    """Return the form of a table's files. Files of facts are always read as a whole."""
    return FileForm(written_schema(table), bounded=table in TABLES)


def whole_batch(batch: Any, schema: Any) -> Any:
    """Return a batch with all columns of a file; those of the origin may be missing."""
    import pyarrow

    missing = [pyarrow.nulls(batch.num_rows, field.type) for field in [*schema][batch.num_columns :]]
    return pyarrow.record_batch([*batch.columns, *missing], schema=schema) if missing else batch


@cache
def empty_file(table: str) -> bytes:
    """Return the bytes of a file of the table without rows."""
    file = io.BytesIO()
    file_form(table).writer(file).close()
    return file.getvalue()


def as_stored(batch: Any, schema: Any) -> Any:
    """Return an engine's batch in the form of a table's files: the same columns, some dictionary-encoded."""
    import pyarrow

    return pyarrow.record_batch(stored_columns(batch.columns, schema), schema=schema)


def stored_columns(columns: Iterable[Any], schema: Any) -> list[Any]:
    """Return columns in the form of a table's files, some dictionary-encoded."""
    import pyarrow

    return [
        column.dictionary_encode() if pyarrow.types.is_dictionary(field.type) else column.cast(field.type)
        for column, field in zip(columns, schema, strict=True)
    ]


def rewrite(uri: str, change: Callable[[Any], Any]) -> None:
    """Rewrite a table's file. change: returns each row group's new rows."""
    import pyarrow.parquet

    place = StoragePath(uri)
    path, query = split_query(uri)
    target = StoragePath(f"{path}.changed{query}")
    with place.open() as opened:
        source = pyarrow.parquet.ParquetFile(opened)
        with target.create() as file, parquet_writer(file, source.schema_arrow) as writer:
            for group in range(source.num_row_groups):
                writer.write_table(change(source.read_row_group(group)))
    target.move(place)


def with_column(rows: Any, name: str, values: Any) -> Any:
    """Return rows with a column replaced."""
    return rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), values)


class TableWriter:
    """The files of one task, below `folder` as table/date=day/name.

    The first column of a dated table is its time. Rows with unnamed topics have files of their own, so that only these
    are read to name them.
    """

    def __init__(self, folder: str, name: str) -> None:
        self.folder, self.name = StoragePath(folder), name
        self.background = Background()
        self.sinks: dict[tuple[str, int, bool], OpenTableFile] = {}

    def put(self, table: str, row: tuple[Any, ...]) -> None:
        """Write a row, with values in the order of the table's columns."""
        known = TABLES.get(table)
        number = row[0] // DAY_US if known is not None and known.dated else -1
        self.sink(table, number, False).add(row)

    def put_batch(self, table: str, number: int, batch: Any, nameless: bool = False) -> None:
        """Write rows of a record batch. number: the day since 1970."""
        self.sink(table, number, nameless).add_batch(batch)

    def sink(self, table: str, number: int, nameless: bool) -> OpenTableFile:
        """Return the open file for rows of a table and day (since 1970; -1: not dated)."""
        return self.sinks.get((table, number, nameless)) or self.open(table, number, nameless)

    def open(self, table: str, number: int, nameless: bool) -> OpenTableFile:
        """Open the file of a table and day."""
        day = None if number < 0 else day_of(number * DAY_US)
        folder = table if day is None else f"{table}/date={day}"
        name = f"{self.name}-nameless" if nameless else self.name
        path = f"{folder}/{name}.parquet"
        made = self.sinks[table, number, nameless] = OpenTableFile(
            self.background, self.folder, path, table, day, nameless
        )
        return made

    def close(self) -> list[WrittenFile]:
        """Close all files, and list them."""
        made = [sink.close() for sink in self.sinks.values()]
        self.background.finish()
        return made
