"""Committed offsets on disk: records of `__consumer_offsets`, in Kafka's own form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from kcli.broker.controller import Controller
from kcli.broker.groups.committed import Committed
from kcli.broker.partition import Partition
from kcli.broker.storage.incoming import read_incoming
from kcli.errors import InputError
from kcli.grammar import messages
from kcli.records.batches import scan
from kcli.records.builder import build_batch

__all__ = ["TOPIC", "OffsetStore", "partition_for"]

TOPIC = "__consumer_offsets"
OFFSET_KEY = 1
VALUE_VERSION = 3
LONGEST = 64 << 20

Place = tuple[str, int]


def partition_for(group: str, partitions: int) -> int:
    """Which partition keeps a group's offsets: Java's String.hashCode, without its sign, modulo the partitions."""
    code = 0
    units = group.encode("utf-16-be")
    for at in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[at : at + 2], "big")) & 0xFFFF_FFFF
    return (code & 0x7FFF_FFFF) % partitions


class OffsetStore:
    """The topic that keeps committed offsets, made with the first commit. note: gets a line for what can't be read."""

    def __init__(self, controller: Controller, note: Callable[[str], None]) -> None:
        self.controller, self.topics, self.replicas = controller, controller.topics, controller.replicas
        self.note = note
        self.key = messages.data("OffsetCommitKey", 0)
        self.value = messages.data("OffsetCommitValue", VALUE_VERSION)

    def partition(self, group: str) -> Partition:
        """The partition of `__consumer_offsets` that keeps a group's offsets. The topic is made when it is missing."""
        topic = self.topics.by_name.get(TOPIC)
        if topic is None:
            topic = self.controller.auto_create_topic(TOPIC)
        return topic.partitions[partition_for(group, len(topic.partitions))]

    def write(self, group: str, offsets: Mapping[Place, Committed | None]) -> None:
        """Append what was committed; None: what is to be forgotten. OSError."""
        if not offsets:
            return
        partition = self.partition(group)
        now = self.replicas.now()
        rows = [(now, self.encode_key(group, place), self.encode_value(each), ()) for place, each in offsets.items()]
        batch = build_batch(rows)
        partition.made_log().append(read_incoming(batch, LONGEST), partition.epoch)
        self.replicas.appended(partition, len(batch))

    def encode_key(self, group: str, place: Place) -> bytes:
        """A record key: the version, then OffsetCommitKey."""
        value = {"group": group, "topic": place[0], "partition": place[1]}
        return OFFSET_KEY.to_bytes(2, "big") + self.key.write(value)

    def encode_value(self, each: Committed | None) -> bytes | None:
        """A record value: the version, then OffsetCommitValue; None (a tombstone) for None."""
        if each is None:
            return None
        value = {
            "offset": each.offset,
            "leaderEpoch": each.leader_epoch,
            "metadata": each.metadata,
            "commitTimestamp": each.timestamp,
        }
        return VALUE_VERSION.to_bytes(2, "big") + self.value.write(value)

    def load(self) -> Iterator[tuple[str, Place, Committed | None]]:
        """What was committed, in the order in which it was: group, (topic, partition), offset (None: forgotten)."""
        topic = self.topics.by_name.get(TOPIC)
        for partition in topic.partitions if topic is not None else ():
            log = None if partition.is_offline else partition.log
            for segment in log.segments if log is not None else ():
                yield from self.decode(segment.slice(0, segment.size).read(), segment.path)

    def decode(self, data: bytes, path: Path) -> Iterable[tuple[str, Place, Committed | None]]:
        """The commits in a segment; those that can't be read are left out, with one line in the log."""
        left_out: list[str] = []
        for batch in scan(data, damages=[]):
            try:
                records = [] if batch.is_control else list(batch.records())
            except InputError as error:
                left_out.append(f"batch at {batch.base_offset}: {error}")
                continue
            for record in records:
                key = record.key or b""
                if key[:2] not in (b"\0\0", b"\0\1"):
                    continue
                try:
                    name = self.key.read(key, 2)[0]
                    yield name["group"], (name["topic"], name["partition"]), self.decode_value(record.value)
                except InputError as error:
                    left_out.append(f"record {record.offset}: {error}")
        if left_out:
            self.note(f"{path}: left out: {len(left_out)} commits, the first: {left_out[0]}")

    @staticmethod
    def decode_value(data: bytes | None) -> Committed | None:
        """The committed offset of a record value, None for a tombstone. InputError: it can't be read."""
        if data is None:
            return None
        value = messages.data("OffsetCommitValue", int.from_bytes(data[:2], "big")).read(data, 2)[0]
        epoch = value.get("leaderEpoch", -1)
        return Committed(value["offset"], epoch, value["metadata"], value["commitTimestamp"])
