"""What a snapshot or metadata log segment gives away in one pass, for the rules of `verify` to judge.

Lists are bounded (`Noted`): a file that is wrong in a million places is as cheap to judge as a sound one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kcli.errors import DecodeError, InputError
from kcli.snapshots.decoding import CONTROL_TYPES, Decoder
from kcli.snapshots.framing import Batch, Fault, batches, checksum, release
from kcli.snapshots.keys import key_of
from kcli.snapshots.names import SnapshotName, parse_snapshot_name, segment_offset
from kcli.snapshots.partitions import PartitionTable, id_bytes
from kcli.snapshots.walk import SOFT, Row, opened, walk

__all__ = ["Control", "Evidence", "Noted", "examine"]

TOPIC, PARTITION, CONFIG = 2, 3, 4
MOST = 100


class Noted:
    """The first MOST of what was seen, and how many there were."""

    def __init__(self) -> None:
        self.items: list[tuple[Any, ...]] = []
        self.count = 0

    def add(self, *item: Any) -> None:
        """Count one more; the first few are kept."""
        self.count += 1
        if len(self.items) < MOST:
            self.items.append(item)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.items)

    def __len__(self) -> int:
        return self.count


@dataclass(frozen=True, slots=True)
class Control:
    """A control record: `batch` is its batch's index, `place` its own in there; value None where it can't be read."""

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
    """file, size (bytes), name (of a snapshot, None for others), base (in a segment's name)

    Framing: fault; batches (count); first, last (batch headers); control_batches (indices); data_after (index of the
    first data batch behind a control batch that is not the first batch)
    Noted: bad_checksums (position, stored, computed), gaps (position, expected offset, offset), counts (position,
    record count, offsets spanned), magics (position, magic), epochs_back (position, epoch before, epoch),
    unopened (position, reason), odd (offset, key, problem), undecoded (offset, key, version, reason),
    duplicates (offset, key, what), repeats (offset of a repeated TopicRecord, topic),
    strays (offset of a config, topic)
    epochs: {partitionLeaderEpoch: position of its first batch}; epoch_starts: [(epoch, its first offset)]
    compressed: {codec: position of the first batch}; timestamps: append timestamp of the last batch, ms
    types: {(apiKey, version): [count, first offset]}; unknown_tags: (count, first offset)
    brokers, controllers: {id: record}; features: {name: level}; topics: {id as bytes: (name, offset)}
    partitions: the closed PartitionTable; rescan: the file's records again, for what needs a second look
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
    odd: Noted = field(default_factory=Noted)
    undecoded: Noted = field(default_factory=Noted)
    duplicates: Noted = field(default_factory=Noted)
    repeats: Noted = field(default_factory=Noted)
    strays: Noted = field(default_factory=Noted)
    epochs: dict[int, int] = field(default_factory=dict)
    epoch_starts: list[tuple[int, int]] = field(default_factory=list)
    compressed: dict[str, int] = field(default_factory=dict)
    controls: list[Control] = field(default_factory=list)
    types: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    unknown_tags: list[int] = field(default_factory=list)
    brokers: dict[int, dict[str, Any]] = field(default_factory=dict)
    controllers: dict[int, dict[str, Any]] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    topics: dict[bytes, tuple[str, int]] = field(default_factory=dict)
    partitions: PartitionTable = field(default_factory=lambda: PartitionTable(references=True))
    rescan: Callable[[], Iterable[tuple[Row, memoryview]]] = lambda: ()
    decoder: Decoder = field(default_factory=Decoder)

    @property
    def is_snapshot(self) -> bool:
        """By its name, or else by what it begins with."""
        return self.name is not None or any(each.kind == 3 for each in self.controls[:1])

    @property
    def end_offset(self) -> int | None:
        """The offset after the last batch."""
        return None if self.last is None else self.last.last_offset + 1


def examine(data: memoryview, file: str, *, dialect: str | None = None, mapped: object = None) -> Evidence:
    """Look at every byte of one file; `file` is its name, `mapped` as in `framing.release`."""
    decoder = Decoder(dialect)
    found = Evidence(file, len(data), parse_snapshot_name(file), segment_offset(file), decoder=decoder)
    found.rescan = lambda: rows_again(data)
    return Examiner(found, decoder).run(data, mapped)


def rows_again(data: memoryview) -> Iterator[tuple[Row, memoryview]]:
    """Every metadata record that can be cut, partitions too."""
    for batch in batches(data):
        if isinstance(batch, Fault):
            return
        if batch.magic != 2 or batch.is_control:
            continue
        try:
            records = opened(data, batch)
        except InputError:
            continue
        for row in walk(records, batch):
            yield row, records


class Examiner:
    def __init__(self, found: Evidence, decoder: Decoder) -> None:
        self.found = found
        self.decoder = decoder
        self.seen = make_seen()
        self.configured: dict[str, int] = {}  # topic -> offset of its first config
        self.names: set[str] = set()

    def run(self, data: memoryview, mapped: object) -> Evidence:
        for batch in batches(data):
            if isinstance(batch, Fault):
                self.found.fault = batch
                break
            self.batch(data, batch, mapped)
            release(mapped, batch.position, batch.end)
        self.found.partitions.close()
        for topic, offset in self.configured.items():
            if topic not in self.names:
                self.found.strays.add(offset, topic)
        return self.found

    def batch(self, data: memoryview, batch: Batch, mapped: object) -> None:
        found = self.found
        self.place(batch)
        if batch.magic != 2:
            found.magics.add(batch.position, batch.magic)
            return
        computed = checksum(data, batch, mapped)
        if computed != batch.crc:
            found.bad_checksums.add(batch.position, batch.crc, computed)
            return  # what the bytes say is not worth judging
        try:
            records = opened(data, batch)
        except InputError as error:
            found.unopened.add(batch.position, str(error))
            return
        rows = walk(records, batch, found.partitions, mapped is not None)
        if batch.is_control:
            self.controls(rows, records)
        else:
            self.rows(rows, records)

    def place(self, batch: Batch) -> None:
        """Where the batch stands among the others."""
        found, last = self.found, self.found.last
        index, found.batches = found.batches, found.batches + 1
        expected = (found.base or 0) if last is None else last.last_offset + 1
        if batch.base_offset != expected and (last is not None or found.is_snapshot or found.base is not None):
            found.gaps.add(batch.position, expected, batch.base_offset)
        if batch.record_count != batch.last_offset_delta + 1:
            found.counts.add(batch.position, batch.record_count, batch.last_offset_delta + 1)
        if last is not None and batch.leader_epoch < last.leader_epoch:
            found.epochs_back.add(batch.position, last.leader_epoch, batch.leader_epoch)
        if batch.leader_epoch not in found.epochs and len(found.epochs) < 10_000:
            found.epochs[batch.leader_epoch] = batch.position
            found.epoch_starts.append((batch.leader_epoch, batch.base_offset))
        if batch.compression != "none":
            found.compressed.setdefault(batch.compression, batch.position)
        if batch.is_control and len(found.control_batches) < 1000:
            found.control_batches.append(index)
        elif not batch.is_control and len(found.control_batches) > 1 and found.data_after is None:
            found.data_after = index
        found.first, found.last = found.first or batch, batch

    def controls(self, rows: Iterable[Row], records: memoryview) -> None:
        for place, (offset, kind, version, start, end, problem) in enumerate(rows):
            value, reason = None, problem
            if kind is not None and not problem:
                try:
                    value = self.decoder.read_control(kind, records[start:end])
                except DecodeError as error:
                    reason = str(error)
            if len(self.found.controls) < 1000:
                index = self.found.batches - 1
                self.found.controls.append(Control(offset, index, place, kind, version, value, reason))

    def rows(self, rows: Iterable[Row], records: memoryview) -> None:
        found = self.found
        for offset, key, version, start, end, problem in rows:
            if problem:
                found.odd.add(offset, key, problem)
                if problem not in SOFT:
                    continue
            assert key is not None
            assert version is not None
            tally = found.types.setdefault((key, version), [0, offset])
            tally[0] += 1
            if self.decoder.codec(key, version) is None:
                continue  # a rule names its type or version once
            data = records[start:end]
            try:
                value = self.decoder.read(key, version, data)
            except DecodeError as error:
                found.undecoded.add(offset, key, version, str(error))
                continue
            self.take(offset, key, version, value, data)

    def take(self, offset: int, key: int, version: int, value: dict[str, Any], data: memoryview) -> None:
        found = self.found
        if has_unknown_tags(value):
            found.unknown_tags.append(offset) if len(found.unknown_tags) < MOST else None
        if key == PARTITION:
            found.partitions.add(value, version, bytes(data), offset)
            return
        if not found.is_snapshot:
            return
        identity = key_of(key, value)
        if identity is not None and self.seen(hash((key, identity))):
            self.again(offset, key, identity, value)
        else:
            self.remember(offset, key, value)

    def again(self, offset: int, key: int, identity: object, value: dict[str, Any]) -> None:
        """A second record of one object: a topic repeated as it was is only odd."""
        if key == TOPIC and self.found.topics.get(id_bytes(value["topicId"]), ("",))[0] == value["name"]:
            self.found.repeats.add(offset, value["name"])
        else:
            self.found.duplicates.add(offset, key, identity)

    def remember(self, offset: int, key: int, value: dict[str, Any]) -> None:
        """What other records may refer to."""
        found = self.found
        if key == TOPIC:
            if value["name"] in self.names:
                found.duplicates.add(offset, key, value["name"])
            self.names.add(value["name"])
            found.topics.setdefault(id_bytes(value["topicId"]), (value["name"], offset))
        elif key == CONFIG and value["resourceType"] == 2:
            self.configured.setdefault(value["resourceName"], offset)
        elif key == 0:
            found.brokers[value["brokerId"]] = value
        elif key == 27:
            found.controllers[value["controllerId"]] = value
        elif key == 12:
            found.features[value["name"]] = value.get("featureLevel", value.get("maxFeatureLevel", 0))


def make_seen() -> Callable[[int], bool]:
    """A function that says whether it was given a hash before."""
    try:
        from kcli.core.codec.hash_set import HashSet
    except ImportError:
        known: set[int] = set()

        def add(value: int) -> bool:
            before = value in known
            known.add(value)
            return before

        return add
    return HashSet().add


def has_unknown_tags(value: Any) -> bool:
    if isinstance(value, dict):
        return "_unknownTaggedFields" in value or any(map(has_unknown_tags, value.values()))
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return any(map(has_unknown_tags, value))
    return False
