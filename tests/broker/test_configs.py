"""Configs: a broker's over Kafka's defaults, a topic's over the broker's."""

import pytest

from kcli.broker.configs import BROKER, TOPIC, Configs, parse, racks_of
from kcli.errors import UsageError


def test_a_topic_follows_its_broker_unless_it_has_its_own() -> None:
    broker = Configs({"log.segment.bytes": "5000", "message.max.bytes": "77"})
    made = broker.of_topic({"max.message.bytes": "88"})
    assert (made.settings.segment_bytes, made.max_message_bytes) == (5000, 88)
    assert broker.of_topic({}).max_message_bytes == 77
    assert Configs().of_topic({}).settings.segment_bytes == 1 << 30


def test_every_default_is_a_value() -> None:
    for table in (BROKER, TOPIC):
        for name, each in table.items():
            if each.default:
                parse(table, name, each.default)
    assert all(each.broker_name in BROKER for each in TOPIC.values() if each.broker_name)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("segment.bytes", "13", "14 to"),
        ("segment.bytes", "x", "a whole number"),
        ("segment.bytes", "1_000_000", "a whole number"),
        ("message.timestamp.type", "Never", "CreateTime, LogAppendTime expected"),
        ("cleanup.policy", "delete,burn", "delete, compact expected"),
        ("retention.mss", "1", "did you mean retention.ms"),
    ],
)
def test_what_is_no_value(name: str, text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        parse(TOPIC, name, text)


def test_a_config_is_taken_back() -> None:
    """To what the broker was started with."""
    broker = Configs({"num.partitions": "4"})
    broker.set("num.partitions", "5")
    assert broker.int("num.partitions") == 5
    broker.set("num.partitions", None)
    assert broker.int("num.partitions") == 4
    with pytest.raises(UsageError):
        broker.set("num.partitions", "many")


def test_the_racks_of_nodes() -> None:
    """One for all, or one for each; a comma belongs to the rack of a single node."""
    given = ((None, 2, [None, None]), ("a", 2, ["a", "a"]), ("a, b", 2, ["a", "b"]), ("a,", 2, ["a", None]))
    for text, nodes, found in (*given, ("a,b", 1, ["a,b"])):
        assert racks_of(Configs({"broker.rack": text} if text else {}), nodes) == found
    with pytest.raises(UsageError, match="2 racks: 1 or 3 expected"):
        racks_of(Configs({"broker.rack": "a,b"}), 3)
