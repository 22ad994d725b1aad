"""Tests a condition on columns for exchanges, before a decoder receives them.

Exchanges are collected, as the condition is tested for many at once. All of them are columns of the core; those that
the core read by itself become values only if the condition holds, or the decoder also wants the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kcli.capture.io.file_marks import FileMarks
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange, learn_names
from kcli.capture.sinks import LineSink, line_of
from kcli.capture.tables.column_owner import ColumnOwner
from kcli.capture.tables.columns import TEXT_BYTES, batch_of, put_exchange, wanted_rows
from kcli.capture.tables.held_rows import HeldRows
from kcli.core.columns.exchange_columns import ExchangeRows
from kcli.schemas.field_codes import API_KEYS
from kcli.tables.definition import schema_of
from kcli.tables.exchanges import EXCHANGE_COLUMNS, fields_of_columns

if TYPE_CHECKING:
    from kcli.capture.decoder import CaptureDecoder

ROWS = 20_000  # most rows to collect


class Waiting(NamedTuple):
    """An event, or an exchange that came as a value. place: the core's row that it precedes, or is; number: its file.

    line: its line of JSON, if the decoder writes lines.
    """

    place: int
    number: int
    item: Exchange | Event
    line: bytes


class ConditionalFeed(ColumnOwner):
    """Tests the filter's condition: `put` and the compiled part receive exchanges, `flush` passes them on in order.

    The decoder's `deliver` receives events, and exchanges for which the condition holds. The sink's `overlook` receives
    other exchanges of APIs in `overhears`. The decoder's `tell_file` receives the file's number before.
    """

    as_text = False

    def __init__(self, decoder: CaptureDecoder[Any]) -> None:
        self.decoder, self.bodies, self.chosen = decoder, decoder.bodies, decoder.chosen
        self.sink = decoder.sink
        self.lines = self.sink if isinstance(self.sink, LineSink) else None
        assert self.chosen.where is not None
        self.condition = self.chosen.where
        self.wanted = self.condition.wanted
        if self.chosen.is_plain:
            self.wanted |= {"client_id"} if self.chosen.client_id is not None else frozenset[str]()
            self.wanted |= {"request", "response"} if self.chosen.topic is not None else frozenset[str]()
        self.schema = schema_of(EXCHANGE_COLUMNS)
        self.names = decoder.entered_names
        self.marks = FileMarks()
        self.as_lines = self.lines is not None and self.chosen.is_plain
        self.waiting: list[Waiting] = []  # events
        self.values: dict[int, Waiting] = {}  # exchanges that came as values, by row
        framed = () if self.as_lines else range(API_KEYS)
        headed = self.as_lines or "request_header" in self.wanted
        self.field_names = fields_of_columns(sorted(self.wanted))
        self.compiled = ExchangeRows(
            self, rows=ROWS, size=TEXT_BYTES, parted=False, framed=framed, headed=headed, fields=len(self.field_names)
        )

    def enter(self, number: int) -> None:
        """Note that the next packets are those of another file."""
        self.marks.enter(number, self.place, self.decoder.last_ns)

    @property
    def place(self) -> int:
        """The number of the core's rows."""
        return int(self.compiled.count)

    def put(self, item: Exchange | Event) -> None:
        """Take an exchange or event as a value."""
        line = b""
        if item.connection is not None:
            self.sink.connection(item.connection)
        if isinstance(item, Event):
            self.waiting.append(Waiting(self.place, self.marks.number, item, line))
            if len(self.waiting) >= ROWS:
                self.flush()
            return
        if self.lines is not None:
            line = line_of(item)  # now, with the topic names known so far
        else:
            learn_names(item)
        self.values[self.place] = Waiting(self.place, self.marks.number, item, line)
        put_exchange(self.compiled, item, self.decoder.engine.last_ns, ignored, self.field_names)

    def voice(self, link: bytes) -> int:
        """Pass the name of a connection that is new to the core to the decoder."""
        self.sink.connection(link.decode())
        return 0

    def flush(self) -> None:
        """Pass on all collected exchanges and events.

        Raises UsageError if the condition fails for a value, such as a cast of text that is no number.
        """
        waiting, self.waiting = self.waiting, []
        values, self.values = self.values, {}
        rows, kept, passing = self.taken_rows([*values])
        for each in in_order(waiting, passing):
            if isinstance(each, Waiting):
                self.tell_file(each.number)
                self.hand_on(each.item, True)
                continue
            self.tell_file(int(self.numbers[each]))
            if each in values:
                self.give(values[each], bool(kept[each]))
            elif self.as_lines and self.lines is not None:
                self.lines.put(rows.line(each), True)
            else:
                self.hand_on(rows.exchange(each), bool(kept[each]))

    def taken_rows(self, values: list[int]) -> tuple[Any, Any, Sequence[int]]:
        """Return the core's rows, whether each passes, and the numbers of the rows to pass on. values: rows for which
        only the condition is tested.
        """
        if not self.compiled.count:
            return None, (), ()
        import numpy

        columns = self.compiled.take_columns()
        rows = HeldRows(columns, self.bodies)
        self.numbers = self.marks.numbers(rows.rows)
        files = partial(self.marks.column, self.names)
        batch = batch_of(columns, self.bodies.name, self.schema, self.wanted, files, self.field_names)
        self.marks.restart()
        kept = self.condition.holds(batch)
        if self.chosen.is_plain:
            wanted = wanted_rows(self.chosen, columns, batch)
            wanted[values] = True
            kept = kept & wanted
        passing = kept | numpy.isin(rows.keys, [*self.sink.overhears])
        return rows, kept, numpy.flatnonzero(passing).tolist()

    def give(self, each: Waiting, passes: bool) -> None:
        """Pass on an exchange that came as a value."""
        if self.lines is None or not each.line:
            self.hand_on(each.item, passes)
        elif passes and self.chosen.wants(each.item):
            self.lines.put(each.line, True)

    def hand_on(self, item: Exchange | Event, passes: bool) -> None:
        """Pass an exchange or event to the decoder; one that does not pass, to `overlook` if the sink wants that."""
        if passes:
            self.decoder.deliver(item)
        elif isinstance(item, Exchange) and item.api_key in self.sink.overhears:
            self.sink.overlook(item)

    def tell_file(self, number: int) -> None:
        """Pass the file's number of the next row to the decoder, if it differs."""
        if number != self.decoder.number:
            self.decoder.tell_file(number)


def in_order(waiting: Sequence[Waiting], rows: Sequence[int]) -> Iterator[Waiting | int]:
    """Yield collected values and rows (ascending) in the order in which they came."""
    at = 0
    for each in waiting:
        while at < len(rows) and rows[at] < each.place:
            yield rows[at]
            at += 1
        yield each
    yield from rows[at:]


def ignored(_event: Event) -> None:
    """Ignore events about an exchange's bodies: they are in its line, or the decoder finds them."""
