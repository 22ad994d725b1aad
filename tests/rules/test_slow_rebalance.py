"""Rebalances that wait long for a member."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.messages import request, response
from tests.capture.wires import FIN, Wire
from tests.diagnose.captured import diagnosed, only
from tests.diagnose.captured import told as tells
from tests.rules.test_by_hand import SECOND, found, told


class Member:
    """A member of the group g, with a connection of its own. after: seconds at which it comes; instance: of a static
    member."""

    def __init__(self, name: str, port: int, after: float = 0, instance: str | None = None) -> None:
        self.name, self.number, self.instance = name, 0, instance
        self.wire = Wire(client=("10.0.0.1", port), seq=(port, 2 * port), start=Wire().now + int(after * SECOND)).open()

    def call(
        self, key: int, version: int, body: dict[str, object], answer: dict[str, object] | None, takes: float
    ) -> None:
        self.number += 1
        who = {"groupId": "g", "memberId": self.name} | ({"groupInstanceId": self.instance} if key != 13 else {})
        self.wire.client(request(key, version, self.number, {**who, **body}, self.name))
        self.wire.now += int(takes * SECOND)
        if answer is not None:
            self.wire.server(response(key, version, self.number, answer))

    def join(self, generation: int, takes: float, *, error: int = 0, answered: bool = True) -> Member:
        asked = {
            "sessionTimeoutMs": 10000, "rebalanceTimeoutMs": 60000, "protocolType": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        }  # fmt: skip
        answer = {
            "errorCode": error, "generationId": generation, "protocolName": "range", "protocolType": "consumer",
            "leader": "a", "memberId": self.name, "members": [],
        }  # fmt: skip
        self.call(11, 7, asked, answer if answered else None, takes)
        return self

    def sync(self, generation: int, takes: float = 0.01) -> Member:
        self.call(14, 3, {"generationId": generation, "assignments": []}, {"assignment": b""}, takes)
        return self

    def beat(self, times: int, generation: int = 1) -> Member:
        for _ in range(times):
            self.call(12, 3, {"generationId": generation}, {}, 0.01)
            self.rest(2.99)
        return self

    def leave(self) -> Member:
        self.call(13, 1, {}, {}, 0.01)
        return self.close()

    def close(self) -> Member:
        self.wire.add(0, FIN)
        return self

    def rest(self, seconds: float) -> Member:
        self.wire.now += int(seconds * SECOND)
        return self


def in_group(name: str, port: int, instance: str | None = None) -> Member:
    """A member of the first generation, 3 s later."""
    return Member(name, port, instance=instance).join(1, 0.1).sync(1).beat(1)


def test_a_member_that_ends_without_a_word(tmp_path: Path) -> None:
    stays, comes = in_group("a", 40000).beat(1).join(2, 12), Member("c", 42000, 6).join(2, 12.5)
    finding = told(found(tmp_path, stays.wire, comes.wire, in_group("b", 41000).close().wire), "slow-rebalance",
                   group="g", client=["b"])  # fmt: skip
    assert finding.evidence["state"] == "closed" and finding.evidence["waiting"] == 2
    assert finding.evidence["addresses"] == ["10.0.0.1:41000"]
    assert "waits 12.5 s for b (10.0.0.1:41000), whose connection had ended without LeaveGroup" in finding.text
    assert "close()" in finding.advice and "shorter than 10,000" in finding.advice


def test_a_rebalance_that_is_quick_or_of_a_member_that_left_is_none(tmp_path: Path) -> None:
    stays, comes = in_group("a", 40000).beat(1).join(2, 2), Member("c", 42000, 6).join(2, 2.5)
    assert not found(tmp_path, stays.wire, comes.wire, in_group("b", 41000).close().wire)
    alone = in_group("a", 40000).beat(1).join(2, 8)
    assert not found(tmp_path, alone.wire, in_group("b", 41000).leave().wire), "it left; for 8 s no other is looked for"


def test_a_member_that_is_silent_or_works_on(tmp_path: Path) -> None:
    stays, comes = in_group("a", 40000).beat(1).join(2, 12), Member("c", 42000, 6).join(2, 12.5)
    finding = told(found(tmp_path, stays.wire, comes.wire, in_group("b", 41000).wire), "slow-rebalance", client=["b"])
    assert finding.evidence["state"] == "silent" and "sent nothing more" in finding.text
    works = in_group("b", 41000).beat(5).join(2, 0.1)
    stays, comes = in_group("a", 40000).beat(1).join(2, 12), Member("c", 42000, 6).join(2, 12.3)
    finding = told(found(tmp_path, stays.wire, comes.wire, works.wire), "slow-rebalance", client=["b"])
    assert finding.evidence["state"] == "works" and finding.evidence["heartbeats"] == 4
    assert "max.poll.records" in finding.advice and "max.poll.interval.ms (60,000)" in finding.advice


def test_a_member_that_no_capture_shows_and_one_that_waits_at_its_end(tmp_path: Path) -> None:
    finding = told(
        found(tmp_path, Member("a", 40000).join(7, 25).sync(7).wire), "slow-rebalance", group="g", client=None
    )
    assert "a member that the capture does not show" in finding.text
    joining = [Member(f"m{each}", 40000 + each, 3 * each).join(1, 21 - 3 * each).sync(1).wire for each in range(6)]
    assert not found(tmp_path, *joining), "a new group waits on after each new member"
    waits = in_group("a", 40000).beat(1).join(2, 0, answered=False)
    finding = told(
        found(tmp_path, waits.wire, in_group("b", 41000).close().wire, in_group("c", 42000).beat(6).wire),
        "slow-rebalance", group="g",
    )  # fmt: skip
    assert finding.evidence["ended"] is False and set(finding.subject["client"]) == {"b", "c"}


def test_an_answer_that_the_capture_lacks_is_no_wait(tmp_path: Path) -> None:
    """The member says what it says only behind that answer."""
    member = in_group("a", 40000).beat(1).join(2, 0.1, answered=False).sync(2).beat(6, 2)
    assert not found(tmp_path, member.wire, in_group("b", 41000).beat(7).wire)


def test_a_leader_that_ends_before_it_says_who_reads_what(tmp_path: Path) -> None:
    leads, follows = in_group("a", 40000).join(2, 0.5).close(), in_group("b", 41000).join(2, 0.5).sync(2, 11)
    finding = told(found(tmp_path, leads.wire, follows.wire), "slow-rebalance", group="g", client=["a"])
    assert finding.evidence["request"] == "SyncGroup"


def test_a_static_member_is_known_by_its_instance(tmp_path: Path) -> None:
    gone, stays = in_group("b", 41000, "one").close(), in_group("a", 40000).beat(1).join(2, 12)
    finding = told(found(tmp_path, stays.wire, gone.wire), "slow-rebalance", client=["b"])
    assert "removeMembersFromConsumerGroup" in finding.advice
    back = Member("b2", 42000, 5, "one").join(2, 13)
    finding = told(found(tmp_path, stays.wire, gone.wire, back.wire), "slow-rebalance", client=None)
    assert finding.evidence["waiting"] == 2, "it is back, and waits for another itself"


def test_a_member_that_is_killed_and_started_again_waits_for_itself() -> None:
    finding = only("slow-rebalance-killed")
    tells(finding, group="kil", client=["kil-2"])
    assert (finding.finding, finding.severity) == ("slow-rebalance", "warning")
    assert (finding.evidence["waiting"], finding.evidence["waited_seconds"]) == (3, 11.906)


def test_a_member_that_never_comes_back_with_its_id() -> None:
    finding = only("slow-rebalance-given")
    tells(finding, group="wobd", client=["consumer-wobd-1"])
    assert finding.evidence["state"] == "given" and finding.evidence["waiting"] == 6


def test_streams_that_do_not_leave_as_they_close_and_who_waits_is_not_stuck() -> None:
    """Each instance restarted. One sends heartbeats behind a SyncGroup that nobody answers, and closes."""
    finding = only("slow-rebalance-streams")
    tells(finding, group="alo1", client=["a0-StreamThread-1-consumer"])
    assert finding.finding == "slow-rebalance" and "leaveGroup(true)" in finding.advice
    assert not diagnosed("slow-rebalance-streams").explained


class Newer(Member):
    """A member of the protocol of KIP-848."""

    def beats(
        self, epochs: tuple[int, int], *, given: bool = False, times: int = 1, instance: str | None = None,
        error: int = 0,
    ) -> Newer:  # fmt: skip
        """Beat, each 5 s. epochs: it says its own, and is told one; given: with the partitions that it may keep."""
        for _ in range(times):
            said, told_one = epochs
            partitions = {"topicPartitions": [{"topicId": "B" * 21 + "A", "partitions": [0]}]}
            answer = {"errorCode": error, "memberId": self.name, "memberEpoch": told_one}
            answer |= {"assignment": partitions if given else None}
            self.number += 1
            asked = {"groupId": "g", "memberId": self.name, "memberEpoch": said, "rebalanceTimeoutMs": 300_000,
                     "instanceId": instance}  # fmt: skip
            self.wire.client(request(68, 0, self.number, asked, self.name))
            self.wire.server(response(68, 0, self.number, answer))
            self.rest(5)
        return self


def test_a_member_that_keeps_partitions_that_it_is_to_give_up(tmp_path: Path) -> None:
    """Each beat is answered at once: the epoch that it stays in tells."""

    def group(stays: int) -> list[Wire]:
        slow = Newer("slow", 40000).beats((3, 3), times=2).beats((3, 3), given=True).beats((3, 3), times=stays)
        slow.beats((3, 4), given=True).beats((4, 4), times=2)
        comes = Newer("comes", 40001, after=7).beats((0, 4)).beats((4, 4), times=4)
        return [slow.wire, comes.wire]

    finding = told(found(tmp_path, *group(4)), "slow-rebalance", group="g", client=["slow"])
    assert finding.evidence["state"] == "keeps" and finding.evidence["waiting_clients"] == ["comes"]
    assert finding.evidence["waited_seconds"] == pytest.approx(25, abs=0.1)
    assert "(10.0.0.1:40000), alive: it had to revoke partitions, and had not yet; in a newer epoch: 1 member" in (
        finding.text
    )
    assert not found(tmp_path, *group(0)), "it hears of it by one beat, and says so by the next"


def test_who_is_told_all_that_it_has_is_to_give_nothing_up(tmp_path: Path) -> None:
    """A member that says all of itself, as behind a lost connection, is answered with its partitions."""
    stays = Newer("stays", 40000).beats((3, 3), given=True).beats((3, 3), times=5)
    other = Newer("other", 40001).beats((3, 3), given=True).beats((3, 3), times=5)
    assert not found(tmp_path, stays.wire, other.wire)


def test_a_member_that_says_its_instance_as_it_joins_and_leaves_is_one(tmp_path: Path) -> None:
    """librdkafka: in between it says only what has changed (KIP-848). It is restarted, and another lives on."""

    def lives(name: str, after: float, times: int) -> Newer:
        member = Newer(name, 41000 + int(after), after=after)
        member.beats((0, 3), instance="one").beats((3, 3), times=times).beats((-2, -2), instance="one").close()
        return member

    stays = Newer("stays", 40000).beats((3, 3), given=True, times=12).beats((3, 4)).beats((4, 4), times=4)
    assert not found(tmp_path, lives("first", 0, 2).wire, lives("then", 19, 7).wire, stays.wire)


def test_a_real_member_that_works_on_and_keeps_its_partitions() -> None:
    """Java 4.4: 7 records of 2 s between two polls; another came. It falls behind, too."""
    [finding] = [each for each in diagnosed("slow-rebalance-epochs").findings if each.finding == "slow-rebalance"]
    assert finding.severity == "warning"
    tells(finding, group="k9", client=["slow-a"])
    assert finding.evidence["heartbeats"] == 6
