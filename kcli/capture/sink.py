"""The `Sink` of a capture's contents, which a `kcli.capture.decoder.CaptureDecoder` fills."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange

if TYPE_CHECKING:
    from kcli.capture.decoder import CaptureDecoder
    from kcli.core.codec.sink import Sink as CompiledSink

Item = Exchange | Event


class Sink:
    """Takes exchanges and events in the order in which they come out; this one drops them all.

    compiled: takes exchanges within the core, before they become values; what it leaves comes to `exchange`
    connection_end(link, round trip (ns, -1: not known), segments sent again): called at each connection's end
    kept: how many exchanges it was given that the filter wants
    """

    compiled: CompiledSink | None = None
    connection_end: Callable[[str, int, int], None] | None = None
    as_text = False  # the core writes lines of JSON
    asks_condition = False  # the sink asks the filter's condition itself
    learns = True  # topic names are learned from values even without a filter
    # APIs whose exchanges go to `overlook` if the filter's condition leaves them out
    overhears: frozenset[int] = frozenset()
    kept = 0

    def begin(self, capture: CaptureDecoder[Any]) -> None:
        """Prepare for the decoder's contents, before anything is read. `compiled` may be made here."""

    def exchange(self, exchange: Exchange) -> None:
        """Take an exchange that passes the filter."""

    def event(self, event: Event) -> None:
        """Take an event that passes the filter."""

    def overlook(self, item: Item) -> None:
        """Take an exchange or event that the filter leaves out."""

    def connection(self, name: str) -> None:
        """Note the connection of an exchange or event, whether that passes the filter or not; called once or more for
        each.
        """

    def next_file(self, number: int) -> None:
        """Note the number of the file that the next packets are from."""

    def pause(self) -> None:
        """Pass on the contents so far: a piece of the files has been read."""

    @property
    def passed(self) -> int:
        """The number of exchanges that passed the filter, including the compiled half's."""
        return self.kept


class Values(Sink):
    """Keeps exchanges and events as values until they are `taken`."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def begin(self, capture: CaptureDecoder[Any]) -> None:
        self.kept = 0

    def exchange(self, exchange: Exchange) -> None:
        self.kept += 1
        self.items.append(exchange)

    def event(self, event: Event) -> None:
        self.items.append(event)

    def taken(self) -> list[Item]:
        """Return the exchanges and events since the last call. An exchange's own events are in its `failures`."""
        taken = self.items[:]
        self.items.clear()
        return taken


class LineSink(Sink):
    """Writes exchanges and events as lines of JSON. The core writes what it reads by itself; the rest goes between.

    write, flush: called after each piece of the files; what was written is valid until `flush`.
    """

    as_text = True
    learns = False  # writing a line does

    def __init__(self, write: Callable[[memoryview], Any] = id, flush: Callable[[], None] | None = None) -> None:
        self.write, self.flush = write, flush

    def begin(self, capture: CaptureDecoder[Any]) -> None:
        self.capture, self.kept = capture, 0

    def exchange(self, exchange: Exchange) -> None:
        self.put(line_of(exchange), True)

    def event(self, event: Event) -> None:
        self.put(event.line(), False)

    def put(self, line: bytes, exchange: bool) -> None:
        """Put the line of an exchange or event after those that the core has written."""
        self.kept += exchange
        self.capture.engine.write(line)

    def pause(self) -> None:
        self.capture.engine.drain_text(self.write)
        if self.flush is not None:
            self.flush()

    @property
    def passed(self) -> int:
        return self.kept + int(getattr(self.capture.engine, "kept", 0))


def line_of(exchange: Exchange) -> bytes:
    """Return an exchange's line, after the lines of events about its bodies."""
    line = exchange.line()
    return b"".join(failure.line() for failure in exchange.failures) + line


def learn_names(item: Item) -> None:
    """Learn the topic names in an exchange, whether it passes the filter or not."""
    if isinstance(item, Exchange) and item.bodies.teaches(item.api_key, item.api_version):
        _ = item.request, item.response
