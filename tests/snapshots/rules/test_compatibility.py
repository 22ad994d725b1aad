from typing import Any

import pytest

from kcli.errors import UsageError
from kcli.snapshots.image.image import MIGRATING, Image
from kcli.snapshots.rules.compatibility import CHANGED, HELD, misfits, parse_level, refused_by_kafka
from kcli.snapshots.rules.levels import NAMES
from kcli.snapshots.rules.supported import FEATURES, LEAST
from tests.snapshots.made import TOPIC_ID, broker, image, partition

NODE: dict[str, Any] = {"features": []}
ACL = {"principal": "User:a", "host": "10.0.0.0/8"}
ZK = {"isMigratingZkBroker": True}


def plain() -> Image:
    """An image that any level holds."""
    found = image(level=21)
    for number in (1, 2, 3):
        found.brokers[number] = broker(number, logDirs=[], features=[])
    for topic in found.topics.values():
        for each in topic.partitions.values():
            assert isinstance(each, dict)
            each["directories"] = [MIGRATING] * 3
    return found


def lost(found: Image, target: int) -> list[tuple[str, int, str]]:
    return [(each.what, each.count, each.example) for each in misfits(found, target) if each.severity == "error"]


def test_levels_by_name() -> None:
    assert [parse_level(each) for each in ("3.9", "3.9-IV0", "21", "4.4", "4.4-IV0", "3.3")] == [21, 21, 21, 33, 31, 7]
    for text in ("x", "3.2", "99", "", "-3", "3"):
        with pytest.raises(UsageError, match=r"3\.3-IV3 to 4\.5-IV0"):
            parse_level(text)


def test_what_every_level_holds() -> None:
    assert [lost(plain(), level) for level in range(LEAST, max(NAMES) + 1)] == [[]] * len(range(LEAST, max(NAMES) + 1))


@pytest.mark.parametrize(
    ("least", "change", "what", "example"),
    [
        (8, lambda f: f.brokers[1].update(ZK), "lost: that brokers migrate from ZooKeeper", "broker 1"),
        (11, lambda f: f.scram.update({1: {"bob": {}}}), "lost: SCRAM credentials", "bob"),
        (14, lambda f: f.tokens.update(t={}), "lost: delegation tokens", "t"),
        (15, lambda f: f.controllers.update({5: NODE}), "lost: registrations of controllers", "controller 5"),
        (15, lambda f: f.configs.update({(16, "m"): {}}), "its releases do not know configs of client metrics", "m"),
        (17, lambda f: f.brokers[2].update(logDirs=[TOPIC_ID]), "lost: log directories of brokers", "broker 2"),
        (22, lambda f: f.configs.update({(32, "g"): {}}), "its releases do not know configs of groups", "g"),
        (30, lambda f: f.brokers[2].update(cordonedLogDirs=["x"]), "lost: cordoned log directories", "broker 2"),
        (32, lambda f: f.acls.update(a=ACL), "not supported: ACLs for networks (CIDR)", "User:a from 10.0.0.0/8"),
    ],
)  # fmt: skip
def test_what_a_level_does_not_hold(least: int, change: Any, what: str, example: str) -> None:
    found = plain()
    change(found)
    assert lost(found, least - 1) == [(what, 1, example)]
    assert lost(found, least) == []


def test_partitions() -> None:
    found = image(("PartitionRecord", partition(1, eligibleLeaderReplicas=[2])), level=30)
    found.brokers.clear()
    assert lost(found, 23) == []
    assert lost(found, 22) == [("lost: eligible leader replicas", 1, "orders-1")]
    assert lost(found, 16)[0] == ("lost: directories of replicas", 2, "orders-0")
    last = image(("PartitionRecord", partition(0, leader=-1, isr=[], lastKnownElr=[3])))
    last.brokers.clear()
    assert lost(last, 22) == [("lost: eligible leader replicas", 1, "orders-0")]


def test_features_and_nodes() -> None:
    found = plain()
    found.features |= {"group.version": 1, "share.version": 2, "other.version": 1}
    found.kraft_version = 1
    assert [what for what, *_ in lost(found, 20)] == [
        "feature group.version level 1 is not supported",
        "feature kraft.version level 1 is not supported",
        "feature share.version level 2 is not supported",
    ]
    notes = [each.what for each in misfits(found, 33) if each.severity == "note"]
    assert "feature other.version level 1 is not known here" in notes
    span = {"name": "metadata.version", "minSupportedVersion": 7, "maxSupportedVersion": 21}
    found.brokers[3]["features"] = [span]
    assert lost(found, 22)[0][0] == "broker 3 supports 3.3-IV3 to 3.9-IV0 only"


def test_kraft_version_of_a_static_quorum() -> None:
    """As kafka-features of 3.9.1 writes it into its log: 3.7.2 and 3.8.1 end there, and 3.9.1 does not."""
    found = plain()
    found.features["kraft.version"] = 1
    assert [what for what, *_ in lost(found, 20)] == ["feature kraft.version level 1 is not supported"]
    assert lost(found, 21) == []
    assert "does not make the voters dynamic" in next(each.what for each in misfits(found, 21))


def test_records_in_another_version() -> None:
    notes = [(each.what, each.count) for each in misfits(plain(), 30) if each.severity == "note"]
    assert notes == [
        ("RegisterBrokerRecord is written as v4, not v3", 3),
        ("PartitionRecord is written as v2, not v1", 2),
    ]


def test_the_state_of_share_groups() -> None:
    found = plain()
    found.topics[b"0" * 16] = type(found.sorted_topics()[0])(b"0" * 16, "__share_group_state")
    assert [example for _, _, example in lost(found, 25)] == ["__share_group_state"]


def test_what_kafka_refuses() -> None:
    assert [refused_by_kafka(33, target) for target in (31, 32, 33)] == [True, True, False]
    assert not refused_by_kafka(22, 18)
    assert {least for least, *_ in HELD} <= {*CHANGED, 15, 22}
    assert all(level in NAMES for levels in FEATURES.values() for level in levels.values())
