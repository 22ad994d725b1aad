from typing import Any

import pytest

from kcli.records.builder import build_batch, build_control_batch
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.rules.record_rules import is_plain, missing_below
from kcli.snapshots.rules.verification import verify
from tests.snapshots.made import DIRECTORIES, NAME, OTHER_ID, TOPIC_ID, broker, partition
from tests.snapshots.quorums import metadata_batch

Record = tuple[str, int, dict[str, Any]]
LEVEL: Record = ("FeatureLevelRecord", 0, {"name": "metadata.version", "featureLevel": 30})
BROKERS: list[Record] = [("RegisterBrokerRecord", 3, broker(number)) for number in (1, 2, 3)]
TOPIC: Record = ("TopicRecord", 0, {"name": "orders", "topicId": TOPIC_ID})


def of(*records: Record) -> list[tuple[str, str, str]]:
    """The findings on a snapshot of these records."""
    decoder = Decoder()
    rows = [(1, None, decoder.write(name, version, value), ()) for name, version, value in records]
    data = build_control_batch([(b"\0\0\0\3", b"\0\0" + bytes(9))], 1, 0, partition_leader_epoch=2)
    data += build_batch(rows, 1, partition_leader_epoch=2)
    data += build_control_batch([(b"\0\0\0\4", b"\0\0\0")], 1, 1 + len(rows), partition_leader_epoch=2)
    return [(each.severity, each.rule, each.message) for each in verify(memoryview(data), NAME)]


def part(number: int, **values: Any) -> Record:
    return "PartitionRecord", 2, partition(number, **values)


def test_records_that_go_together_are_sound() -> None:
    assert of(LEVEL, *BROKERS, TOPIC, part(0), part(1)) == []


@pytest.mark.parametrize(
    ("records", "severity", "rule", "text"),
    [
        ([TOPIC, part(0), part(2)], "note", "duplicate-partition", "has no partition 1"),
        ([TOPIC, part(0), part(1), part(0)], "error", "duplicate-partition", "a second PARTITION_RECORD of orders-0"),
        ([part(0), TOPIC], "error", "orphan-partition", "before its topic"),
        ([part(0)], "error", "orphan-partition", "which is not in the file"),
        ([TOPIC, part(0, replicas=[1, 2, 7])], "note", "replica", "broker 7, which is not registered"),
        ([TOPIC, part(0, leader=9)], "error", "partition", "the leader is not in the ISR"),
        ([TOPIC, part(0, isr=[1, 9])], "error", "partition", "a broker of the ISR is no replica"),
        ([TOPIC, part(0, eligibleLeaderReplicas=[9])], "note", "partition", "an eligible leader replica is no replica"),
        ([TOPIC, part(0, directories=[OTHER_ID] * 3)], "note", "directory", "does not own"),
        ([TOPIC, TOPIC], "note", "repeated-topic", "topic orders is stated again"),
        ([TOPIC, ("TopicRecord", 0, {"name": "orders", "topicId": OTHER_ID})], "error", "duplicate", "of orders"),
        ([BROKERS[0]], "error", "duplicate", "a second REGISTER_BROKER_RECORD of 1"),
        (
            [("ConfigRecord", 0, {"resourceType": 2, "resourceName": "gone", "name": "n", "value": "v"})],
            "note",
            "config",
            "a config of topic gone",
        ),
        ([("NoOpRecord", 0, {})], "error", "delta", "NO_OP_RECORD, a change"),
        ([("UnfenceBrokerRecord", 0, {"id": 1, "epoch": 11})], "error", "delta", "UNFENCE_BROKER_RECORD"),
        ([("RemoveFeatureLevelRecord", 0, {"name": "f"})], "error", "dropped-type", "dropped after 3.2"),
        ([("RegisterBrokerRecord", 3, broker(7, brokerEpoch=100))], "note", "broker-epoch", "epoch 100"),
    ],
)
def test_records_that_don_t(records: list[Record], severity: str, rule: str, text: str) -> None:
    found = of(LEVEL, *BROKERS, *records)
    assert any((each[0], each[1]) == (severity, rule) and text in each[2] for each in found), found
    if severity == "note":
        assert not [each for each in found if each[0] == "error"]


def test_a_partition_id_out_of_all_bounds_costs_nothing() -> None:
    assert missing_below({0, 2**31 - 1}, 3) == [1, 2, 3]
    found = of(LEVEL, *BROKERS, TOPIC, part(0), part(2**31 - 1))
    assert [each[:2] for each in found] == [("note", "duplicate-partition")]


def test_a_file_without_a_level_is_of_the_time_before() -> None:
    found = of(*BROKERS, ("UnfenceBrokerRecord", 0, {"id": 1, "epoch": 11}))
    assert [(each[0], each[1]) for each in found] == [("note", "metadata-version")]


def test_directories_that_kafka_keeps_for_itself_are_nobody_s() -> None:
    unassigned = [DIRECTORIES[1], "A" * 21 + "Q", "A" * 22]
    assert of(LEVEL, *BROKERS, TOPIC, part(0, directories=unassigned)) == []


def test_many_alike_are_summed_up() -> None:
    found = of(LEVEL, *BROKERS, TOPIC, *(part(number, leader=9) for number in range(9)))
    assert [each[2] for each in found if each[1] == "partition"][-1] == "4 more partitions like these"


@pytest.mark.parametrize(
    ("ids", "plain"), [([0], True), ([0, 1, 2], True), ([0, 0], False), ([1, 2], False), ([0, 2], False)]
)
def test_figures_tell_whether_a_topic_s_partitions_run_from_0(ids: list[int], plain: bool) -> None:
    row = [len(ids), 0, max(ids), sum(ids), sum(each * each for each in ids), 0]
    assert is_plain(row) is plain


def test_an_odd_partition_in_a_log_is_a_note() -> None:
    """A controller takes an ISR with a broker that is no replica, and a leader that is not in the ISR."""
    odd = ("PartitionRecord", partition(0, isr=[1, 9], leader=2))
    (finding,) = verify(memoryview(metadata_batch(0, odd, newest=True)), f"{0:020d}.log")[:1]
    assert (finding.severity, finding.rule) == ("note", "partition")


def test_records_with_unknown_tags_are_counted() -> None:
    tagged = {"_unknownTaggedFields": [{"tag": 99, "data": b"x"}]}
    many = [("TopicRecord", 0, {"name": f"t{at}", "topicId": f"{'A' * 20}B{'AQg'[at]}"} | tagged) for at in range(3)]
    [found] = [each for each in of(LEVEL, *many) if each[1] == "unknown-tags"]
    assert found[2].endswith("has tagged fields that no release knows (and 2 more records)")
    [found] = [each for each in of(LEVEL, many[0]) if each[1] == "unknown-tags"]
    assert found[2].endswith("has tagged fields that no release knows")
