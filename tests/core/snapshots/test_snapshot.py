"""What the snapshot kernels do beside what tests/snapshots checks against the interpreted forms."""

import mmap
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kcli.core.snapshots.snapshot")

from kcli.core.records.batches import HEADER_SIZE
from kcli.core.snapshots.snapshot import FACTS, Partitions, Walk, count_facts, partition_facts, same_partition
from kcli.snapshots.image import partitions
from kcli.snapshots.image.image import MIGRATING
from kcli.snapshots.reading.decoding import Decoder
from tests.snapshots.made import TOPIC_ID, headers, partition, snapshot


def test_the_facts_are_those_of_the_reference() -> None:
    assert FACTS == partitions.FACTS


def test_facts_of_a_framed_record() -> None:
    framed = Decoder().write("PartitionRecord", 2, partition(0, isr=[1]))
    assert partition_facts(framed) == (FACTS["under-replicated"], 1, (1, 2, 3), (1,))
    assert partition_facts(memoryview(framed)) == partition_facts(framed)


@pytest.mark.parametrize("cut", [0, 1, 3, 4, 23, 40, 60, -1])
def test_what_is_cut_is_refused(cut: int) -> None:
    framed = Decoder().write("PartitionRecord", 2, partition(0))
    assert partition_facts(framed[:cut]) is None
    assert partition_facts(framed + b"\0") is None


def test_unknown_and_unordered_tags_are_left_to_the_reference() -> None:
    framed = Decoder().write("PartitionRecord", 2, partition(0))
    assert partition_facts(framed[:-1] + b"\1\x32\1x") is None
    assert partition_facts(framed[:-1] + b"\2\2\1\1\1\1\1") is None
    assert partition_facts(framed[:-1] + b"\2\1\1\1\2\1\1") is not None


def test_counts_of_a_dict() -> None:
    framed = Decoder().write("PartitionRecord", 1, partition(0, leader=-1, isr=[]))
    totals = [0] * 6
    assert count_facts({0: framed, 1: b"\1\2\0\0", 2: {"a": 1}}, totals) == [b"\1\2\0\0", {"a": 1}]
    assert totals == [1, 1, 0, 0, 0, 0]


def test_pages_of_a_map_are_given_back_on_the_way(tmp_path: Path) -> None:
    made = snapshot()
    batch = headers(made)[1]
    body = made[batch.position + HEADER_SIZE : batch.end]
    file = tmp_path / "body"
    file.write_bytes(body * 40_000)  # 25 MB: as many batches' records, one behind the other
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        table = Partitions()
        walk = Walk(mapped, 0, batch.record_count * 40_000, False, table, True)
        assert sum(1 for row in walk if row[1] == 3 and row[5] == "offset") > 0
        del walk


def test_a_walk_lets_go_of_its_bytes_at_the_end() -> None:
    made = bytearray(snapshot())
    batch = headers(bytes(made))[1]
    walk = Walk(memoryview(made)[batch.position + HEADER_SIZE : batch.end], 0, batch.record_count)
    assert len(list(walk)) == batch.record_count
    made.clear()
    assert list(walk) == []
    assert TOPIC_ID


CHANGED: dict[str, Any] = {
    "replicas": [3, 2, 1],
    "isr": [1, 2],
    "removingReplicas": [1],
    "addingReplicas": [2],
    "leader": 2,
    "leaderEpoch": 1,
    "partitionEpoch": 1,
    "leaderRecoveryState": 1,
    "directories": [TOPIC_ID] * 3,
    "eligibleLeaderReplicas": [3],
    "lastKnownElr": [3],
}


def test_records_that_say_the_same() -> None:
    write = Decoder().write
    record = partition(0)
    framed = write("PartitionRecord", 2, record)
    assert same_partition(framed, bytes(bytearray(framed))) is True
    assert same_partition(framed, write("PartitionRecord", 1, record)) is True
    assert same_partition(framed, write("PartitionRecord", 2, record | {"lastKnownElr": []})) is True
    for name, value in CHANGED.items():
        assert same_partition(framed, write("PartitionRecord", 2, record | {name: value})) is False, name
    migrating = [MIGRATING] * 3
    old = {name: value for name, value in record.items() if name != "directories"}
    assert same_partition(write("PartitionRecord", 0, old), framed) is False
    assert (
        same_partition(
            write("PartitionRecord", 0, old), write("PartitionRecord", 1, record | {"directories": migrating})
        )
        is True
    )
    assert same_partition(framed, {}) is None
    assert same_partition(framed, framed[:-1]) is None
