"""Exchanges and events out of capture files: `read` for values, `Lines` for JSON text at full speed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kcli.capture.bodies import Bodies
from kcli.capture.connection import Connection
from kcli.capture.events import Event, Exchange, Link
from kcli.capture.files import drive
from kcli.capture.filters import Filter
from kcli.capture.ranges import Row
from kcli.capture.tally import Tally
from kcli.core import COMPILED

__all__ = ["Event", "Exchange", "Item", "Source", "read"]

Item = Exchange | Event
ALL = Filter()


class Source:
    """A capture in one or more files, on its way through: its engine, and what has come out and was not yet taken.

    text: exchanges and events become lines of JSON (`lines`), else values (`pieces`). names: values too show a topic's
    name beside its id, as `_topicName`. chosen: which lines are wanted.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        ports: Sequence[int] = (),
        dialect: str | None = None,
        records: str = "none",
        text: bool = False,
        names: bool = True,
        chosen: Filter = ALL,
    ) -> None:
        self.paths = paths
        self.chosen = chosen
        self.bodies = Bodies(dialect, records, names)
        self.items: list[Item] = []
        self.text = text
        self.tally = Tally()
        self.engine, self.new_reader = self.choose_engine(ports)

    def choose_engine(self, ports: Sequence[int]) -> tuple[Any, Callable[[], Any]]:
        if COMPILED:
            from kcli.core.capture import Engine
            from kcli.core.packets import Reader

            return Engine(self, ports, self.text, self.chosen), Reader
        from kcli.capture import engine, packets

        return engine.Engine(self, ports, self.text, self.chosen), packets.Reader

    def connect(self, ends: tuple[str, str], client: int | None, started: tuple[bool, bool]) -> Connection:
        self.tally.mid_stream += not all(started)
        return Connection(ends, client, started, self.bodies, self.emit)

    def exchanged(
        self, ends: tuple[str, str], client: int, ns: int, request: bytes, answered: int | None, response: bytes | None
    ) -> None:
        """An exchange that the engine read by itself."""
        self.emit(Exchange(Link(ends[1 - client], ends[client]), ns, request, answered, response, self.bodies))

    def emit(self, item: Item) -> None:
        self.tally.add(item)
        if not self.text:
            self.items.append(item)
            return
        line = item.line()  # topic names are learnt also from what is not wanted
        if not self.chosen.wants(item):
            return
        if isinstance(item, Exchange):
            line = b"".join(failure.line() for failure in item.failures) + line
        self.engine.write(line)

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
        taken = self.items[:]
        self.items.clear()
        return taken

    def pieces(self, moved: Callable[[int], None] = lambda count: None) -> Iterator[list[Item]]:
        """What came out of each piece of the files, in order. InputError at the end for damaged files."""
        for _ in drive(self.paths, self.engine, self.new_reader, self.emit, moved):
            if self.items:
                yield self.taken()
        self.tally.add_steady(self.engine)

    def lines(
        self,
        write: Callable[[memoryview], Any],
        moved: Callable[[int], None] = lambda count: None,
        flush: Callable[[], None] | None = None,
    ) -> None:
        """Write everything as lines of JSON; `flush` after each piece. InputError at the end for damaged files."""
        try:
            for _ in drive(self.paths, self.engine, self.new_reader, self.emit, moved):
                self.engine.drain_text(write)
                if flush is not None:
                    flush()
        finally:
            self.tally.add_steady(self.engine)


def read(
    paths: Sequence[str],
    *,
    ports: Sequence[int] = (),
    dialect: str | None = None,
    records: str = "none",
    names: bool = True,
) -> Iterator[Item]:
    """Every exchange and event of the captures, read as one, in the order in which they complete.

    paths: files in any order, "-" for standard input. ports: of servers; connections without one are left out. dialect:
    laid over the tables. records: of `Exchange.line`. names: see `Source`. An exchange's undecodable bodies are None,
    with events before it.
    Raises InputError at the end, when all that could be read was, for files that are no captures or damaged.
    """
    for items in Source(paths, ports=ports, dialect=dialect, records=records, names=names).pieces():
        for item in items:
            if isinstance(item, Exchange):
                _ = item.request, item.response
                yield from item.failures
            yield item
