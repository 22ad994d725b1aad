import random
from typing import Any

import pytest

from kcli.snapshots.image.partitions import BREAKS, FACTS, PartitionTable, breaks_of, facts_of, id_bytes, id_text
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.framing import Batch
from kcli.snapshots.reading.walk import opened, walk
from tests.oracle.snapshots import walk_batch
from tests.snapshots.files import log_file
from tests.snapshots.made import TOPIC_ID, headers, partition

CASES: list[tuple[dict[str, Any], set[str], list[str]]] = [
    ({}, set(), []),
    ({"leader": -1, "isr": []}, {"offline", "under-replicated"}, []),
    ({"isr": [1, 2]}, {"under-replicated"}, []),
    ({"leader": 2}, {"not-preferred"}, []),
    ({"addingReplicas": [3]}, {"reassigning"}, []),
    ({"removingReplicas": [3]}, {"reassigning"}, []),
    ({"isr": [1], "eligibleLeaderReplicas": [2]}, {"under-replicated", "with-elr"}, []),
    ({"leaderRecoveryState": 1}, {"recovering"}, []),
    ({"isr": [1, 2, 9]}, set(), ["isr"]),
    ({"eligibleLeaderReplicas": [9]}, {"with-elr"}, ["elr"]),
    ({"leader": 9}, {"not-preferred"}, ["leader"]),
    ({"directories": [TOPIC_ID]}, set(), ["directories"]),
    ({"directories": []}, set(), []),
    ({"partitionId": -5}, set(), ["id"]),
    ({"replicas": [], "isr": [], "leader": -1, "directories": []}, {"offline"}, ["replicas"]),
]


@pytest.mark.parametrize(("values", "facts", "breaks"), CASES)
def test_facts_and_breaks_of_one_partition(values: dict[str, Any], facts: set[str], breaks: list[str]) -> None:
    record = partition(0) | values
    found = facts_of(record)
    assert {name for name, bit in FACTS.items() if found & bit} == facts
    assert breaks_of(record) == breaks
    assert set(breaks) <= BREAKS.keys()


def feed(table: PartitionTable, framed: list[bytes], fast: bool) -> PartitionTable:
    """The records through the kernel, or decoded and added."""
    body, offset, decoder = bytearray(), 0, Decoder()
    for record in framed:
        body += row(offset, record)
        offset += 1
    batch = Batch(0, 0, 0, 0, 2, 0, 0, offset - 1, 0, 0, -1, -1, -1, offset)
    view = memoryview(bytes(body))
    rows = walk(view, batch, table) if fast else walk_batch(view, batch)
    for place, _, version, start, end, problem in rows:
        assert not problem
        assert not fast
        assert version is not None
        table.add(decoder.read(3, version, view[start:end]), version, bytes(view[start - 3 : end]), place)
    table.close()
    return table


def row(offset: int, value: bytes) -> bytes:
    inner = b"\0\0" + zigzag(offset) + b"\x01" + zigzag(len(value)) + value + b"\0"
    return zigzag(len(inner)) + inner


def zigzag(value: int) -> bytes:
    raw, out = value << 1, bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes([*out, raw])


def figures(table: PartitionTable) -> tuple[Any, ...]:
    return table.count, table.size, table.by_version, table.facts, table.topics, table.pairs, table.broken


def test_the_kernel_counts_as_the_reference_does() -> None:
    decoder, chance = Decoder(), random.Random(3)
    framed = []
    for values, _, _ in CASES * 3:
        version = 2 if "eligibleLeaderReplicas" in values else chance.choice((1, 2))
        record = partition(chance.randrange(20)) | values
        record["topicId"] = chance.choice((TOPIC_ID, "QUJDREVGR0hJSktMTU5PUA"))
        framed.append(decoder.write("PartitionRecord", version, record))
    fast = feed(PartitionTable(references=True, store={}), framed, True)
    slow = feed(PartitionTable(references=True, store={}), framed, False)
    assert figures(fast) == figures(slow)
    assert fast.store == slow.store
    assert fast.broken_count == slow.broken_count > 5


def test_broken_ones_are_counted_past_those_kept() -> None:
    framed = [Decoder().write("PartitionRecord", 1, partition(number, leader=9)) for number in range(7)]
    table = feed(PartitionTable(references=True, most=3), framed, True)
    assert (len(table.broken), table.broken_count) == (3, 7)


def test_a_forgotten_topic_starts_again() -> None:
    table = PartitionTable(store={})
    table.add(partition(0), 1, b"first", 1)
    table.forget(id_bytes(TOPIC_ID))
    table.add(partition(1), 1, b"second", 2)
    table.close()
    assert table.store == {id_bytes(TOPIC_ID): {1: b"second"}}


def test_ids_both_ways() -> None:
    assert id_text(id_bytes(TOPIC_ID)) == TOPIC_ID
    assert id_bytes("AAAAAAAAAAAAAAAAAAAAAQ") == bytes(15) + b"\x01"


def test_quiet_types_are_counted_where_they_lie() -> None:
    data = log_file("431-single/n1/__cluster_metadata-0/00000000000000001600-0000000001.checkpoint").read_bytes()
    table = PartitionTable(quiet=[4, 14])
    kinds = set()
    for batch in headers(data):
        if not batch.is_control:
            kinds |= {each[1] for each in walk(opened(memoryview(data), batch), batch, table)}
    table.close()
    assert not kinds & {3, 4, 14}
    assert (table.tallies[4, 0][0], table.tallies[14, 0][0], table.count) == (54, 44, 297)
