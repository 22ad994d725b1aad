from dataclasses import replace
from typing import Any

from kcli.snapshots.quorum.answers import ControllerAnswer, judge_answers
from kcli.snapshots.quorum.described import Described, Member, ReplicaKey, described, stale_members

NOW = 1_700_000_000_000


def leading(*ids: int) -> Described:
    return Described(ids[0], 5, 100, tuple(Member(ReplicaKey(each, f"d{each}"), 100, NOW) for each in ids), (), NOW)


def judged(*answers: ControllerAnswer) -> list[tuple[str, str, Any]]:
    return [(each.finding, each.severity, each.subject.get("node")) for each in judge_answers(answers)]


def test_a_quorum_that_is_as_it_should_be() -> None:
    answers = [
        ControllerAnswer("c1:9", node=1, leader=1, epoch=5, quorum=leading(1, 2)),
        ControllerAnswer("c2:9", node=2, leader=1, epoch=5),
    ]
    assert judged(*answers) == [("healthy", "info", 1)]


def test_nobody_leads() -> None:
    answers = [
        ControllerAnswer("c1:9", "refused", node=1),
        ControllerAnswer("c2:9", node=2, epoch=7),
        ControllerAnswer("c3:9", "refused", node=3),
    ]
    found = judged(*answers)
    expected = [("controller-unreachable", 1), ("controller-unreachable", 3), ("no-leader", None)]
    assert found == [(name, "critical", node) for name, node in expected]


def test_a_controller_that_does_not_hear_the_leader() -> None:
    answers = [
        ControllerAnswer("c1:9", node=1, leader=1, epoch=5, quorum=leading(1, 2)),
        ControllerAnswer("c2:9", node=2, epoch=9),
    ]
    assert judged(*answers) == [("leader-unknown", "warning", 2), ("leader", "info", 1)]


def test_a_leader_that_was_cut_off_is_not_taken_for_the_leader() -> None:
    old = replace(leading(1, 2, 3), epoch=4)
    answers = [
        ControllerAnswer("c1:9", node=1, leader=1, epoch=4, quorum=old),
        ControllerAnswer("c2:9", node=2, leader=2, epoch=5, quorum=leading(2, 1, 3)),
        ControllerAnswer("c3:9", node=3, leader=2, epoch=5),
    ]
    assert judged(*answers) == [("leader-unknown", "warning", 1), ("leader", "info", 2)]


def test_a_controller_that_does_not_vote() -> None:
    answers = [
        ControllerAnswer("c1:9", node=1, leader=1, epoch=5, quorum=leading(1, 2)),
        ControllerAnswer("c2:9", node=2, leader=1, epoch=5),
        ControllerAnswer("c3:9", node=3, leader=1, epoch=5),
    ]
    assert judged(*answers) == [("not-a-voter", "warning", 3), ("leader", "info", 1)]
    advice = judge_answers(answers)[0].advice
    # In this order: kafka-metadata-quorum does not know the option behind the verb.
    assert "--bootstrap-controller c1:9 --command-config server.properties add-controller" in advice


def test_a_certificate_and_another_cluster() -> None:
    one = ControllerAnswer("c1:9", node=1, leader=1, epoch=5, quorum=leading(1, 2), cluster_id="a")
    two = ControllerAnswer("c2:9", "its certificate is not trusted: certificate has expired", True, node=2)
    others = [
        ControllerAnswer("c3:9", node=3, leader=1, epoch=5, cluster_id="a"),
        ControllerAnswer("c4:9", node=4, cluster_id="b"),
    ]
    found = judged(one, two, *others)
    assert ("certificate", "warning", 2) in found
    assert ("cluster-id-mismatch", "warning", 4) in found


def test_a_describe_quorum_response() -> None:
    member = {"replicaId": 3, "replicaDirectoryId": "x", "logEndOffset": 9, "lastFetchTimestamp": 1}
    leader = {"replicaId": 1, "logEndOffset": 10, "lastFetchTimestamp": -1, "lastCaughtUpTimestamp": 40_000}
    part = {"errorCode": 0, "leaderId": 1, "leaderEpoch": 2, "highWatermark": 9, "observers": []}
    found = described({"topics": [{"partitions": [part | {"currentVoters": [member, leader]}]}]})
    assert found is not None
    assert [each.key for each in found.voters] == [ReplicaKey(1), ReplicaKey(3, "x")]
    assert [found.is_stale(each) for each in found.voters] == [False, True]
    assert described({"topics": [{"partitions": [part | {"errorCode": 6}]}]}) is None


def test_a_replaced_disk_is_seen_at_once() -> None:
    """A 4.4 controller whose disk was replaced a moment ago: its voter is not stale for half a minute yet."""
    lead, voter = leading(1, 2).voters
    new = Member(ReplicaKey(2, "new"), 100, NOW)
    moment = replace(leading(1, 2), voters=(lead, replace(voter, fetched=NOW - 5_000)), observers=(new,))
    found = [(each.finding, each.evidence.get("fetchesAs")) for each in stale_members(moment)]
    assert found == [("directory-id-mismatch", "new")]
    returned = replace(moment, voters=(lead, voter), observers=(replace(new, fetched=NOW - 5_000),))
    assert not list(stale_members(returned))
