"""The topics in a capture, and their record batches, which are kept in a temporary file."""

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
    """A batch in the temporary file. first, last: its offsets; certain: it was certainly stored in this magic."""

    first: int
    last: int
    magic: int
    position: int
    size: int
    certain: bool


@dataclass
class SeenPartition:
    """A partition in a capture. start, end: of the log at the capture's end; earliest: the first known start.

    leaders: by leader epoch; epochs: the leader epochs, ascending; replicas: the last known ones; batches: by (magic,
    last offset); cut: batches of which only the beginning was captured, by first offset; holes: ranges (first, end)
    without records between two batches of one response.
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
        """The first leader epoch, 0 if the capture shows none."""
        return self.epochs[0] if self.epochs else 0

    @property
    def epoch(self) -> int:
        """The last leader epoch, 0 if the capture shows none."""
        return self.epochs[-1] if self.epochs else 0

    @property
    def leader(self) -> int:
        """The last leader's node id, -1 if the capture does not show it."""
        return self.leaders.get(self.epoch, -1)

    def lead(self, epoch: int, node: int) -> None:
        """Set the leader of an epoch."""
        if node >= 0 and epoch >= 0:
            if epoch not in self.leaders:
                insort(self.epochs, epoch)
            self.leaders[epoch] = node

    def in_order(self) -> Iterator[SpooledBatch]:
        """Yield the batches of the log in order of offsets. If the same records were captured in several forms (some of
        them down-converted), the certain form is chosen, else the newest magic.
        """
        chosen: list[SpooledBatch] = []
        for each in sorted(self.batches.values(), key=lambda one: (not one.certain, -one.magic, one.first)):
            at = bisect_left(chosen, each.first, key=lambda one: one.last)
            if at == len(chosen) or chosen[at].first > each.last:
                chosen.insert(at, each)
        yield from chosen


@dataclass
class SeenTopic:
    """A topic in the capture. name: its id as long as the name is unknown."""

    name: str
    topic_id: str | None = None
    partitions: dict[int, SeenPartition] = field(default_factory=dict)

    def partition(self, index: int) -> SeenPartition:
        """Return the partition with this index; add an empty one if it is new."""
        return self.partitions.setdefault(index, SeenPartition())


class BatchSpool:
    """A temporary file of batches, so that only their positions are in memory."""

    def __init__(self) -> None:
        self._file = temporary_file()  # closed by `close`
        self._size = 0

    def keep(self, partition: SeenPartition, batches: Iterable[tuple[Incoming, bytes]], certain: int = -1) -> None:
        """Add batches to a partition. certain: batches up to this magic were certainly stored in it."""
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
        """Close the file, which deletes it."""
        self._file.close()


def offsets_of(each: Incoming, data: bytes) -> tuple[int, int]:
    """Return the first and the last offset of a batch, or of the messages in a compressed wrapper (magic 0 and 1)."""
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
    """Add everything that was captured of a topic under another name."""
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
