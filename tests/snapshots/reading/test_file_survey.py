from kcli.snapshots.reading.file_survey import Survey, survey
from tests.oracle.snapshots import by_oracle
from tests.snapshots.files import LAST_431, TRUTH, damaged, log_file
from tests.snapshots.made import NAME, image, partition, snapshot


def surveyed(path: str) -> Survey:
    file = log_file(path)
    return survey(memoryview(file.read_bytes()), file.name)


def test_a_real_snapshot() -> None:
    found = surveyed(LAST_431)
    assert (found.batches, found.control_batches, found.records, found.whole) == (3, 2, 483, True)
    assert (found.metadata_version, found.kraft_version, found.header_timestamp) == ("4.3-IV0", 1, 1795223773206)
    assert [each["voterId"] for each in found.voters or ()] == [1]
    assert (found.offsets, found.epochs, found.compressions) == ((0, 486), (1, 1), {"none": 3})
    assert found.types[3, 2][0] == found.partitions == 297
    assert [each[0] for each in found.largest][:1] == ["s12.sytapn18"]
    assert sum(row[1] for row in found.types.values()) < found.size


def test_counts_are_those_of_the_image() -> None:
    for path, truth in TRUTH["files"].items():
        found = surveyed(path)
        assert (found.brokers, found.fenced, found.controllers) == (
            truth["brokers"],
            truth["brokersFenced"],
            truth["controllers"],
        )
        assert (found.topics, found.partitions) == (truth["topics"], truth["partitions"])
        assert found.facts["offline"] == truth["leaderless"]
        assert found.facts["under-replicated"] == truth["isrSmallerThanReplicas"]
        assert found.facts["reassigning"] == truth["reassigning"]
        assert found.facts["with-elr"] == truth["withElr"]
        assert (found.count(4), found.count(18)) == (truth["configValues"], truth["acls"])
        assert (found.count(11), found.count(10)) == (truth["scram"], truth["tokens"])


def test_a_log_segment() -> None:
    found = surveyed("431-single/n1/__cluster_metadata-0/00000000000000000000.log")
    assert (found.records, found.batches) == (50, 42)
    assert found.control("LEADER_CHANGE")["leaderId"] == 1


def test_damage_is_counted_and_the_rest_read() -> None:
    for case, unread in (("cut-in-data", 1), ("unknown-type", 1), ("null-value", 1), ("magic-1", 1)):
        file = damaged(case)
        found = survey(memoryview(file.read_bytes()), file.name)
        assert (found.unread, found.whole) == (unread, False)
        assert found.control("SNAPSHOT_HEADER") is not None
    file = damaged("bit-flip-crc-field")
    found = survey(memoryview(file.read_bytes()), file.name)
    assert (found.bad_checksums, found.records, found.whole) == ([166], 483, False)


def test_unknown_types_in_number_are_one_problem() -> None:
    found = survey(memoryview(damaged("unknown-type-large").read_bytes()), "x")
    assert found.unread == 1
    assert "above 32767" in found.problems[0]


def test_the_oracle_finds_the_same() -> None:
    data = memoryview(log_file(LAST_431).read_bytes())
    fast = survey(data, "x")
    with by_oracle():
        slow = survey(data, "x")
    assert (slow.facts, slow.partitions, slow.largest) == (fast.facts, fast.partitions, fast.largest)
    assert {kind: row[:2] for kind, row in slow.types.items()} == {kind: row[:2] for kind, row in fast.types.items()}


def test_an_empty_file() -> None:
    found = survey(memoryview(b""), NAME)
    assert (found.records, found.offsets, found.whole) == (0, None, True)


def test_facts_of_a_made_snapshot() -> None:
    data = snapshot(
        image(("PartitionRecord", partition(2, isr=[1])), ("PartitionRecord", partition(3, leader=-1, isr=[])))
    )
    found = survey(memoryview(data), NAME)
    assert (found.facts["under-replicated"], found.facts["offline"], found.fenced) == (2, 1, 0)
