"""Makes Arrow record batches of exchanges and events: the columns of `decode pcap --format parquet` and
`Capture.to_arrow`.

Exchanges in the core become columns without a Python object for each row. Events are rows, each with its place among
the exchanges.
"""

import contextlib
from collections.abc import Callable, Container, Generator, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.io.file_marks import FileMarks
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.sinks import Sink
from kcli.capture.tables.column_owner import ColumnOwner
from kcli.capture.tables.columns import EVERY, TEXT_BYTES, batch_of, event_row, put_exchange, rows_batch, wanted_rows
from kcli.errors import InputError
from kcli.extras import require
from kcli.tables.arrays import integers
from kcli.tables.captured import PARQUET_COLUMNS
from kcli.tables.definition import Column, schema_of
from kcli.tables.exchanges import EXCHANGE_COLUMNS, fields_of_columns
from kcli.tables.parquet import stored

ROWS = 40_000  # most rows in a record batch


class ArrowSink(Sink, ColumnOwner):
    """Makes record batches (`batches`) of exchanges and events, with the columns of `schema`.

    forwarded: API keys of exchanges that `more` also receives; a subclass may set some.
    """

    forwarded: tuple[int, ...] = ()
    asks_condition = True  # the condition is tested on the columns that are made anyway

    def __init__(
        self,
        columns: Sequence[Column] = PARQUET_COLUMNS,
        wanted: Container[str] = EVERY,
        bodies: bool = True,
        for_file: bool = False,
    ) -> None:
        """Prepare columns of exchanges. wanted: names of columns; the others are null. bodies: let the core read
        messages beyond their headers; without, undecodable ones give no events, and no names are learned. for_file:
        repeated texts are dictionaries, as for `parquet_writer`.

        Raises UsageError if pyarrow or numpy is missing.
        """
        require("a table of exchanges", "parquet")
        import numpy
        import pyarrow

        self.numpy, self.arrow = numpy, pyarrow
        self.schema, self.exchanges = schema_of(columns), schema_of(EXCHANGE_COLUMNS)
        if for_file:
            self.schema = stored(self.schema)
        self.columns_wanted, self.bodies_wanted = wanted, bodies
        self.marks = FileMarks()
        self.rows: list[dict[str, Any]] = []
        self.places: list[int] = []  # the number of the core's rows before each of these rows
        self.given: list[int] = []  # the core's rows that came as values, and have passed the filter
        self.ready: list[Any] = []
        self.take_batch: Callable[[Any], Any] = self.ready.append

    def begin(self, capture: CaptureDecoder[Any]) -> None:
        """Prepare the core's columns for exchanges, if columns can decide the filter."""
        self.capture, self.bodies, self.chosen = capture, capture.bodies, capture.chosen
        self.taker = self.new_taker()
        self.compiled = self.taker if self.chosen.is_plain else None

    def batches(self, moved: Callable[[int], None] = lambda count: None) -> Iterator[Any]:
        """Yield the record batches, of ROWS rows at most. Raises InputError at the end for damaged files."""
        with contextlib.closing(self.steps(moved)) as steps:
            for _ in steps:
                yield from self.taken_batches()

    def write(self, take: Callable[[Any], Any], moved: Callable[[int], None] = lambda count: None) -> None:
        """Pass each record batch to a function."""
        self.take_batch = take
        for _ in self.steps(moved):
            pass

    def steps(self, moved: Callable[[int], None]) -> Generator[None, None, None]:
        """Read the files piece by piece; `ready` has the record batches of each."""
        try:
            yield from self.capture.read(moved)
        except InputError:
            self.flush()
            yield
            raise
        self.flush()
        yield

    def next_file(self, number: int, last_ns: int | None) -> None:
        self.marks.enter(number, self.taker.count, last_ns)

    def taken_batches(self) -> list[Any]:
        """Return the finished record batches, and forget them."""
        taken = self.ready[:]
        self.ready.clear()
        return taken

    # Rows

    def exchange(self, exchange: Exchange) -> None:
        self.given.append(self.taker.count)
        put_exchange(self.taker, exchange, self.capture.engine.last_ns, self.note, self.field_names)
        if len(self.rows) >= ROWS:
            self.flush()

    def event(self, event: Event) -> None:
        self.note(event)
        if len(self.rows) >= ROWS:
            self.flush()

    def note(self, event: Event) -> None:
        """Add an event's row."""
        self.put(event_row(event))
        if event.connection is not None:
            self.rows[-1]["file"] = self.capture.entered_names[self.marks.at(event.ns // 1000)]

    def put(self, row: dict[str, Any]) -> None:
        """Add a row that is no exchange, with its place among the exchanges."""
        row["file"] = self.capture.file_name
        self.rows.append(row)
        self.places.append(self.taker.count)

    def new_taker(self) -> Any:
        """Make the core's taker of columns."""
        from kcli.core.columns.exchange_columns import ExchangeRows

        where = self.chosen.where
        asked = {name for name in self.schema.names if name in self.columns_wanted}
        self.field_names = fields_of_columns(sorted(asked | where.wanted if where else asked))
        headed = "request_header" in asked or (where is not None and "request_header" in where.wanted)
        return ExchangeRows(
            self, self.forwarded, ROWS, TEXT_BYTES, parted=False, headed=headed, bodies=self.bodies_wanted,
            fields=len(self.field_names),
        )  # fmt: skip

    def flush(self) -> None:
        """Make a record batch of all rows so far."""
        rows, places = self.rows, self.numpy.array(self.places, self.numpy.int64)
        given = self.given
        self.rows, self.places, self.given = [], [], []
        batch = None
        if self.taker.count:
            taken = self.taker.take_columns()
            files = partial(self.marks.column, self.capture.entered_names)
            batch = batch_of(taken, self.bodies.name, self.schema, self.columns_wanted, files, self.field_names)
            if not self.chosen.takes_all:
                kept = self.passing(taken, batch, given) & self.held(taken, files)
                self.kept += int(kept.sum())
                batch = batch.filter(integers(kept, "bool"))
                if self.chosen.where is not None:  # an event precedes the exchange that it is about
                    passed = kept[places]
                    rows, places = [row for row, passes in zip(rows, passed, strict=True) if passes], places[passed]
                places = self.numpy.concatenate(([0], self.numpy.cumsum(kept)))[places]
        self.marks.restart()
        if rows:
            batch = self.merged(batch, rows_batch(rows, self.schema), places)
        if batch is not None and batch.num_rows:
            self.take_batch(batch)

    def passing(self, taken: dict[str, Any], batch: Any, given: list[int]) -> Any:
        """Return a mask of the core's rows that pass the filter, apart from its condition."""
        if not self.chosen.is_plain:
            return self.numpy.ones(batch.num_rows, bool)
        kept = wanted_rows(self.chosen, taken, batch)
        kept[given] = True
        return kept

    def held(self, taken: dict[str, Any], files: Any) -> Any:
        """Return a mask of the core's rows for which the filter's condition holds; True without a condition."""
        where = self.chosen.where
        if where is None:
            return True
        batch = batch_of(taken, self.bodies.name, self.exchanges, where.wanted, files, self.field_names)
        return where.holds(batch)

    def merged(self, batch: Any, rows: Any, places: Any) -> Any:
        """Merge two batches. places: the index in `batch` at which to insert each of `rows`."""
        if batch is None or not batch.num_rows:
            return rows
        count = batch.num_rows
        both = self.arrow.Table.from_batches([batch, rows]).combine_chunks()
        if places[0] == count:
            return both.to_batches()[0]
        # `take` would import pyarrow.compute, which takes as long as reading many captures.
        made = both.to_batches()[0]
        order = self.numpy.insert(self.numpy.arange(count), places, self.numpy.arange(rows.num_rows) + count)
        starts = [0, *(self.numpy.flatnonzero(self.numpy.diff(order) != 1) + 1).tolist(), len(order)]
        runs = [made.slice(int(order[start]), stop - start) for start, stop in pairwise(starts)]
        return self.arrow.Table.from_batches(runs).combine_chunks().to_batches()[0]
