"""Committed offsets on disk: records of `__consumer_offsets` in Kafka's format."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from kcli.broker.groups.committed import Committed
from kcli.broker.metadata.controller import Controller
from kcli.broker.metadata.state_topic import StateTopic
from kcli.broker.partition import Key
from kcli.broker.storage.log import is_commit
from kcli.errors import InputError
from kcli.grammar import messages
from kcli.schemas.field_codes import NO_PRODUCER
from kcli.topic_names import CONSUMER_OFFSETS

OFFSET_KEY = 1
OFFSET_KEYS = (b"\0\0", b"\0\1")
VALUE_VERSION = 3


class Commit(NamedTuple):
    """An offset that a group committed for a (topic, partition). committed: None if the offset was deleted.

    producer: the producer id of the open transaction; -1 if the commit is final.
    """

    group: str
    place: Key
    committed: Committed | None
    producer: int = NO_PRODUCER


class OffsetStore:
    """The topic that stores committed offsets; it is created at the first write. note: called with a line about each
    unreadable record.
    """

    def __init__(self, controller: Controller, note: Callable[[str], None]) -> None:
        self.topic = StateTopic(controller, CONSUMER_OFFSETS, note)
        self.key = messages.data("OffsetCommitKey", 0)
        self.value = messages.data("OffsetCommitValue", VALUE_VERSION)

    def place(self, group: str) -> Key:
        """Return (topic, index) of the partition that stores a group's offsets, as in a transaction."""
        return CONSUMER_OFFSETS, self.topic.partition(group).index

    def write(
        self, group: str, offsets: Mapping[Key, Committed | None], producer: tuple[int, int] | None = None
    ) -> int:
        """Append committed offsets, tombstones for None; return the offset of the first record. Raises OSError.

        producer: (id, epoch) of the transaction's producer, None outside of a transaction.
        """
        if not offsets:
            return -1
        rows = [(self.encode_key(group, place), self.encode_value(each)) for place, each in offsets.items()]
        if producer is None:
            return self.topic.write(group, rows)
        return self.topic.write(group, rows, producer_id=producer[0], producer_epoch=producer[1], transactional=True)

    def encode_key(self, group: str, place: Key) -> bytes:
        """Encode a record key: the version, then OffsetCommitKey."""
        value = {"group": group, "topic": place[0], "partition": place[1]}
        return OFFSET_KEY.to_bytes(2, "big") + self.key.write(value)

    def encode_value(self, each: Committed | None) -> bytes | None:
        """Encode a record value: the version, then OffsetCommitValue; None (a tombstone) for None."""
        if each is None:
            return None
        value = {
            "offset": each.offset,
            "leaderEpoch": each.leader_epoch,
            "metadata": each.metadata,
            "commitTimestamp": each.timestamp,
        }
        return VALUE_VERSION.to_bytes(2, "big") + self.value.write(value)

    def load(self, other: Callable[[bytes, bytes | None], None]) -> Iterator[Commit]:
        """Yield the stored commits in the order in which they took effect; those of open transactions come last.

        other: called with key and value of other records; may raise InputError.
        """
        open_: dict[tuple[int, int], list[Commit]] = {}
        for partition, batch, records in self.topic.load():
            if batch.is_control:
                ended = open_.pop((partition, batch.producer_id), [])
                if is_commit(batch):
                    yield from ended
                continue
            commits: list[Commit] = []
            for record in records:
                try:
                    if (key := record.key or b"")[:2] in OFFSET_KEYS:
                        commits.append(self.decode(key, record.value, record.offset))
                    else:
                        other(key, record.value)
                except InputError as error:
                    self.topic.note(f"{CONSUMER_OFFSETS}-{partition}: left out: record {record.offset}: {error}")
            if batch.is_transactional:
                open_.setdefault((partition, batch.producer_id), []).extend(commits)
            else:
                yield from commits
        for (_, producer), left in open_.items():
            yield from (each._replace(producer=producer) for each in left)

    def decode(self, key: bytes, value: bytes | None, offset: int) -> Commit:
        """Decode the commit in the record with this offset. Raises InputError if it can't be decoded."""
        name, committed = self.key.read(key, 2)[0], self.decode_value(value)
        committed = committed._replace(written=offset) if committed is not None else None
        return Commit(name["group"], (name["topic"], name["partition"]), committed)

    @staticmethod
    def decode_value(data: bytes | None) -> Committed | None:
        """Decode the offset in a record value, None for a tombstone. Raises InputError if it can't be decoded."""
        if data is None:
            return None
        value = messages.data("OffsetCommitValue", int.from_bytes(data[:2], "big")).read(data, 2)[0]
        epoch = value.get("leaderEpoch", -1)
        return Committed(value["offset"], epoch, value["metadata"], value["commitTimestamp"])
