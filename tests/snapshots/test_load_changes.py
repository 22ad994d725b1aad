"""What the kernel makes of partitions while a log is replayed, beside what replay.py makes of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.records.batches import HEADER_SIZE
from kcli.records.builder import build_batch
from kcli.snapshots.history.history import Event, HistoryLoader
from kcli.snapshots.image.diff import diff_images
from kcli.snapshots.image.partitions import id_text
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.load import Loader
from tests.snapshots.made import TOPIC_ID, broker, headers, image, partition, snapshot, with_crc

pytest.importorskip("kcli.core.snapshots.snapshot")

Value = dict[str, Any]
TOPICS = {TOPIC_ID: "orders", id_text(b"audit-audit-audi"): "audit", id_text(b"never-never-neve"): "never"}
LISTS = ("isr", "replicas", "removingReplicas", "addingReplicas", "eligibleLeaderReplicas", "lastKnownElr")
SINCE = {"directories": 1, "eligibleLeaderReplicas": 2, "lastKnownElr": 2}
SEEDS = range(40)


class History:
    """Random records of a log about few partitions; some of them don't apply."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.decoder = Decoder()
        self.version = self.chance.choice((0, 1, 2))

    def items(self) -> list[int]:
        most = self.chance.choices((70, 14, 5), (1, 2, 17))[0]  # more than any state holds, than a short one, few
        count = self.chance.randrange(most)
        if count > 6 or self.chance.random() < 0.03:
            return [self.chance.randrange(6) for _ in range(count)]  # a broker more than once, as no controller has it
        return self.chance.sample(range(6), count)

    def directories(self, count: int) -> list[str]:
        return [id_text(bytes([self.chance.randrange(4)]) * 16) for _ in range(count)]

    def topic(self) -> str:
        return self.chance.choices(list(TOPICS), (10, 5, 1))[0]

    def change(self) -> tuple[str, Value]:
        value: Value = {"partitionId": self.chance.choice((0, 0, 1, 1, 2, 7, 100_000)), "topicId": self.topic()}
        for name in LISTS:
            if self.chance.random() < (0.05 if name == "replicas" else 0.3) and self.version >= SINCE.get(name, 0):
                value[name] = self.items()
        if "replicas" in value and self.version >= 1 and self.chance.random() < 0.8:
            value["directories"] = self.directories(self.chance.choice((*[len(value["replicas"])] * 4, 3)))
        if self.chance.random() < 0.4:
            value["leader"] = self.chance.randrange(-2, 4)
        if self.chance.random() < 0.1:
            value["leaderRecoveryState"] = self.chance.randrange(-1, 2)
        return "PartitionChangeRecord", value

    def created(self) -> tuple[str, Value]:
        items = self.items()
        value = partition(self.chance.choice((0, 1, 2, 7, 100_000)), tuple(items)) | {"topicId": self.topic()}
        value |= {"leader": 1, "leaderEpoch": self.chance.choice((0, 5, 2**31 - 2))}
        if self.version == 0:
            del value["directories"]
        else:
            value["directories"] = self.directories(self.chance.choice((0, len(items))))
        return "PartitionRecord", value

    def record(self) -> tuple[str, Value]:
        kind = self.chance.random()
        if kind < 0.75:
            return self.change()
        if kind < 0.85:
            return self.created()
        identity = self.topic()
        others: list[tuple[str, Value]] = [
            ("TopicRecord", {"name": TOPICS[identity], "topicId": identity}),
            ("RemoveTopicRecord", {"topicId": identity}),
            ("ClearElrRecord", {"topicName": self.chance.choice(("", "orders", "none"))}),
            ("FenceBrokerRecord", {"id": 1, "epoch": 11}),
            ("BeginTransactionRecord", {"name": "t"}),
            ("EndTransactionRecord", {}),
            ("AbortTransactionRecord", {"reason": ""}),
        ]
        return self.chance.choices(others, (3, 1, 1, 1, 1, 1, 1))[0]

    def framed(self, name: str, value: Value) -> bytes:
        version = self.version if name in ("PartitionRecord", "PartitionChangeRecord") else 0
        return self.decoder.write(name, version, value)

    def batches(self) -> Iterator[bytes]:
        offset = 100
        for _ in range(12):
            rows = [(1, None, self.framed(*self.record()), ()) for _ in range(self.chance.randrange(1, 9))]
            codec = self.chance.choice(("none", "none", "gzip"))
            yield build_batch(rows, offset, partition_leader_epoch=2, codec=codec)
            offset += len(rows)


def loaded(segments: list[bytes], *, kernel: bool, judged: bool = False) -> Loader:
    """A snapshot at 100, and these segments behind it; judged: as a controller takes them."""
    loader = Loader(strict=False).judged() if judged else Loader(strict=False)
    if not kernel:
        loader.changes = None
    loader.snapshot(memoryview(snapshot(image(("RegisterBrokerRecord", broker(1))))), end_offset=100, epoch=2)
    for data in segments:
        loader.segment(memoryview(data), more=data is not segments[-1])
    return loader


@pytest.mark.parametrize("judged", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_kernel_and_the_reference_make_the_same(seed: int, judged: bool) -> None:
    batches = list(History(seed).batches())
    segments = [b"".join(batches[:7]), b"".join(batches[7:])]
    fast, slow = (loaded(segments, kernel=kernel, judged=judged) for kernel in (True, False))
    assert list(diff_images(fast.image, slow.image, secrets=True)) == []
    assert list(diff_images(slow.image, fast.image, secrets=True)) == []
    assert (fast.problems, fast.records) == (slow.problems, slow.records)
    assert fast.image.unread == slow.image.unread
    assert fast.refusals == slow.refusals


def test_the_histories_do_what_they_should() -> None:
    """Most records apply, and most partitions stay bytes, as the kernel leaves them."""
    found = [loaded([b"".join(History(seed).batches())], kernel=True) for seed in SEEDS]
    partitions = [
        each for loader in found for topic in loader.image.topics.values() for each in topic.partitions.values()
    ]
    assert sum(isinstance(each, bytes) for each in partitions) > len(partitions) / 2 > 10
    assert sum(len(loader.problems) for loader in found) < sum(loader.records for loader in found) / 2


def test_bytes_are_kept_as_kafka_writes_them() -> None:
    """A partition that changed has the bytes that a snapshot has of it, in the version that it came in."""
    history = History(1)
    for version in (0, 1, 2):
        history.version = version
        value = partition(0)
        if version == 0:
            del value["directories"]
        changed = {"partitionId": 0, "topicId": TOPIC_ID, "isr": [1], "leader": 2, "leaderRecoveryState": 1}
        records = [("PartitionRecord", value), ("PartitionChangeRecord", changed)]
        rows = [(1, None, history.framed(*each), ()) for each in records]
        found = loaded([build_batch(rows, 100, partition_leader_epoch=2)], kernel=True).image
        value |= {"isr": [1], "leader": 2, "leaderEpoch": 1, "partitionEpoch": 1, "leaderRecoveryState": 1}
        topic = found.topic_named("orders")
        assert topic is not None
        assert topic.partitions[0] == history.framed("PartitionRecord", value)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_changes_of_chosen_partitions(seed: int) -> None:
    """Those are the same where the kernel applies all others."""
    batches = b"".join(History(seed).batches())
    chosen = {("orders", 0), ("audit", 7)}

    def events(partitions: set[tuple[str, int]] | None) -> list[Event]:
        found: list[Event] = []
        loader = HistoryLoader(found.append, strict=False, partitions=partitions)
        loader.snapshot(memoryview(snapshot()), end_offset=100, epoch=2)
        loader.segment(memoryview(batches))
        return [each for each in found if each.change.table != "partitions" or each.change.key in chosen]

    assert events(chosen) == events(None)


def damaged(batches: list[bytes], chance: random.Random) -> list[bytes]:
    """The batches with some bytes of their records changed, and checksums that fit."""
    found = []
    for data in batches:
        (batch,) = headers(data)
        changed = bytearray(data)
        for _ in range(chance.randrange(3)):
            changed[chance.randrange(HEADER_SIZE, len(data))] = chance.choice((0, 1, 2, 3, 0x7F, 0x80, 0xFF))
        found.append(with_crc(bytes(changed), batch))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_records_are_the_same_to_both(seed: int) -> None:
    chance = random.Random(seed)
    segments = [b"".join(damaged(list(History(seed).batches()), chance))]
    fast, slow = (loaded(segments, kernel=kernel) for kernel in (True, False))
    assert list(diff_images(fast.image, slow.image, secrets=True)) == []
    assert (fast.problems, fast.records) == (slow.problems, slow.records)
