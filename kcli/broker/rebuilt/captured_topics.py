"""The topics that a capture shows, and the record batches seen in it, which wait in a temporary file."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kcli.broker.rebuilt.record_spans import LAST_END, CutBatch
from kcli.broker.storage.incoming import LONGEST_SET, Incoming
from kcli.core.records import batches as core
from kcli.errors import InputError
from kcli.temporary import temporary_file


class SpooledBatch(NamedTuple):
    """A batch in the temporary file. first, last: its offsets; certain: this is how it was stored."""

    first: int
    last: int
    magic: int
    position: int
    size: int
    certain: bool


@dataclass
class SeenPartition:
    """start, end: the offsets the log is known to have in the end; earliest: its first start.

    leaders: by leader epoch; epochs: these, rising; replicas: nodes that hold it, as far as is known; batches: by magic
    and last offset; cut: batches of which only the beginning was seen, by first offset; holes: offsets without records,
    (first, end) between two batches of one answer
    """

    start: int = 0
    end: int = 0
    earliest: int | None = None
    leaders: dict[int, int] = field(default_factory=dict)
    replicas: tuple[int, ...] = ()
    batches: dict[tuple[int, int], SpooledBatch] = field(default_factory=dict)
    cut: dict[int, CutBatch] = field(default_factory=dict)
    holes: list[tuple[int, int]] = field(default_factory=list)
    epochs: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.epochs = sorted(self.leaders)

    @property
    def first_epoch(self) -> int:
        """The first leader epoch, 0 where the capture shows none."""
        return self.epochs[0] if self.epochs else 0

    @property
    def epoch(self) -> int:
        """The last leader epoch."""
        return self.epochs[-1] if self.epochs else 0

    @property
    def leader(self) -> int:
        """The node that leads in the end, -1 where the capture does not show it."""
        return self.leaders.get(self.epoch, -1)

    def lead(self, epoch: int, node: int) -> None:
        """Note that a node leads from this epoch on."""
        if node >= 0 and epoch >= 0:
            if epoch not in self.leaders:
                insort(self.epochs, epoch)
            self.leaders[epoch] = node

    def in_order(self) -> Iterator[SpooledBatch]:
        """Yield the batches that make up the log. Of the same records in several forms (down-converted, or one by one),
        the form that is certain counts, else the newest magic.
        """
        chosen: list[SpooledBatch] = []
        for each in sorted(self.batches.values(), key=lambda one: (not one.certain, -one.magic, one.first)):
            at = bisect_left(chosen, each.first, key=lambda one: one.last)
            if at == len(chosen) or chosen[at].first > each.last:
                chosen.insert(at, each)
        yield from chosen


@dataclass
class SeenTopic:
    """A topic of the capture, by name or, as long as none is known, by id."""

    name: str
    topic_id: str | None = None
    partitions: dict[int, SeenPartition] = field(default_factory=dict)

    def partition(self, index: int) -> SeenPartition:
        """Return the partition of this index; make an empty one if it is new."""
        return self.partitions.setdefault(index, SeenPartition())


class BatchSpool:
    """Batches in a temporary file: memory holds their places only."""

    def __init__(self) -> None:
        self._file = temporary_file()  # closed by `close`
        self._size = 0

    def keep(self, partition: SeenPartition, batches: Iterable[tuple[Incoming, bytes]], certain: int = -1) -> None:
        """Add batches to a partition; certain: the newest magic of which it is certain that they were stored in it."""
        for each, data in batches:
            first, last = offsets_of(each, data)
            if not 0 <= first <= last < LAST_END:
                continue
            known = partition.batches.get((each.head.magic, last))
            spooled = SpooledBatch(first, last, each.head.magic, self._size, len(data), each.head.magic <= certain)
            if known is None or (spooled.certain and not known.certain):
                partition.batches[each.head.magic, last] = spooled
                self._file.seek(self._size)
                self._size += self._file.write(data)
            partition.end = max(partition.end, last + 1)

    def read(self, each: SpooledBatch) -> bytes:
        """Read the bytes of a batch."""
        self._file.seek(each.position)
        return self._file.read(each.size)

    def close(self) -> None:
        """Delete the file."""
        self._file.close()


def offsets_of(each: Incoming, data: bytes) -> tuple[int, int]:
    """Return the first and the last offset of a batch, or of the messages in a wrapper."""
    head, last = each.head, int.from_bytes(data[:8], "big")
    if head.magic == 2:
        return last, last + head.last_offset - head.base_offset
    if not head.codec or head.payload is None:
        return last, last
    from kcli.records.codecs import decompress

    try:
        inner = bytes(decompress(head.codec, head.payload, head.magic, LONGEST_SET))
    except InputError:
        return last, last
    rows, _, _ = core.frames(inner, 0, False)
    return (last - rows[-1][4] + rows[0][4] if rows else last), last


def merge(into: SeenTopic, other: SeenTopic) -> None:
    """Add the parts of a topic seen under another name."""
    for index, each in other.partitions.items():
        known = into.partition(index)
        known.start, known.end = max(known.start, each.start), max(known.end, each.end)
        starts = [start for start in (known.earliest, each.earliest) if start is not None]
        known.earliest = min(starts, default=None)
        for epoch in each.leaders.keys() - known.leaders.keys():
            known.lead(epoch, each.leaders[epoch])
        known.replicas = known.replicas or each.replicas
        known.batches = known.batches | each.batches
        known.cut = each.cut | known.cut
        known.holes += each.holes
