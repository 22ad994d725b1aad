"""The evidence that one pass over a snapshot or metadata log segment collects, for the rules of `verify` to judge.

Lists are bounded (`Noted`), so that a file with a million faults takes no more memory than a sound one.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kcli.records.control import CONTROL_TYPES
from kcli.schemas.field_codes import ControlType
from kcli.snapshots.image.partitions import PartitionTable
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.framing import Batch, Fault
from kcli.snapshots.reading.names import SnapshotName
from kcli.snapshots.reading.walk import Row

MOST = 100  # items of a kind


class Noted:
    """Keeps the first MOST items, and counts all. `len` returns the number of all."""

    def __init__(self) -> None:
        self.items: list[tuple[Any, ...]] = []
        self.count = 0

    def add(self, *item: Any) -> None:
        """Count an item, and keep it if there is room."""
        self.count += 1
        if len(self.items) < MOST:
            self.items.append(item)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.items)

    def __len__(self) -> int:
        return self.count


@dataclass(frozen=True, slots=True)
class Control:
    """A control record. batch: index of its batch; place: its index in the batch; value: None if it can't be read, with
    the reason.
    """

    offset: int
    batch: int
    place: int
    kind: int | None
    key_version: int | None
    value: dict[str, Any] | None
    reason: str = ""

    @property
    def name(self) -> str:
        """The type of the control record, "SNAPSHOT_HEADER"."""
        return CONTROL_TYPES.get(self.kind, f"control type {self.kind}") if self.kind is not None else "control record"


@dataclass(slots=True)
class Evidence:
    """The evidence of one file.

    file, size (bytes), name (of a snapshot, None for others), base (in a segment's name) Framing: fault; batches
    (count); first, last (batch headers); control_batches (indices); data_after (index of the first data batch after a
    control batch that is not the first batch)

    Noted: bad_checksums (position, stored, computed), gaps (position, expected offset, offset), counts (position,
    record count, offsets spanned), magics (position, magic), epochs_back (position, epoch before, epoch), unopened
    (position, reason), odd (offset, key, problem), undecoded (offset, key, version, reason), duplicates (offset, key,
    what), repeats (offset of a repeated TopicRecord, topic), strays (offset of a config, topic)

    epochs: {partitionLeaderEpoch: its first batch}; epoch_lasts: {epoch: its last batch}, if another epoch follows
    compressed: {codec: position of the first batch}; types: {(apiKey, version): [count, first offset]} unknown_tags:
    offsets of records with unknown tagged fields, at most MOST

    ends: {offset looked up: header of the batch that holds the record before it}, of a log segment timed: {(time looked
    up, epoch): base offset of its last batch with that time}

    brokers, controllers: {id: record}; features: {name: level}; topics: {id as bytes: (name, offset)} partitions: the
    closed PartitionTable; rescan: reads the file's records again
    """

    file: str
    size: int
    name: SnapshotName | None = None
    base: int | None = None
    fault: Fault | None = None
    batches: int = 0
    first: Batch | None = None
    last: Batch | None = None
    control_batches: list[int] = field(default_factory=list)
    data_after: int | None = None
    bad_checksums: Noted = field(default_factory=Noted)
    gaps: Noted = field(default_factory=Noted)
    counts: Noted = field(default_factory=Noted)
    magics: Noted = field(default_factory=Noted)
    epochs_back: Noted = field(default_factory=Noted)
    unopened: Noted = field(default_factory=Noted)
    malformed: Noted = field(default_factory=Noted)
    undecoded: Noted = field(default_factory=Noted)
    duplicates: Noted = field(default_factory=Noted)
    repeats: Noted = field(default_factory=Noted)
    strays: Noted = field(default_factory=Noted)
    epochs: dict[int, Batch] = field(default_factory=dict)
    epoch_lasts: dict[int, Batch] = field(default_factory=dict)
    compressed: dict[str, int] = field(default_factory=dict)
    controls: list[Control] = field(default_factory=list)
    types: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    unknown_tags: list[int] = field(default_factory=list)
    ends: dict[int, Batch] = field(default_factory=dict)
    timed: dict[tuple[int, int], int] = field(default_factory=dict)
    brokers: dict[int, dict[str, Any]] = field(default_factory=dict)
    controllers: dict[int, dict[str, Any]] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    topics: dict[bytes, tuple[str, int]] = field(default_factory=dict)
    partitions: PartitionTable = field(default_factory=lambda: PartitionTable(references=True, changes=True))
    rescan: Callable[[], Iterable[tuple[Row, memoryview]]] = lambda: ()
    decoder: Decoder = field(default_factory=Decoder)

    @property
    def is_snapshot(self) -> bool:
        """Return whether the file is a snapshot, by its name or by its first control record."""
        return self.name is not None or any(each.kind == ControlType.SNAPSHOT_HEADER for each in self.controls[:1])

    @property
    def logged_at(self) -> int | None:
        """The timestamp (ms) of the last log record in a snapshot, from its header; None without a header."""
        found = next((each.value for each in self.controls[:1] if each.kind == ControlType.SNAPSHOT_HEADER), None)
        return found["lastContainedLogTimestamp"] if found else None

    def last_of(self, epoch: int) -> Batch | None:
        """Return the last batch of a leader epoch; None if the file has none."""
        if self.last is not None and self.last.leader_epoch == epoch:
            return self.last
        return self.epoch_lasts.get(epoch)

    @property
    def end_offset(self) -> int | None:
        """The offset after the last batch; None without batches."""
        return None if self.last is None else self.last.last_offset + 1
