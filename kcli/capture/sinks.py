"""Sinks for exchanges and events: the base class, and those that keep them as values or write lines of JSON."""

from collections.abc import Callable
from typing import Any

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange, Item
from kcli.core.codec.sink import Sink as CompiledSink


class Sink:
    """Receives exchanges and events in the order in which they complete; this base class drops them.

    compiled: receives exchanges within the core, before they become values; the rest goes to `exchange`
    connection_end(link, round trip (ns, -1 if unknown), retransmitted segments): called at each connection's end
    kept: the number of exchanges that passed the filter
    """

    compiled: CompiledSink | None = None
    connection_end: Callable[[str, int, int], None] | None = None
    as_text = False  # the core writes lines of JSON
    asks_condition = False  # the sink tests the filter's condition itself
    learns = True  # topic names are learned from values even without a filter
    # APIs whose exchanges go to `overlook` if the filter's condition leaves them out
    overhears: frozenset[int] = frozenset()
    kept = 0

    def begin(self, capture: Any) -> None:
        """Prepare for a CaptureDecoder, before anything is read. `compiled` may be made here."""

    def exchange(self, exchange: Exchange) -> None:
        """Take an exchange that passes the filter."""

    def event(self, event: Event) -> None:
        """Take an event that passes the filter."""

    def overlook(self, item: Item) -> None:
        """Take an exchange or event that the filter leaves out."""

    def connection(self, name: str) -> None:
        """Take the connection of an exchange or event, whether that passes the filter or not; called once or more
        for each connection.
        """

    def next_file(self, number: int, last_ns: int | None) -> None:
        """Take the number of the next packets' file. last_ns: the time of the latest packet before, -1 without one;
        None: it is the next exchanges' file.
        """

    def pause(self) -> None:
        """Process the exchanges and events so far, as a piece of the files has been read."""

    @property
    def passed(self) -> int:
        """The number of exchanges that passed the filter, including the compiled half's."""
        return self.kept


class Values(Sink):
    """Keeps exchanges and events as values until they are `taken`."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def begin(self, capture: Any) -> None:
        self.kept = 0

    def exchange(self, exchange: Exchange) -> None:
        self.kept += 1
        self.items.append(exchange)

    def event(self, event: Event) -> None:
        self.items.append(event)

    def taken(self) -> list[Item]:
        """Return the exchanges and events since the last call. Events about an exchange are in its `failures`."""
        taken = self.items[:]
        self.items.clear()
        return taken


class LineSink(Sink):
    """Writes exchanges and events as lines of JSON. The core writes those that it reads by itself; the others are put
    between.

    write, flush: called after each piece of the files; what was written is valid until `flush`.
    """

    as_text = True
    learns = False  # writing a line learns them

    def __init__(self, write: Callable[[memoryview], Any] = id, flush: Callable[[], None] | None = None) -> None:
        self.write, self.flush = write, flush

    def begin(self, capture: Any) -> None:
        self.capture, self.kept = capture, 0

    def exchange(self, exchange: Exchange) -> None:
        self.put(line_of(exchange), True)

    def event(self, event: Event) -> None:
        self.put(event.line(), False)

    def put(self, line: bytes, exchange: bool) -> None:
        """Add the line of an exchange or event after those that the core has written."""
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
    """Return an exchange's line, after the lines of events about its bodies.

    Scripts take messages in lines for whole. So a request that is not whole in the capture has only the lines of its
    events, and a whole one whose response is not that of a request without a response, with unknown errors.
    """
    if exchange.cut.request is not None:
        return b""
    if exchange.cut.response is not None:
        asked = Exchange(exchange.link, exchange.request_ns, exchange.request_frame, None, None, exchange.bodies)
        return asked.line().removesuffix(b"[]}\n") + b"null}\n"
    line = exchange.line()
    return b"".join(failure.line() for failure in exchange.failures) + line
