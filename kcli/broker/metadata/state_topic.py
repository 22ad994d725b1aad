"""The internal topics in which coordinators store their state: groups, offsets, transactions, share groups."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kcli.broker.metadata.controller import Controller
from kcli.broker.partition import Partition
from kcli.broker.storage.incoming import stored
from kcli.errors import InputError
from kcli.records.batches import Batch, Record, scan
from kcli.records.builder import build_batch

Row = tuple[bytes, bytes | None]  # (key, value), None for a tombstone


def partition_for(key: str, partitions: int) -> int:
    """Return the index of the partition that stores the state of a group or transactional id: the absolute value of
    Java's String.hashCode, modulo the number of partitions; that of the lowest integer is 0 (Kafka's Utils.abs).
    """
    code = 0
    units = key.encode("utf-16-be")
    for at in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[at : at + 2], "big")) & 0xFFFF_FFFF
    magnitude = min(code, (1 << 32) - code)
    return 0 if magnitude == 1 << 31 else magnitude % partitions


class StateTopic:
    """An internal topic, which is created at the first write. note: called with a line about unreadable records."""

    def __init__(self, controller: Controller, name: str, note: Callable[[str], None]) -> None:
        self.controller, self.topics, self.replicas = controller, controller.topics, controller.replicas
        self.name, self.note = name, note

    def partition(self, key: str) -> Partition:
        """Return the partition that stores the state of a group or transactional id; create the topic if needed."""
        topic = self.topics.by_name.get(self.name)
        if topic is None:
            topic = self.controller.auto_create_topic(self.name)
        return topic.partitions[partition_for(key, len(topic.partitions))]

    def write(self, key: str, rows: Sequence[Row], **producer: Any) -> int:
        """Append rows as one batch to the partition of a key; return the offset of the first. producer: arguments of
        `build_batch`. Raises OSError.
        """
        partition, now = self.partition(key), self.replicas.now()
        batch = build_batch([(now, *row, ()) for row in rows], **producer)
        base = partition.made_log().append(stored(batch), partition.epoch)
        self.replicas.appended(partition, len(batch))
        return base

    def load(self) -> Iterator[tuple[int, Batch, list[Record]]]:
        """Yield (partition index, batch, records) in the order in which they were written. Unreadable batches are left
        out, with one line per segment.
        """
        topic = self.topics.by_name.get(self.name)
        for partition in topic.partitions if topic is not None else ():
            log = None if partition.is_offline else partition.log
            for segment in log.segments if log is not None else ():
                left_out: list[str] = []
                for batch in scan(segment.slice(0, segment.size).read(), damages=[]):
                    try:
                        yield partition.index, batch, list(batch.records())
                    except InputError as error:
                        left_out.append(f"batch at {batch.base_offset}: {error}")
                if left_out:
                    self.note(f"{segment.path}: left out: {len(left_out)} batches, the first: {left_out[0]}")
