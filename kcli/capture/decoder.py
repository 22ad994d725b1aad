"""Decodes capture files: `decode` passes their exchanges and events to a `Sink`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from kcli.capture.captured_time import CapturedTime
from kcli.capture.counters import Tally
from kcli.capture.filters import ALL, Filter, count_ids, nameless_in
from kcli.capture.handover import Handover
from kcli.capture.io.files import drive
from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.exchange import Exchange, Item, learn_names
from kcli.capture.sinks import Sink
from kcli.core.codec.sink import Sink as CompiledSink
from kcli.filelike import Stream, name_of

MEMORY = 1 << 28  # bytes held for connections: packets out of order, partial frames, unanswered requests
S = TypeVar("S", bound=Sink)


class ExchangeFeed(Protocol):
    """Tests the filter's condition on exchanges and events before they reach a decoder's `deliver`."""

    as_text: bool

    @property
    def compiled(self) -> CompiledSink:
        """The part that receives exchanges within the core."""

    def put(self, item: Item) -> None:
        """Take an exchange or event as a value."""

    def enter(self, number: int) -> None:
        """Note that the next packets are those of another file."""

    def flush(self) -> None:
        """Pass on everything."""


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """The options of reading captures.

    ports: server ports; connections without one of these are left out. dialect: the message definitions laid over
    Kafka's own. records: how much lines show of records fields. names: values also have a topic's name beside its id,
    as `_topicName`. chosen: the filter of exchanges and events. secrets: lines and `Exchange.texts` show secrets.
    memory: the most bytes held for connections; beyond it data is dropped, with events. key_logs: files with the
    secrets of TLS connections. to_brokers: all servers are brokers, like those at `ports`, so a client without a valid
    request still counts as Kafka's.
    """

    ports: Sequence[int] = ()
    dialect: str | None = None
    records: str = "none"
    names: bool = True
    chosen: Filter = ALL
    secrets: bool = False
    memory: int = MEMORY
    key_logs: Sequence[str] = ()
    to_brokers: bool = False


DEFAULTS = DecodeOptions()


class CaptureDecoder(Generic[S]):
    """Decodes a capture in one or more files through the core into a sink.

    tally, engine: counts of the contents. pauses: times between files, see `time`. number: the current file's number.
    feed: tests the filter's condition.
    """

    feed: ExchangeFeed | None

    def __init__(self, paths: Sequence[str | Stream], sink: S, options: DecodeOptions = DEFAULTS) -> None:
        """Prepare to decode. Raises InputError for a key log that cannot be read."""
        self.paths, self.sink, self.options = paths, sink, options
        self.file_names = tuple(map(name_of, paths))
        self.entered_names = [name_of(path) for path in dict.fromkeys(paths)]
        self.chosen, self.takes_all = options.chosen, options.chosen.takes_all
        self.but_for_topic = replace(options.chosen, topic=None)
        self.begin()

    def begin(self) -> None:
        """Reset the decoder to before the first packet."""
        options, sink = self.options, self.sink
        self.number = 0
        self.pauses: list[tuple[int, int]] = []
        self.bodies = Bodies(options.dialect, options.records, options.names, options.secrets)
        self.tally = Tally()
        to_brokers = options.to_brokers or bool(options.ports)
        self.handover = Handover(self.bodies, self.tally, options.key_logs, self.receive, to_brokers=to_brokers)
        sink.begin(self)
        self.feed = None
        if self.chosen.where is not None and not sink.asks_condition:
            from kcli.capture.tables.conditions import ConditionalFeed

            self.feed = ConditionalFeed(self)
        self.engine, self.new_reader = new_engine(self.handover, self.feed or sink, sink.connection_end, options)

    def read(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """Read the files piece by piece into the sink.

        moved: called with the number of bytes read. Raises InputError at the end for damaged files.
        """
        for _ in self.pieces(moved):
            self.sink.pause()
            yield

    def pieces(self, moved: Callable[[int], None]) -> Generator[None, None, None]:
        """Read the files piece by piece, as `read` does, without `sink.pause`."""
        try:
            enter = self.enter if self.feed is None else self.feed.enter
            for _ in drive(self.paths, self.engine, self.new_reader, self.receive, moved, enter, self.pause):
                if self.feed is not None:
                    self.feed.flush()
                yield
        finally:
            self.tally.add_steady(self.engine)

    def receive(self, item: Item) -> None:
        """Take an exchange or event as a value."""
        self.tally.add(item)
        if self.feed is None:
            self.deliver(item)
        else:
            self.feed.put(item)

    def deliver(self, item: Item) -> None:
        """Pass an exchange or event to the sink if it passes the filter; its condition has been tested before."""
        sink = self.sink
        if item.connection is not None:
            sink.connection(item.connection)
        if sink.learns or not self.takes_all:
            learn_names(item)
        if not self.takes_all and not self.chosen.wants(item):
            self.note_nameless(item)
            sink.overlook(item)
        elif isinstance(item, Exchange):
            sink.exchange(item)
        else:
            sink.event(item)

    def note_nameless(self, item: Item) -> None:
        """Count an exchange that the topic filter leaves out because nothing has named its topic id yet."""
        if isinstance(item, Exchange) and self.chosen.topic is not None and self.chosen.fits_header(item):
            count_ids(self.tally.nameless, self.nameless_in(item))

    def nameless_in(self, exchange: Exchange) -> frozenset[str]:
        """Return the topic ids without a name in an exchange whose bodies pass the filter apart from the topic."""
        if self.chosen.topic is None or not self.but_for_topic.fits_bodies(exchange):
            return frozenset()
        return nameless_in(exchange.request, exchange.response)

    def enter(self, number: int) -> None:
        """Note that the next packets are those of another file."""
        self.tell_file(number, self.last_ns)

    def tell_file(self, number: int, last_ns: int | None = None) -> None:
        """Tell the sink a file; see `Sink.next_file`."""
        self.number = number
        self.sink.next_file(number, last_ns)

    @property
    def last_ns(self) -> int:
        """The time (ns) of the latest packet; -1: there was none."""
        return -1 if self.engine.first_ns is None else self.engine.last_ns

    def pause(self, until: int) -> None:
        """Note that nothing was captured between the packets so far and those of the next file."""
        if self.engine.first_ns is not None and self.engine.last_ns < until:
            self.pauses.append((self.engine.last_ns, until))

    @property
    def time(self) -> CapturedTime:
        """The captured time so far."""
        return CapturedTime(self.engine.first_ns, self.engine.last_ns, self.pauses)

    @property
    def file_name(self) -> str:
        """The current file."""
        return self.entered_names[self.number]

    @property
    def passed(self) -> int:
        """The number of exchanges that passed the filter."""
        return self.sink.passed


def decode(
    paths: Sequence[str | Stream],
    sink: S,
    options: DecodeOptions = DEFAULTS,
    moved: Callable[[int], None] = lambda count: None,
) -> CaptureDecoder[S]:
    """Read captures as one, in order of time, into a sink. Raises InputError at the end for damaged files."""
    made = CaptureDecoder(paths, sink, options)
    for _ in made.read(moved):
        pass
    return made


def new_engine(
    handover: Handover,
    sink: Sink | ExchangeFeed,
    connection_end: Callable[[str, int, int], None] | None,
    options: DecodeOptions,
) -> tuple[Any, Callable[[], Any]]:
    """Return the core's engine, and a function that makes packet readers for it."""
    from kcli.core.capture.engine import CaptureEngine
    from kcli.core.capture.packets import PacketReader

    chosen = options.chosen if sink.as_text else ALL
    engine = CaptureEngine(handover, options.ports, sink.as_text, chosen, options.memory, sink.compiled, connection_end)
    return engine, partial(PacketReader, handover.add_secrets)


def with_failures(item: Item) -> Iterator[Item]:
    """Yield an exchange after the events about its bodies, which are decoded here; yield an event alone."""
    if isinstance(item, Exchange):
        _ = item.request, item.response
        yield from item.failures
    yield item
