"""The order in which captured logs took writes: by the offsets in responses to Produce.

Of two requests on their way at once, the times of a capture do not tell which one a partition took first; the offsets
in their answers do. The mark that ends a transaction stands where none of the captured batches does.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.record_fields import record_fields
from kcli.replay.produced_batches import counted
from kcli.schemas.apikeys import END_TXN, PRODUCE
from kcli.sessions.trace import Key

MOST = 100_000  # appends that are remembered


@dataclass(eq=False)
class Write:
    """A request that appends to partitions. places: the offset of the appended records, by partition.

    done: its live answer has come, or none will. last: of the end of a transaction, where its last batches begin.
    """

    connection: str
    places: dict[Key, int] = field(default_factory=dict)
    last: dict[Key, int] = field(default_factory=dict)
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Append(NamedTuple):
    """An append to a partition, at offsets from `start` to below `end`."""

    start: int
    end: int
    write: Write


START = attrgetter("start")


class Log:
    """The appends of a captured partition, by offset.

    marks: what of it ends transactions. ends: of which the offset is not known yet, in the order of their answers.
    """

    def __init__(self, place: Key) -> None:
        self.place = place
        self.appends: list[Append] = []
        self.marks: list[Append] = []
        self.ends: list[Write] = []

    def before(self, start: int) -> Append | None:
        """Return the latest append before that offset."""
        at = bisect_left(self.appends, start, key=START)
        return self.appends[at - 1] if at else None

    def marked_after(self, start: int) -> Iterator[Append]:
        """Return the ends of transactions behind an offset."""
        return (each for each in self.marks if each.start > start)

    @property
    def end(self) -> int:
        """Return the offset behind all that it took."""
        return self.appends[-1].end if self.appends else 0

    def settle(self, until: int) -> Iterator[Append]:
        """Give offsets below `until` that no batch has to the transactions that end there."""
        if not self.ends:
            return
        first = bisect_left(self.appends, min(each.last[self.place] for each in self.ends), key=START)
        gaps = [(one.end, other.start) for one, other in pairwise(self.appends[first:]) if one.end < other.start]
        for start, end in gaps:
            for offset in range(start, min(end, until, start + len(self.ends))):
                write = next((each for each in self.ends if each.last[self.place] < offset), None)
                if write is not None:
                    yield self.mark(offset, write)

    def mark(self, offset: int, write: Write) -> Append:
        """Give the end of a transaction its offset."""
        self.ends.remove(write)
        write.places[self.place] = offset
        made = Append(offset, offset + 1, write)
        insort(self.marks, made, key=START)
        return made


class Appends:
    """The order of one replay's writes. It reads ahead of the requests that are made again.

    Of more writes than it remembers, and of what Produce with acks=0 appends, it does not know the place.
    """

    def __init__(self) -> None:
        self.logs: dict[Key, Log] = {}
        self.writes: dict[int, Write] = {}  # by the identity of an exchange that is still to be made again
        self.open: dict[str, dict[Key, int]] = {}  # by transactional id: where the last batches begin
        self.remembered: deque[tuple[Log, Append]] = deque()

    def watch(self, exchanges: Iterable[Exchange]) -> Iterator[Exchange]:
        """Yield the same exchanges, in the order of their answers; each is learnt from as it passes."""
        for each in exchanges:
            if each.response_frame is not None:
                if each.api_key == PRODUCE:
                    self.take_batches(each)
                elif each.api_key == END_TXN and not each.errors:
                    self.take_end(each)
            yield each

    def take_batches(self, exchange: Exchange) -> None:
        """Learn where a Produce appended."""
        write, transaction = Write(exchange.connection), exchange.request.get("transactionalId")
        for each in record_fields(exchange):
            if each.base_offset is not None:
                place = each.label, each.partition
                write.places[place] = each.base_offset
                self.put(self.log(place), Append(each.base_offset, each.base_offset + counted(each.data), write))
                if transaction:
                    self.open.setdefault(transaction, {})[place] = each.base_offset
        if write.places:
            self.writes[id(exchange)] = write

    def take_end(self, exchange: Exchange) -> None:
        """Learn in which partitions a transaction ended."""
        last = self.open.pop(exchange.request["transactionalId"], None)
        if last:
            write = self.writes[id(exchange)] = Write(exchange.connection, last=last)
            for place in last:
                self.log(place).ends.append(write)

    def log(self, place: Key) -> Log:
        """Return the state of a partition."""
        return self.logs.setdefault(place, Log(place))

    def put(self, log: Log, append: Append) -> None:
        """Take in an append; the oldest of too many is forgotten."""
        insort(log.appends, append, key=START)
        self.remembered.append((log, append))
        if len(self.remembered) > MOST:
            log, append = self.remembered.popleft()
            log.appends.remove(append)
            if append in log.marks:
                log.marks.remove(append)

    def write_of(self, exchange: Exchange) -> Write | None:
        """Return the records that the next exchange appends; None: nothing that is known."""
        write = self.writes.pop(id(exchange), None)
        if write is None:
            return None
        for place in write.last or write.places:
            log = self.log(place)
            for made in log.settle(write.places.get(place, log.end)):
                self.put(log, made)
            if place not in write.places:  # no gap is left for it: it ends behind all batches
                self.put(log, log.mark(log.end, write))
        return write

    def first(self, write: Write) -> list[asyncio.Future[None]]:
        """Return the writes that come directly before this one in a partition, and not on its connection."""
        found = (self.logs[place].before(start) for place, start in write.places.items())
        return [each.write.done for each in found if each is not None and each.write.connection != write.connection]

    def later(self, write: Write) -> set[asyncio.Future[None]]:
        """Return the ends of transactions that come behind this write in a partition: it does not wait for them."""
        return {
            mark.write.done for place, start in write.places.items() for mark in self.logs[place].marked_after(start)
        }
