"""Decodes capture files: exchanges and events as values (`CaptureDecoder.wanted`) or as lines of JSON (`lines`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from kcli.capture.counters import Tally
from kcli.capture.filters import ALL, Filter
from kcli.capture.io.files import drive
from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.events import Event, Link
from kcli.capture.kafka.exchange import UNTIMED, Exchange, Timing
from kcli.filelike import Stream, name_of

if TYPE_CHECKING:
    from kcli.capture.io.ranges import Row
    from kcli.capture.tables.conditions import ConditionalFeed
    from kcli.capture.tls.keylog import KeyLog
    from kcli.capture.tls.layer import TlsLayer

Item = Exchange | Event
MEMORY = 1 << 28  # bytes that connections hold, of packets out of order, parts of frames and requests that wait


class CaptureDecoder:
    """A capture in one or more files, on its way through: its engine, and what has come out and was not yet taken.

    text: exchanges and events become lines of JSON (`lines`), else values (`pieces`, `wanted`). names: values too show
    a topic's name beside its id, as `_topicName`. chosen: which of them `lines` and `wanted` give. secrets: lines and
    `Exchange.texts` show them. key_logs: files with the secrets of TLS connections.
    memory: bytes that connections may hold; what is beyond is given up, with events.
    """

    overhears: frozenset[int] = frozenset()  # APIs of which `overlook` gets what the filter's condition leaves out
    sink: Any = None  # takes exchanges from the core, before they become values
    connection_ended: Callable[[str, int, int], None] | None = None  # (link, round trip, sent again)

    def __init__(
        self,
        paths: Sequence[str | Stream],
        *,
        ports: Sequence[int] = (),
        dialect: str | None = None,
        records: str = "none",
        text: bool = False,
        names: bool = True,
        chosen: Filter = ALL,
        secrets: bool = False,
        memory: int = MEMORY,
        key_logs: Sequence[str] = (),
    ) -> None:
        self.paths = paths
        self.file_names = tuple(map(name_of, paths))
        self.entered_names = [name_of(path) for path in dict.fromkeys(paths)]
        self.number = 0  # of the file whose packets go through
        self.memory = memory
        self.chosen, self.takes_all = chosen, chosen.takes_all
        self.bodies = Bodies(dialect, records, names, secrets)
        self.items: list[Item] = []
        self.text = text
        self.kept = 0  # exchanges that came as values and passed the filter
        self.tally = Tally()
        self.key_logs = key_logs
        if key_logs:
            _ = self.keys  # what is no key log is refused before anything is read
        self.feed = self.new_feed()
        self.engine, self.new_reader = self.choose_engine(ports)

    def new_feed(self) -> ConditionalFeed | None:
        """What asks the filter's condition, where it has one."""
        if self.chosen.where is None:
            return None
        from kcli.capture.tables.conditions import ConditionalFeed

        feed = ConditionalFeed(self)
        self.sink = feed.sink
        return feed

    def choose_engine(self, ports: Sequence[int]) -> tuple[Any, Callable[[], Any]]:
        """Make the engine, and what makes readers for it."""
        from kcli.core.capture.engine import CaptureEngine
        from kcli.core.capture.packets import PacketReader

        text = self.text and self.chosen.where is None
        engine = CaptureEngine(self, ports, text, self.chosen if text else ALL, self.memory)
        return engine, partial(PacketReader, self.add_secrets)

    @cached_property
    def keys(self) -> KeyLog:
        """The secrets of all TLS connections. InputError: a key log can't be read, or is none."""
        from kcli.capture.tls.keylog import KeyLog  # most captures need none

        return KeyLog(self.key_logs)

    def add_secrets(self, block: bytes) -> None:
        """Take in a part of a key log that stands in a capture."""
        self.keys.add(block)

    def connect(self, ends: tuple[str, str], client: int | None, started: tuple[bool, bool]) -> TlsLayer:
        """Make what reads a connection that the engine does not read by itself."""
        return self.layer(ends, client, started)

    def layer(self, ends: tuple[str, str], client: int | None, started: tuple[bool, bool]) -> TlsLayer:
        """A connection, and what stands between it and TCP."""
        from kcli.capture.kafka.connection import CapturedConnection  # most captures need none
        from kcli.capture.tls.layer import TlsLayer

        make = partial(CapturedConnection, ends, client, started, self.bodies, self.receive)
        return TlsLayer(make, started, self.keys, self.tally.add_decrypted)

    def exchanged(self, link: bytes, *exchange: Any) -> None:
        """Take an exchange that the engine read by itself; see `exchange_of`."""
        self.receive(self.exchange_of(link, *exchange))

    def receive(self, item: Item) -> None:
        """Take what came out as a value."""
        self.tally.add(item)
        if self.feed is None:
            self.emit(item)
        else:
            self.feed.put(item)

    def exchange_of(
        self,
        link: bytes,
        _key: int,
        _version: int,
        ns: int,
        request: bytes,
        answered: int | None,
        response: bytes | None,
        timing: tuple[Any, ...] = UNTIMED,
    ) -> Exchange:
        """An exchange out of the core's values: times in ns, frames without their length."""
        server, _, client = link.decode().partition("-")
        return Exchange(Link(server, client), ns, request, answered, response, self.bodies, Timing(*timing))

    def emit(self, item: Item) -> None:
        """Take an exchange or event for which the filter's condition holds: keep the value, or write its line."""
        if not self.text:
            self.items.append(item)
            return
        filtered = not self.takes_all
        if filtered and isinstance(item, Exchange) and not teaches(item) and not self.chosen.fits_header(item):
            return
        line = item.line()  # topic names are learnt also from what is not wanted
        if filtered and not self.chosen.wants(item):
            return
        if isinstance(item, Exchange):
            line = b"".join(failure.line() for failure in item.failures) + line
        self.put_line(line, isinstance(item, Exchange))

    def put_line(self, line: bytes, exchange: bool) -> None:
        """Put a line, of an exchange or an event, behind those that the engine has written."""
        self.kept += exchange
        self.engine.write(line)

    @property
    def passed(self) -> int:
        """How many exchanges passed the filter, as lines or values."""
        return self.kept + int(getattr(self.engine, "kept", 0))

    def push(self, rows: Iterable[Row]) -> list[Item]:
        """Feed packets that somebody else read, in order of time; what came out of them."""
        for row in rows:
            self.engine.push(row.data, row.ns, row.link, row.length)
        return self.taken()

    def finish(self) -> list[Item]:
        """The end of the packets that were pushed."""
        self.engine.finish()
        return self.taken()

    def taken(self) -> list[Item]:
        """What has come out and was not yet taken."""
        taken = self.items[:]
        self.items.clear()
        return taken

    def read(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """Read the files piece by piece; what comes out goes to `emit`. InputError at the end for damaged files."""
        try:
            enter = self.enter if self.feed is None else self.feed.enter
            for _ in drive(self.paths, self.engine, self.new_reader, self.receive, moved, enter):
                if self.feed is not None:
                    self.feed.flush()
                yield
        finally:
            self.tally.add_steady(self.engine)

    def meet(self, connection: str) -> None:
        """Note a connection that a condition will be asked about, whether it holds or not."""

    def overlook(self, item: Exchange) -> None:
        """Take an exchange of an API in `overhears` for which the condition does not hold."""

    def enter(self, number: int) -> None:
        """The next packets are those of another file."""
        self.number = number

    @property
    def file_name(self) -> str:
        """The file whose packets go through."""
        return self.entered_names[self.number]

    @staticmethod
    def learn_names(item: Item) -> None:
        """Learn the topic names that an exchange has, whether it is wanted or not."""
        if isinstance(item, Exchange) and teaches(item):
            _ = item.request, item.response

    def pieces(self, moved: Callable[[int], None] = lambda count: None) -> Iterator[list[Item]]:
        """What came out of each piece of the files, in order. InputError at the end for damaged files."""
        for _ in self.read(moved):
            if self.items:
                yield self.taken()

    def wanted(self, moved: Callable[[int], None] = lambda count: None) -> Iterator[list[Item]]:
        """The same, but only what passes the filter. An exchange's own events are in its `failures`."""
        for items in self.pieces(moved):
            for item in items:
                self.learn_names(item)
            found = items if self.takes_all else [item for item in items if self.chosen.wants(item)]
            self.kept += sum(isinstance(item, Exchange) for item in found)
            yield found

    def lines(
        self,
        write: Callable[[memoryview], Any],
        moved: Callable[[int], None] = lambda count: None,
        flush: Callable[[], None] | None = None,
    ) -> None:
        """Write everything as lines of JSON, and `flush` after each piece of the files: what was written is valid until
        then. InputError at the end for damaged files."""
        with contextlib.closing(self.read(moved)) as pieces:  # counted also where writing fails
            for _ in pieces:
                self.engine.drain_text(write)
                if flush is not None:
                    flush()


def with_failures(item: Item) -> Iterator[Item]:
    """An exchange behind the events about its own bodies, which are decoded here; an event as it is."""
    if isinstance(item, Exchange):
        _ = item.request, item.response
        yield from item.failures
    yield item


def teaches(item: Exchange) -> bool:
    """Whether topics' names may be learnt from an exchange."""
    return item.bodies.teaches(item.api_key, item.api_version)
