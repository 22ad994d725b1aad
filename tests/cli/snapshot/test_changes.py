import json

import pytest

from kcli.cli.snapshot.changes import event_json, event_text, is_implied, take_filters
from kcli.snapshots.history.history import Event
from kcli.snapshots.image.diff import Change, row_change

PARTITION = {"topicId": "x", "topic": "orders", "partition": 3, "leader": 1, "isr": [1, 2], "replicas": [1, 2, 3]}
ACL = {"id": "i", "principal": "User:a", "resourceName": "orders"}
CONFIG = {"resourceType": "TOPIC", "resourceName": "orders", "name": "retention.ms", "value": "1"}
CHANGES = {
    "topic": row_change("topics", None, {"topicId": "x", "name": "orders", "partitions": 0}),
    "moved": row_change("partitions", PARTITION, PARTITION | {"leader": 2}),
    "made": row_change("partitions", None, PARTITION),
    "acl": row_change("acls", ACL, None),
    "config": row_change("configs", None, CONFIG),
    "default": row_change("configs", None, CONFIG | {"resourceType": "BROKER", "resourceName": ""}),
    "broker": row_change("brokers", {"broker": 1, "fenced": False}, {"broker": 1, "fenced": True}),
}


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({}, "topic moved made acl config default broker"),
        ({"topic": "ord*"}, "topic moved made config"),
        ({"topic": "x"}, ""),
        ({"broker": 1}, "moved made default broker"),
        ({"broker": 3}, "made default"),
        ({"acl": "User:*"}, "acl"),
        ({"acl": "orders"}, "acl"),
        ({"config": "retention.*"}, "config default"),
        ({"topic": "*", "broker": 2}, "moved made"),
    ],
)
def test_choice(options: dict[str, object], chosen: str) -> None:
    given: dict[str, object] = {"topic": None, "broker": None, "acl": None, "config": None}
    tests = take_filters(given | options)
    assert [name for name, change in CHANGES.items() if all(test(change) for test in tests)] == chosen.split()


def event(change: Change, record: str = "X") -> Event:
    return Event(7, 1_700_000_000_123, 2, record, change)


def test_lines() -> None:
    assert event_text(event(CHANGES["moved"])) == (
        "2023-11-14T22:13:20.123Z         7     2  ~ partition orders-3: leader 1 -> 2"
    )
    assert event_text(Event(7, -1, 2, "X", CHANGES["topic"])) == "-1 ms         7     2  + topic orders"
    led = row_change("leader", None, {"name": "metadata quorum", "leader": 4, "epoch": 2})
    assert event_text(event(led)).endswith("  ~ node 4 leads the metadata quorum")
    assert json.loads(event_json(event(CHANGES["acl"], "R"))) == {
        "offset": 7, "time": "2023-11-14T22:13:20.123Z", "epoch": 2, "record": "R",
        "change": "deleted", "table": "acls", "key": ["i"], "row": ACL,
    }  # fmt: skip


def test_what_goes_with_a_topic() -> None:
    gone = row_change("partitions", PARTITION, None)
    assert is_implied(event(gone, "RemoveTopicRecord"))
    assert not is_implied(event(gone, "X"))
    assert not is_implied(event(CHANGES["acl"], "RemoveTopicRecord"))
