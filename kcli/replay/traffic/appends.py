"""The order in which captured logs were written, from the offsets in responses to Produce.

If two requests were sent before either was answered, the times of a capture do not show which one a partition appended
first, but the offsets in their responses do. The marker that ends a transaction has an offset that no captured batch
has.
"""

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
from kcli.sessions.fetch_exchange import Key

MOST = 100_000  # the most appends that are remembered


@dataclass(eq=False)
class Write:
    """A request that appends to partitions. places: {partition: offset of the appended records}.

    done: set when its live response has come, or none will; last: of the end of a transaction, {partition: offset of
    the transaction's last batch}
    """

    connection: str
    places: dict[Key, int] = field(default_factory=dict)
    last: dict[Key, int] = field(default_factory=dict)
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Append(NamedTuple):
    """An append to a partition. start, end: its offsets, from `start` to below `end`."""

    start: int
    end: int
    write: Write


START = attrgetter("start")


class Log:
    """The appends of a captured partition, by offset.

    marks: the markers of transactions among them; ends: markers without a known offset, in the order of their responses
    """

    def __init__(self, place: Key) -> None:
        self.place = place
        self.appends: list[Append] = []
        self.marks: list[Append] = []
        self.ends: list[Write] = []

    def before(self, start: int) -> Append | None:
        """Return the last append before this offset; None if there is none."""
        at = bisect_left(self.appends, start, key=START)
        return self.appends[at - 1] if at else None

    def marked_after(self, start: int) -> Iterator[Append]:
        """Return the markers of transactions after an offset."""
        return (each for each in self.marks if each.start > start)

    @property
    def end(self) -> int:
        """Return the offset after all appends."""
        return self.appends[-1].end if self.appends else 0

    def settle(self, until: int) -> Iterator[Append]:
        """Assign offsets below `until` that no batch has to the markers of transactions, and yield these."""
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
        """Assign an offset to the marker of a transaction."""
        self.ends.remove(write)
        write.places[self.place] = offset
        made = Append(offset, offset + 1, write)
        insort(self.marks, made, key=START)
        return made


class Appends:
    """The order of one replay's writes. It reads ahead of the requests that are made again.

    It does not know the order of the oldest writes beyond MOST, nor of Produce with acks=0.
    """

    def __init__(self) -> None:
        self.logs: dict[Key, Log] = {}
        self.writes: dict[int, Write] = {}  # {id() of an exchange that is not made again yet: its write}
        self.open: dict[str, dict[Key, int]] = {}  # {transactional id: {partition: offset of its last batch}}
        self.remembered: deque[tuple[Log, Append]] = deque()

    def watch(self, exchanges: Iterable[Exchange]) -> Iterator[Exchange]:
        """Yield the same exchanges, which come in the order of their responses, and learn from each."""
        for each in exchanges:
            if each.response_frame is not None:
                if each.api_key == PRODUCE:
                    self.take_batches(each)
                elif each.api_key == END_TXN and not each.errors:
                    self.take_end(each)
            yield each

    def take_batches(self, exchange: Exchange) -> None:
        """Add the appends of a Produce."""
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
        """Add the markers of a transaction that ended, in each of its partitions."""
        last = self.open.pop(exchange.request["transactionalId"], None)
        if last:
            write = self.writes[id(exchange)] = Write(exchange.connection, last=last)
            for place in last:
                self.log(place).ends.append(write)

    def log(self, place: Key) -> Log:
        """Return the appends of a partition."""
        return self.logs.setdefault(place, Log(place))

    def put(self, log: Log, append: Append) -> None:
        """Add an append. Beyond MOST the oldest is dropped."""
        insort(log.appends, append, key=START)
        self.remembered.append((log, append))
        if len(self.remembered) > MOST:
            log, append = self.remembered.popleft()
            log.appends.remove(append)
            if append in log.marks:
                log.marks.remove(append)

    def write_of(self, exchange: Exchange) -> Write | None:
        """Return the write of an exchange; None if it is not known. An exchange can be passed once."""
        write = self.writes.pop(id(exchange), None)
        if write is None:
            return None
        for place in write.last or write.places:
            log = self.log(place)
            for made in log.settle(write.places.get(place, log.end)):
                self.put(log, made)
            if place not in write.places:  # no gap is left: the marker is after all batches
                self.put(log, log.mark(log.end, write))
        return write

    def first(self, write: Write) -> list[asyncio.Future[None]]:
        """Return the futures of writes directly before this one in a partition, except those on its own connection."""
        found = (self.logs[place].before(start) for place, start in write.places.items())
        return [each.write.done for each in found if each is not None and each.write.connection != write.connection]

    def later(self, write: Write) -> set[asyncio.Future[None]]:
        """Return the futures of transactions' ends after this write in a partition, for which it does not wait."""
        return {
            mark.write.done for place, start in write.places.items() for mark in self.logs[place].marked_after(start)
        }
