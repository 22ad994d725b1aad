"""Counts the partitions of a snapshot.

The kernel reads nearly all PartitionRecords in place; the rest (unknown tags, the layouts of 2.8) is decoded and
counted here, by the same rules.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcli.core.snapshots.snapshot import Partitions

# The facts of a partition that its record shows, one bit each (the kernel has the same).
FACTS = {
    "offline": 1,
    "under-replicated": 2,
    "reassigning": 4,
    "with-elr": 8,
    "not-preferred": 16,
    "recovering": 32,
}

# The faults that a PartitionRecord can have by itself.
BREAKS = {
    "isr": "a broker of the ISR is no replica",
    "elr": "an eligible leader replica is no replica",
    "replicas": "there are no replicas",
    "id": "the partition id is negative",
    "directories": "there are not as many directories as replicas",
    "leader": "the leader is not in the ISR",
}

Value = Mapping[str, Any]
Broken = tuple[int, bytes, int, str]  # offset, topic id, partition, key of BREAKS
MASK = 0xFFFFFFFFFFFFFFFF


def facts_of(partition: Value) -> int:
    """Return which facts hold for a decoded PartitionRecord, as bits of FACTS."""
    leader, replicas = partition["leader"], partition["replicas"]
    found = {
        "offline": leader < 0,
        "under-replicated": len(partition["isr"]) < len(replicas),
        "reassigning": bool(partition["removingReplicas"] or partition["addingReplicas"]),
        "with-elr": bool(partition.get("eligibleLeaderReplicas")),
        "not-preferred": leader >= 0 and bool(replicas) and replicas[0] != leader,
        "recovering": bool(partition.get("leaderRecoveryState")),
    }
    return sum(FACTS[name] for name, holds in found.items() if holds)


def id_bytes(text: str) -> bytes:
    """Return the 16 bytes of a uuid in Kafka's text form."""
    from base64 import urlsafe_b64decode

    return urlsafe_b64decode(text + "==")


def id_text(data: bytes) -> str:
    """Return a uuid's 16 bytes in Kafka's text form: url-safe base64 without padding."""
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(data)[:22].decode()


class PartitionTable:
    """Counts partitions record by record. After `close`:

    count, size; by_version: {version: [count, bytes]}; facts: {key of FACTS: count}
    topics      {topic id: [count, bytes, highest id, sum of ids and of their squares mod 2**64, first offset]}
    pairs       {(broker, directory id or None): offset of its first record}, when `references`
    broken      the first `most` of Broken; broken_count counts them all
    tallies     {(apiKey, version): [count, bytes, most bytes, offset of that one, offset of the first]} of the `quiet`
                types, and with `changes` of the readable PartitionChangeRecords; the kernel does not yield these
    store       {topic id: {partition: framed record, as bytes}} if one was passed
    """

    def __init__(
        self,
        *,
        references: bool = False,
        store: dict[bytes, Any] | None = None,
        most: int = 100,
        quiet: Iterable[int] = (),
        changes: bool = False,
    ) -> None:
        self.references, self.store, self.most = references, store, most
        self.fast: Partitions | None = Partitions(references, store, most, quiet, changes)
        self.tallies: dict[tuple[int, int], list[int]] = {}
        self.count = self.size = self.broken_count = 0
        self.by_version: dict[int, list[int]] = {}
        self.facts = dict.fromkeys(FACTS, 0)
        self.topics: dict[bytes, list[int]] = {}
        self.pairs: dict[tuple[int, bytes | None], int] = {}
        self.broken: list[Broken] = []

    def add(self, partition: Value, version: int, framed: bytes, offset: int) -> None:
        """Count one decoded PartitionRecord. framed: its value with the frame; offset: of the record."""
        topic, size = id_bytes(partition["topicId"]), len(framed)
        self.count += 1
        self.size += size
        add_up(self.by_version.setdefault(version, [0, 0]), [1, size])
        facts = facts_of(partition)
        for name, bit in FACTS.items():
            self.facts[name] += bool(facts & bit)
        number = partition["partitionId"]
        row = [1, size, number, number & MASK, number * number & MASK, offset]
        self.topics[topic] = join_topic(self.topics.get(topic), row)
        if self.references:
            self.refer(partition, topic, offset)
        if self.store is not None:
            self.store.setdefault(topic, {})[number] = framed

    def refer(self, partition: Value, topic: bytes, offset: int) -> None:
        """Note the brokers and directories that a partition refers to, and the rules that it breaks."""
        directories = partition.get("directories", ())
        for index, broker in enumerate(partition["replicas"]):
            directory = id_bytes(directories[index]) if index < len(directories) else None
            self.pairs.setdefault((broker, directory), offset)
        for code in breaks_of(partition):
            self.broken_count += 1
            if len(self.broken) < self.most:
                self.broken.append((offset, topic, partition["partitionId"], code))

    def forget(self, topic: bytes) -> None:
        """Drop the partitions of a topic from `store`, because another TopicRecord of it recreates it."""
        if self.store is not None:
            self.store.pop(topic, None)
        if self.fast is not None:
            self.fast.forget(topic)

    def close(self) -> None:
        """Add the kernel's counts. Call it once, after the last record."""
        fast, self.fast = self.fast, None
        if fast is None:
            return
        fast.close()
        self.tallies = fast.tallies
        self.count += fast.count
        self.size += fast.size
        self.broken_count += fast.broken_count
        for name, count in fast.facts.items():
            self.facts[name] += count
        for version, row in fast.by_version.items():
            add_up(self.by_version.setdefault(version, [0, 0]), row)
        self.merge_rows(fast)

    def merge_rows(self, fast: Partitions) -> None:
        """Merge the rows that the kernel counted with those counted here."""
        own = self.topics
        self.topics = fast.topics
        for topic, row in own.items():
            self.topics[topic] = join_topic(self.topics.get(topic), row)
        for pair, offset in fast.pairs.items():
            self.pairs[pair] = min(self.pairs.get(pair, offset), offset)
        self.broken = sorted([*self.broken, *fast.broken], key=lambda each: each[0])[: self.most]


def add_up(row: list[int], more: Sequence[int]) -> None:
    row[0] += more[0]
    row[1] += more[1]


def join_topic(row: list[int] | None, more: list[int]) -> list[int]:
    if row is None:
        return more
    highest, first = max(row[2], more[2]), min(row[5], more[5])
    total, squares = (row[3] + more[3]) & MASK, (row[4] + more[4]) & MASK
    return [row[0] + more[0], row[1] + more[1], highest, total, squares, first]


def breaks_of(partition: Value) -> list[str]:
    """Return the keys of BREAKS that a partition breaks, in the order in which the kernel finds them."""
    replicas = set(partition["replicas"])
    directories = partition.get("directories")
    found = ["isr" for broker in partition["isr"] if broker not in replicas]
    found += ["elr" for broker in partition.get("eligibleLeaderReplicas") or () if broker not in replicas]
    if not replicas:
        found.append("replicas")
    if partition["partitionId"] < 0:
        found.append("id")
    if directories and len(directories) != len(partition["replicas"]):
        found.append("directories")
    if partition["leader"] >= 0 and partition["leader"] not in partition["isr"]:
        found.append("leader")
    return found
