import struct
from typing import Any

from kcli.records.builder import build_batch, build_control_batch
from kcli.snapshots.history.history import Event, HistoryLoader
from kcli.snapshots.reading.decoding import Decoder
from tests.snapshots.made import OTHER_ID, TOPIC_ID, snapshot

Record = tuple[str, dict[str, Any]]


def batch(offset: int, *records: Record, time: int = 5000) -> bytes:
    rows = [(time, None, Decoder().write(name, 0, value), ()) for name, value in records]
    return build_batch(rows, offset, partition_leader_epoch=3)


def config(name: str, value: str | None, resource: str = "orders") -> Record:
    return "ConfigRecord", {"resourceType": 2, "resourceName": resource, "name": name, "value": value}


def events(*batches: bytes, **options: Any) -> list[Event]:
    found: list[Event] = []
    loader = HistoryLoader(found.append, **options)
    loader.snapshot(memoryview(snapshot()), end_offset=100, epoch=2)
    loader.segment(memoryview(b"".join(batches)))
    return found


def test_what_each_record_changes() -> None:
    found = events(
        batch(100, ("TopicRecord", {"name": "audit", "topicId": OTHER_ID}), config("a", "1"), config("a", "1")),
        batch(103, config("a", "2"), config("a", None), ("NoOpRecord", {}), time=6000),
        batch(106, ("PartitionChangeRecord", {"topicId": TOPIC_ID, "partitionId": 1, "isr": [1], "leader": 2})),
    )
    assert [(each.offset, each.timestamp, each.epoch, each.change.kind, each.change.key) for each in found] == [
        (100, 5000, 3, "created", (OTHER_ID,)),
        (101, 5000, 3, "created", ("TOPIC", "orders", "a")),
        (103, 6000, 3, "changed", ("TOPIC", "orders", "a")),
        (104, 6000, 3, "deleted", ("TOPIC", "orders", "a")),
        (106, 5000, 3, "changed", ("orders", 1)),
    ]
    assert found[-1].record == "PartitionChangeRecord"
    assert found[-1].change.fields["isr"] == ([1, 2, 3], [1])


def test_a_topic_and_what_goes_with_it() -> None:
    found = events(batch(100, config("a", "1"), ("RemoveTopicRecord", {"topicId": TOPIC_ID})))
    assert [(each.change.table, each.change.kind) for each in found[1:]] == [
        ("topics", "deleted"),
        ("partitions", "deleted"),
        ("partitions", "deleted"),
        ("configs", "deleted"),
    ]


def test_a_transaction_changes_something_when_it_ends() -> None:
    opened = batch(100, ("BeginTransactionRecord", {}), config("a", "1"))
    assert events(opened) == []
    (ended,) = events(opened, batch(102, ("EndTransactionRecord", {}), time=7000))
    assert (ended.offset, ended.timestamp) == (101, 7000)
    assert events(opened, batch(102, ("AbortTransactionRecord", {}))) == []


def test_secrets_and_choice() -> None:
    data = batch(
        100, config("ssl.key.password", "1"), config("ssl.key.password", "2"), config("retention.ms", "3", "other")
    )
    hidden = events(data)
    assert [each.change.after["value"] for each in hidden if each.change.after] == [
        {"redacted": 1},
        {"redacted": 1},
        "3",
    ]
    assert hidden[1].change.columns == ("value",)
    assert [each.change.after["value"] for each in events(data, secrets=True) if each.change.after] == ["1", "2", "3"]
    chosen = events(data, is_wanted=lambda found: found[1][0] == (2, "other"))
    assert [each.offset for each in chosen] == [102]


def test_control_records() -> None:
    leader = b"\0\0\0\0\0\2\1\1\0"
    kinds = [(struct.pack(">hh", 0, 5), b"\0\0\0\1\0"), (struct.pack(">hh", 0, 5), b"\0\0\0\1\0")]
    found = events(build_control_batch(kinds, 1, 100, partition_leader_epoch=3))
    assert [(each.change.table, each.change.key, each.change.kind) for each in found] == [
        ("features", ("kraft.version",), "created")
    ]
    (elected,) = events(build_control_batch([(struct.pack(">hh", 0, 2), leader)], 1, 100, partition_leader_epoch=3))
    assert elected.change.after == {"name": "metadata quorum", "leader": 2, "epoch": 3}
