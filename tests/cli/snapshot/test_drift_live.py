"""Answers of nodes, held to an image; a real quorum: tests/real/test_drift.py."""

from kcli.cli.snapshot.drift_live import LiveNode, LiveView, nodes_of
from kcli.client.address import Address
from kcli.snapshots.image.diff import row_change
from kcli.snapshots.quorum.described import Described, Member, ReplicaKey
from tests.snapshots.made import broker, image


def test_who_is_asked() -> None:
    found = image()
    found.brokers = {1: broker(1)}
    found.brokers[1]["endPoints"].append({"name": "S", "host": "s", "port": 1, "securityProtocol": 2})
    found.controllers = {4: broker(4) | {"controllerId": 4}}
    assert [(node.name, str(node.address)) for node in nodes_of(found, "PLAINTEXT")] == [
        ("controller 4", "b4:9092"),
        ("broker 1", "b1:9092"),
    ]
    assert [node.name for node in nodes_of(found, "SASL_PLAINTEXT")] == ["broker 1"]


def test_the_view() -> None:
    one, two, three = (LiveNode(f"broker {number}", number, Address("h", number)) for number in (1, 2, 3))
    row = {"resourceType": "TOPIC", "resourceName": "t", "name": "a", "value": "5"}
    change = row_change("configs", row, None)
    one.differing, two.differing, three.reason = {}, {(change.table, change.key): change}, "not asked: closed"
    one.log, one.shown, two.shown = "served", ("topics", "configs"), ("configs",)
    members = [Member(ReplicaKey(1), 100), Member(ReplicaKey(2), 93)]
    view = LiveView([one, two, three], 100, Described(1, 1, 100, tuple(members), ()))
    assert view.is_drift
    assert list(view.lines()) == ["config TOPIC t a: none by the log, value 5 on broker 2"]
    assert view.table()[1:] == [
        ["broker 1", "h:1", "0", "served", "topics, configs: same"],
        ["broker 2", "h:2", "7", "?", "configs: 1 differ"],
        ["broker 3", "h:3", "?", "?", "not asked: closed"],
    ]
    rows = list(view.rows())
    assert rows[-1] == {
        "event": "drift",
        "table": "configs",
        "key": ["TOPIC", "t", "a"],
        "values": {"log": None, "broker 2": row},
    }
    assert view.verdict == "2 of 3 nodes asked, the log up to offset 100: 1 object differs"
    two.differing, view.unseen = {}, 2
    assert [view.is_drift] == [False]
    assert view.verdict.endswith("the same; no node shows 2 configs of other things than its topics")


def test_a_dead_directory_is_not_the_node() -> None:
    """Of a replaced disk the leader remembers the old voter; the node fetches as an observer, and lacks nothing."""
    now = 1_700_000_100_000
    voters = (Member(ReplicaKey(1, "a"), 5000, now), Member(ReplicaKey(3, "old"), 174, now - 60_000))
    quorum = Described(1, 2, 5000, voters, (Member(ReplicaKey(3, "new"), 5000, now),), now)
    view = LiveView([LiveNode("controller 3", 3, Address("h", 3))], 5000, quorum)
    assert view.table()[1][2] == "0"
    (found,) = view.stale
    assert (found.finding, found.subject) == ("directory-id-mismatch", {"node": 3})
    assert "remove-controller --controller-id 3 --controller-directory-id old" in found.advice
    assert view.is_drift
    dead = (Member(ReplicaKey(3, "dead"), 174, now - 60_000),)
    alive = Described(1, 2, 5000, (voters[0], Member(ReplicaKey(3, "new"), 4999, now)), dead, now)
    view = LiveView([LiveNode("controller 3", 3, Address("h", 3))], 5000, alive)
    assert view.table()[1][2] == "1"
    assert not view.is_drift
