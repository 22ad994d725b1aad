"""Examines a snapshot or metadata log segment in one pass over its batches and records."""

from bisect import bisect_right
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple, Protocol

from kcli.core.codec.hash_set import HashSet
from kcli.errors import DecodeError, InputError
from kcli.schemas.field_codes import ConfigResource, RecordType
from kcli.snapshots.image.partitions import PartitionTable, id_bytes
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.framing import Batch, Fault, batches, checksum, release
from kcli.snapshots.reading.keys import key_of
from kcli.snapshots.reading.names import parse_snapshot_name, segment_offset
from kcli.snapshots.reading.old_fields import feature_level
from kcli.snapshots.reading.walk import SOFT, Row, metadata_rows, opened, walk
from kcli.snapshots.rules.evidence import MOST, Control, Evidence


class Lookups(NamedTuple):
    """Offsets and times to find in a log's segments. ends: offsets where snapshots end; times: in the snapshots'
    headers, ms.
    """

    ends: Collection[int]
    times: Collection[int]


class Follower(Protocol):
    """Reads the batches in place of `walk` while they are examined, and does something of its own with them. store: see
    `PartitionTable`.
    """

    store: dict[bytes, Any] | None

    def rows(self, records: memoryview, batch: Batch, table: PartitionTable, mapped: bool) -> Iterable[Row]:
        """Return the rows that `walk` yields for a batch."""

    def give_up(self) -> None:
        """Note that a batch can't be read."""


def examine(
    data: memoryview,
    file: str,
    *,
    dialect: str | None = None,
    mapped: object = None,
    lookups: Lookups | None = None,
    follower: Follower | None = None,
) -> Evidence:
    """Examine every byte of a file. file: its name; mapped: see `framing.release`; lookups: offsets and times to find,
    in a segment.
    """
    decoder = Decoder(dialect)
    found = Evidence(file, len(data), parse_snapshot_name(file), segment_offset(file), decoder=decoder)
    if follower is not None:
        found.partitions = PartitionTable(references=True, changes=True, store=follower.store)
    found.rescan = lambda: metadata_rows(data)
    return Examiner(found, decoder, lookups, follower).run(data, mapped)


class Examiner:
    """Collects the evidence of one file, batch by batch and record by record."""

    def __init__(
        self, found: Evidence, decoder: Decoder, lookups: Lookups | None = None, follower: Follower | None = None
    ) -> None:
        self.found = found
        self.follower = follower
        self.decoder = decoder
        self.ends, self.times = (sorted(lookups.ends), lookups.times) if lookups else ([], ())
        self.seen = HashSet().add
        self.configured: dict[str, int] = {}  # {topic: offset of its first config}
        self.names: set[str] = set()

    def run(self, data: memoryview, mapped: object) -> Evidence:
        for batch in batches(data):
            if isinstance(batch, Fault):
                self.found.fault = batch
                self.pass_over()
                break
            self.batch(data, batch, mapped)
            release(mapped, batch.position, batch.end)
        self.found.partitions.close()
        for each, (count, _, _, _, first) in self.found.partitions.tallies.items():
            known = self.found.types.get(each, [0, first])
            self.found.types[each] = [known[0] + count, min(known[1], first)]
        for topic, offset in self.configured.items():
            if topic not in self.names:
                self.found.strays.add(offset, topic)
        return self.found

    def batch(self, data: memoryview, batch: Batch, mapped: object) -> None:
        """Examine a batch. If its magic, checksum or codec is wrong, its records are not judged."""
        found = self.found
        self.place(batch)
        if batch.magic != 2:
            found.magics.add(batch.position, batch.magic)
            self.pass_over()
            return
        computed = checksum(data, batch, mapped)
        if computed != batch.crc:
            found.bad_checksums.add(batch.position, batch.crc, computed)
            self.pass_over()
            return  # the content is not worth judging
        try:
            records = opened(data, batch)
        except InputError as error:
            found.unopened.add(batch.position, str(error))
            self.pass_over()
            return
        read = walk if self.follower is None else self.follower.rows
        rows = read(records, batch, found.partitions, mapped is not None)
        if batch.is_control:
            self.controls(rows, records)
        else:
            self.rows(rows, records)

    def pass_over(self) -> None:
        if self.follower is not None:
            self.follower.give_up()

    def place(self, batch: Batch) -> None:
        """Note the batch, and faults in its offsets and epoch."""
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
            found.epochs[batch.leader_epoch] = batch
            if last is not None:
                found.epoch_lasts[last.leader_epoch] = last
        if batch.compression != "none":
            found.compressed.setdefault(batch.compression, batch.position)
        self.note_kind(batch, index)
        self.note_ends(batch)
        found.first, found.last = found.first or batch, batch

    def note_kind(self, batch: Batch, index: int) -> None:
        """Note the control batches, and the first data batch after a control batch that is not the first."""
        found = self.found
        if batch.is_control and len(found.control_batches) < 1000:
            found.control_batches.append(index)
        elif not batch.is_control and len(found.control_batches) > 1 and found.data_after is None:
            found.data_after = index

    def note_ends(self, batch: Batch) -> None:
        """Note the batch if a snapshot ends in it, or a snapshot's header has its time."""
        if not self.ends:
            return
        first = bisect_right(self.ends, batch.base_offset)
        for offset in self.ends[first : bisect_right(self.ends, batch.last_offset + 1)]:
            self.found.ends[offset] = batch
        if batch.max_timestamp in self.times:
            self.found.timed[batch.max_timestamp, batch.leader_epoch] = batch.base_offset

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
        """Count records by type and version, and judge the readable ones. A record with a problem that is not `SOFT` is
        not counted.
        """
        found = self.found
        for offset, key, version, start, end, problem in rows:
            if problem:
                found.malformed.add(offset, key, problem)
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
        if key == RecordType.PARTITION:
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
        """Note a second record of one object. A repetition of a topic with the same id and name is noted as a repeat,
        which is only a note of `verify`.
        """
        if key == RecordType.TOPIC and self.found.topics.get(id_bytes(value["topicId"]), ("",))[0] == value["name"]:
            self.found.repeats.add(offset, value["name"])
        else:
            self.found.duplicates.add(offset, key, identity)

    def remember(self, offset: int, key: int, value: dict[str, Any]) -> None:
        """Keep the objects that other records may refer to: topics, brokers, controllers, features."""
        found = self.found
        if key == RecordType.TOPIC:
            if value["name"] in self.names:
                found.duplicates.add(offset, key, value["name"])
            self.names.add(value["name"])
            found.topics.setdefault(id_bytes(value["topicId"]), (value["name"], offset))
        elif key == RecordType.CONFIG and value["resourceType"] == ConfigResource.TOPIC:
            self.configured.setdefault(value["resourceName"], offset)
        elif key == RecordType.REGISTER_BROKER:
            found.brokers[value["brokerId"]] = value
        elif key == RecordType.REGISTER_CONTROLLER:
            found.controllers[value["controllerId"]] = value
        elif key == RecordType.FEATURE_LEVEL:
            found.features[value["name"]] = feature_level(value)


def has_unknown_tags(value: Any) -> bool:
    if isinstance(value, dict):
        return "_unknownTaggedFields" in value or any(map(has_unknown_tags, value.values()))
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return any(map(has_unknown_tags, value))
    return False
