"""The pipeline's tables whose rows come from single exchanges and events, made in this process while captures are read.

The rows are made by the code of the pipeline's workers (`kcli.pipeline.rows.row_source.RowSource`), with their file
added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.io.file_marks import FileMarks
from kcli.capture.kafka.events import Event
from kcli.capture.nothing import require_exchanges
from kcli.capture.tables.arrow import ArrowSink
from kcli.core.codec.values import uuid_bytes
from kcli.errors import InputError
from kcli.input_names import STDIN, unicode_name
from kcli.jsontext import loads
from kcli.pipeline.rows.exchange_columns import ExchangeColumns
from kcli.pipeline.rows.partition_columns import PartitionColumns
from kcli.pipeline.rows.row_source import AT_END, RowSource
from kcli.pipeline.rows.topic_name_fill import name_columns
from kcli.pipeline.tables import TABLES
from kcli.sql.scans import Source
from kcli.tables.arrays import batch_of_rows, integers, texts
from kcli.tables.definition import arrow_type, schema_of

ROW_TABLES = (
    "fetch_partitions", "produce_partitions", "record_batches", "down_conversions", "remote_fetches", "undecodable",
)  # fmt: skip
ROWS = 20_000  # in a record batch, at most
LEAST, MOST = -(1 << 63), (1 << 63) - 1  # ns


class LearntNames:
    """The topic names in captures, by id. The captures are read for this once, when a name is first missing."""

    def __init__(self, paths: Sequence[str], options: dict[str, Any]) -> None:
        self.paths, self.options = paths, options

    @cached_property
    def names(self) -> Any:
        """The names in all captures; None if one of them cannot be read twice."""
        if STDIN in self.paths:
            return None
        source = CaptureDecoder(self.paths, ArrowSink(wanted=frozenset()), DecodeOptions(**self.options))
        try:
            for _ in source.sink.batches():
                pass
        except InputError:
            pass  # the reader of the rows reports the fault
        return source.bodies.names

    def of(self, ids: Sequence[str]) -> dict[str, tuple[str, int]]:
        """Return {id: (name, 0)} for the ids with a known name, as `name_columns` takes them."""
        found = {} if self.names is None else {each: self.names.get(uuid_bytes(each)) for each in ids}
        return {each: (loads(name), 0) for each, name in found.items() if name is not None}


class TableRows(RowSource):
    """Makes record batches of one table, with the column `file`, from captures."""

    def __init__(self, table: str, learnt: LearntNames, options: dict[str, Any]) -> None:
        self.table, self.learnt = table, learnt
        self.schema = schema_of(TABLES[table].columns)
        self.marks = FileMarks()
        self.ready: list[Any] = []
        self.waiting: list[tuple[Any, ...]] = []
        self.files: list[str] = []
        super().__init__(self.put_row, frozenset({table}), paths=learnt.paths, **options)

    def batches(self) -> Iterator[Any]:
        """Yield the record batches. Raises InputError at the end for damaged files."""
        failures = []
        try:
            for _ in self.read():
                yield from self.taken_batches()
        except InputError as error:
            failures.append(error)
        self.flush(last=True)
        self.flush_rows()
        yield from self.taken_batches()
        if failures:
            raise failures[0]
        if self.table != "undecodable":
            require_exchanges(self.capture)

    def taken_batches(self) -> list[Any]:
        """Return the finished record batches, and forget them."""
        ready, self.ready = self.ready, []
        return ready

    def next_file(self, number: int, last_ns: int | None) -> None:
        self.marks.enter(number, self.taker.count, last_ns)

    def event(self, event: Event) -> None:
        if event.reason.endswith(AT_END):
            self.end_ns = max(self.engine.last_ns, getattr(self.engine, "latest", 0))
        super().event(event)

    def put_row(self, table: str, row: tuple[Any, ...]) -> None:
        """Add a row, if it is of this table."""
        if table != self.table:
            return
        self.waiting.append(row)
        names = self.capture.entered_names
        self.files.append(names[self.marks.at(row[0])] if table == "undecodable" else self.capture.file_name)
        if len(self.waiting) >= ROWS:
            self.flush_rows()

    def flush_rows(self) -> None:
        """Make a record batch of the rows from `put_row`."""

        if self.waiting:
            self.add(batch_of_rows(self.waiting, self.schema), texts(map(unicode_name, self.files)))
        self.waiting, self.files = [], []

    def flush(self, last: bool = False) -> None:
        """Make record batches of the core's columns."""

        columns = ExchangeColumns(self.taker.take_columns(last), self.bodies.name)
        if columns.rows.count:
            files = self.marks.column(self.capture.entered_names, columns.rows).array(arrow_type("string"))
            for _, rows, batch in PartitionColumns(columns).tables(self.rows.wanted):
                self.add(batch, files.take(integers(rows, "int64")))
        self.marks.restart()

    def add(self, batch: Any, files: Any) -> None:
        """Add a record batch without file names, and with topic names that may be missing."""
        import pyarrow.compute

        rows = self.named(pyarrow.Table.from_batches([batch]).cast(self.schema))
        if "file" not in rows.column_names:
            rows = rows.append_column("file", files)
        else:  # `undecodable` has its own files in rows without a connection
            found = pyarrow.compute.coalesce(rows.column("file"), files)
            rows = rows.set_column(rows.schema.get_field_index("file"), rows.schema.field("file"), found)
        self.ready += rows.combine_chunks().to_batches()

    def named(self, rows: Any) -> Any:
        """Fill in topic names that neither the same connection nor earlier packets contain."""
        import pyarrow.compute

        if "topic_id" not in rows.column_names:
            return rows
        nameless = rows.filter(pyarrow.compute.is_null(rows.column("topic"))).column("topic_id").unique().drop_null()
        names = self.learnt.of(nameless.to_pylist()) if len(nameless) else {}
        return name_columns(rows, names) if names else rows


def row_source(table: str, learnt: LearntNames, options: dict[str, Any]) -> Source:
    """Return the rows of a table of ROW_TABLES, from the captures of `learnt`.

    options: ports, dialect, secrets and memory, of DecodeOptions.
    """

    def batches(_wanted: frozenset[str]) -> Iterator[Any]:
        return TableRows(table, learnt, options).batches()

    return batches
