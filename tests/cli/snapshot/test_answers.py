"""Answers of nodes, held to an image; a real quorum: tests/real/test_drift.py."""

from typing import Any

from kcli.cli.snapshot.answers import config_changes, topic_changes
from kcli.snapshots.image.change_text import contrast
from tests.snapshots.made import OTHER_ID, TOPIC_ID, image

ZERO_ID = "AAAAAAAAAAAAAAAAAAAAAA"


def config(name: str, value: str | None, source: int = 1, *, sensitive: bool = False) -> dict[str, object]:
    return {"name": name, "value": value, "configSource": source, "isSensitive": sensitive}


def test_configs_that_a_node_has_otherwise() -> None:
    """Defaults, and what a broker has of its own, are no config of the topic."""
    held = [
        config("a", "1"),
        config("b", "2"),
        config("c", "9", 5),
        config("d", "9", 4),
        config("p", None, sensitive=True),
    ]
    result = {"resourceName": "orders", "configs": held}
    found = list(config_changes(result, {"a": "1", "b": "3", "e": "4", "p": "secret"}))
    assert [contrast(each, "there", "by the log") for each in found] == [
        "config TOPIC orders b: value 3 by the log, 2 there",
        "config TOPIC orders e: value 4 by the log, none there",
    ]
    assert list(config_changes(result, {"a": "1", "b": "2", "p": "other"})) == []


def part(number: int, **values: Any) -> dict[str, Any]:
    row = {"partitionIndex": number, "leaderId": 1, "leaderEpoch": 0, "replicaNodes": [1, 2, 3], "isrNodes": [1, 2, 3]}
    return row | {"errorCode": 0} | values


def topic(*parts: dict[str, Any], **values: Any) -> dict[str, Any]:
    return {"errorCode": 0, "name": "orders", "topicId": TOPIC_ID, "partitions": list(parts)} | values


def held(*topics: dict[str, Any], ids: bool = True) -> list[str]:
    return [contrast(each, "there", "by the log") for each in topic_changes(topics, image(), ids=ids)]


def test_topics_that_a_node_has_otherwise() -> None:
    assert held(topic(part(0), part(1))) == held(topic(part(0), part(1), topicId=ZERO_ID), ids=False) == []
    assert held(topic(part(0, isrNodes=[1], leaderEpoch=2))) == [
        "partition orders-0: leaderEpoch 0 by the log, 2 there, isr [1,2,3] by the log, [1] there",
        "partition orders-1: leader 1, leaderEpoch 0, replicas [1,2,3], isr [1,2,3] by the log, none there",
    ]
    assert held(topic(part(0), part(1), part(2)))[0].startswith("partition orders-2: none by the log, leader 1,")
    (other,) = held(topic(topicId=OTHER_ID))
    assert other.startswith(f"topic orders: topicId {TOPIC_ID} by the log, {OTHER_ID} there")
    assert held(topic(part(0), name="ghost", topicId=OTHER_ID)) == ["topic ghost: none by the log, partitions 1 there"]
    assert held(topic(errorCode=3, topicId=ZERO_ID)) == ["topic orders: partitions 2 by the log, none there"]
    assert held(topic(errorCode=3, name="gone", topicId=ZERO_ID)) == []


def test_what_a_node_does_not_say() -> None:
    """A topic that the client may not see, and a partition without a leader that can be reached."""
    assert held(topic(errorCode=29, topicId=ZERO_ID)) == []
    assert held(topic(part(0, errorCode=5, leaderId=-1), part(1))) == []
