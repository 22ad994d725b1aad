"""Members and producers that another process puts out once; members that die, or were stuck before the capture."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.diagnose import INFO, Finding, diagnose
from tests.capture.messages import request, response
from tests.capture.wires import pcap
from tests.rules.test_by_hand import SECOND, Talk, beat_and_write, fetched, found, told
from tests.rules.test_lively import given
from tests.rules.test_slow_rebalance import Member, Newer, in_group


def worth_a_word(folder: Path) -> list[Finding]:
    """What is told of the last captured talks without a warning."""
    return [each for each in diagnose([str(folder / "a.pcap")]).findings if each.severity == INFO]


def seat_taken(silence: float) -> list[Member]:
    """Two processes with one group.instance.id; the first is silent for so long before it is put out."""
    old = in_group("old", 40000, "one").beat(2)
    old.rest(silence).call(12, 3, {"generationId": 1}, {"errorCode": 82}, 0.01)
    new = Member("new", 41000, 8, "one").join(2, 0.1).sync(2).beat(6, 2)
    return [old.close(), new]


def test_a_static_member_at_work_is_put_out_once_and_ends(tmp_path: Path) -> None:
    assert not found(tmp_path, *(each.wire for each in seat_taken(0))), "a deployment may mean it"
    [finding] = worth_a_word(tmp_path)
    assert finding.finding == "duplicate-static-member" and finding.subject["client"] == ["new", "old"]
    assert "the first was working, and was fenced, 1 time" in finding.text
    assert not found(tmp_path, *(each.wire for each in seat_taken(15))), "it was replaced, and comes back too late"
    [word] = worth_a_word(tmp_path)
    assert word.finding == "duplicate-static-member" and word.advice.startswith("nothing, if it was replaced")


def test_a_static_member_that_is_restarted_is_no_fault(tmp_path: Path) -> None:
    new = Member("new", 41000, 8, "one").join(2, 0.1).sync(2).beat(6, 2)
    assert not found(tmp_path, in_group("old", 40000, "one").beat(2).close().wire, new.wire)
    assert not worth_a_word(tmp_path)


def id_taken(silence: float, *, comes_back: bool = True) -> list[Talk]:
    """Two producers with one transactional.id; the first is silent for so long before it is fenced."""
    who = {"transactionalId": "pay", "producerId": 7}
    start = {"transactionalId": "pay", "transactionTimeoutMs": 60_000, "producerId": -1, "producerEpoch": -1}
    old, new = Talk("old", 40000), Talk("new", 41000)
    old.call(22, 4, start, {"errorCode": 0, "producerId": 7, "producerEpoch": 0})
    for _ in range(4):
        old.call(26, 3, {**who, "producerEpoch": 0, "committed": True}, {"errorCode": 0}, SECOND)
    new.wire.now = old.wire.now
    new.call(22, 4, start, {"errorCode": 0, "producerId": 7, "producerEpoch": 2})
    for _ in range(9):
        new.call(26, 3, {**who, "producerEpoch": 2, "committed": True}, {"errorCode": 0}, SECOND)
    old.wire.now += int((silence + 0.2) * SECOND)
    if comes_back:
        old.call(26, 3, {**who, "producerEpoch": 0, "committed": True}, {"errorCode": 90}, SECOND)
    return [old, new]


def test_a_producer_at_work_is_put_out_once_and_ends(tmp_path: Path) -> None:
    assert not found(tmp_path, *id_taken(0)), "a deployment may mean it"
    [finding] = worth_a_word(tmp_path)
    assert finding.finding == "transactional-id-clash" and finding.subject["client"] == ["new", "old"]
    assert "was taken from a producer that was using it (new (10.0.0.1:41000), old (10.0.0.1:40000))" in finding.text
    assert not found(tmp_path, *id_taken(8)), "it was replaced, and comes back too late"
    [word] = worth_a_word(tmp_path)
    assert word.finding == "transactional-id-clash" and word.advice.startswith("nothing, if it was replaced")
    assert not found(tmp_path, *id_taken(8, comes_back=False)) and not worth_a_word(tmp_path), "a restart"


@pytest.mark.parametrize(("other", "cause"), [(False, "errors-again"), (True, "transactional-id-clash")])
def test_an_unknown_producer_id_is_another_producers_or_expired(other: bool, cause: str, tmp_path: Path) -> None:
    start = {"transactionalId": "pay", "transactionTimeoutMs": 60_000, "producerId": -1, "producerEpoch": -1}
    talks = []
    for number in range(5):
        talk, rival = Talk("nightly", 42000 + number), Talk("rival", 43000 + number)
        talk.wire.now += 20 * number * SECOND
        who = {"transactionalId": "pay", "producerId": 2 * number, "producerEpoch": 0, "committed": True}
        talk.call(22, 4, start, {"errorCode": 0, "producerId": 2 * number, "producerEpoch": 0})
        talk.call(26, 3, who, {"errorCode": 0}, 14 * SECOND).call(26, 3, who, {"errorCode": 49})
        rival.wire.now = talk.wire.now - 5 * SECOND
        talks += (
            [talk, rival.call(22, 4, start, {"producerId": 2 * number + 1, "producerEpoch": 0})] if other else [talk]
        )
    finding = told(found(tmp_path, *talks), cause)
    assert other or "had forgotten its transactional.id: nightly pauses" in finding.advice


@pytest.mark.parametrize("every", [1, 3])
def test_a_producer_aborts_its_transactions(every: int, tmp_path: Path) -> None:
    """Of those that commit two of three one hears nothing. It commits offsets of the group whose coordinator it asks
    for.
    """
    talk = Talk("copier").call(10, 3, {"key": "crew", "keyType": 0}, {"nodeId": 1, "host": "10.0.0.2", "port": 9092})
    for number in range(36):
        who = {"transactionalId": "copy", "producerId": 7, "producerEpoch": 0, "committed": number % every != 0}
        talk.call(26, 3, who, {"errorCode": 0})
    findings = found(tmp_path, talk)
    if every == 1:
        finding = told(findings, "transactions-aborted", transactionalId="copy", client=["copier"])
        assert "36 of 36 in 17.6 s" in finding.text
        assert (finding.subject["group"], finding.spares) == (["crew"], ())
    else:
        assert not findings


@pytest.mark.parametrize(("partition", "is_stuck"), [(0, True), (1, False)])
def test_a_member_that_was_stuck_before(partition: int, is_stuck: bool, tmp_path: Path) -> None:
    """It beats; what grows is a partition that another of its group reads, or one that nobody of it asks for."""
    stuck, reads, source = Talk("stuck", 40000), Talk("reads", 40001), Talk("source", 40002)
    beat_and_write(stuck, source, "stuck", 24)
    for _ in range(8):
        reads.call(12, 3, {"groupId": "g", "generationId": 1, "memberId": "reads"}, {}, SECOND // 10)
        for _ in range(5):
            asked = {
                "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "sessionId": 0, "sessionEpoch": -1,
                "topics": [{"topic": "orders", "partitions": [{"partition": 1 - partition, "fetchOffset": 5}]}],
            }  # fmt: skip
            part = {"partitionIndex": 1 - partition, "errorCode": 0, "highWatermark": 5, "logStartOffset": 0}
            answer = {"errorCode": 0, "responses": [{"topic": "orders", "partitions": [part]}]}
            reads.call(1, 11, asked, answer, SECOND // 2)
    findings = [each for each in found(tmp_path, stuck, reads, source) if each.finding == "consumer-stuck"]
    assert bool(findings) == is_stuck
    if findings:
        [finding] = findings
        assert finding.subject == {"client": "stuck", "group": "g"} and finding.severity == "critical"
        assert finding.text.endswith("came to orders: nobody of the group asks for those partitions")


def test_a_group_that_reads_another_topic_leaves_nothing_unread(tmp_path: Path) -> None:
    waits, source = Talk("waits", 40000), Talk("source", 40002)
    beat_and_write(waits, source, "waits", 24)
    assert not found(tmp_path, waits, source, fetched(Talk("other", 40003), 40))


@pytest.mark.parametrize("reads_slowly", [True, False])
def test_an_answer_that_is_read_slowly_is_no_rest(reads_slowly: bool, tmp_path: Path) -> None:
    """12 s go by before the next Fetch, either way."""
    beats, source, reads = Talk("member", 40000), Talk("source", 40001), Talk("member", 40002)
    beat_and_write(beats, source, "member", 45)
    fetched(reads, 30)
    takes = 12 * SECOND if reads_slowly else 0
    asked = {
        "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "sessionId": 0, "sessionEpoch": -1,
        "topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetchOffset": 5}]}],
    }  # fmt: skip
    part = {"partitionIndex": 0, "errorCode": 0, "highWatermark": 9, "logStartOffset": 7}
    reads.number += 1
    reads.wire.client(request(1, 11, reads.number, asked, "member"))
    reads.wire.now += takes
    answer = {"errorCode": 0, "responses": [{"topic": "orders", "partitions": [part]}]}
    reads.wire.server(response(1, 11, reads.number, answer))
    reads.wire.now += 12 * SECOND - takes
    stuck = [each for each in found(tmp_path, beats, source, fetched(reads, 30)) if each.finding == "consumer-stuck"]
    assert bool(stuck) != reads_slowly


def test_a_member_of_the_new_protocol_that_dies(tmp_path: Path) -> None:
    """The others hear of it as its session ends."""

    def group(*, leaves: bool = False) -> list[Newer]:
        stays = Newer("stays", 40000).beats((3, 3), times=9)
        stays.beats((3, 4), given=True).beats((4, 4), times=2)
        dies = Newer("dies", 40001).beats((3, 3), given=True).beats((3, 3))
        return [stays, (dies.beats((-1, -1)) if leaves else dies).close()]  # type: ignore[list-item]

    finding = told(found(tmp_path, *(each.wire for each in group())), "slow-rebalance", group="g", client=["dies"])
    assert finding.evidence["state"] == "gone" and finding.evidence["waited_seconds"] == pytest.approx(40, abs=0.5)
    assert "waits 40.0 s for dies (10.0.0.1:40001), which sent nothing more, without leaving" in finding.text
    assert not found(tmp_path, *(each.wire for each in group(leaves=True)))
    static = Newer("dies", 40001).beats((3, 3), given=True, instance="one").beats((3, 3), instance="one").close()
    again = Newer("dies", 42000, after=16).beats((0, 0), instance="one", error=111).close()
    assert not found(tmp_path, group()[0].wire, static.wire, again.wire)
    [word] = [each for each in worth_a_word(tmp_path) if each.finding == "slow-rebalance"]
    assert "a member with its group.instance.id is refused until then" in word.text


@pytest.mark.parametrize("lives", [True, False])
def test_a_newcomer_is_refused_while_a_member_has_its_instance_id(lives: bool, tmp_path: Path) -> None:
    """KIP-848. A member that was killed has it until its session ends: its successor is no second process."""
    first = Newer("first", 41000).beats((0, 3), instance="one").beats((3, 3), times=8 if lives else 2)
    comes = [Newer(f"comes{number}", 42000 + number, after=16 + 5 * number) for number in range(3)]
    for each in comes:
        each.beats((0, 0), instance="one", error=111).close()
    findings = found(tmp_path, first.wire, *(each.wire for each in comes))
    if lives:
        finding = told(findings, "duplicate-static-member", group="g", client=["comes0", "comes1", "comes2", "first"])
        assert "they are refused, as another member has it, 3 times" in finding.text
    else:
        assert "duplicate-static-member" not in {each.finding for each in findings}
        [word] = [each for each in worth_a_word(tmp_path) if each.finding == "duplicate-static-member"]
        assert "close()" in word.advice and "did not leave" in word.text


def test_heartbeats_that_are_refused_are_no_signs_of_life(tmp_path: Path) -> None:
    """Who is refused is no member and reads nothing: that it does not is no other cause."""
    stays, source = Newer("stays", 41000).beats((0, 3), instance="one", given=True), Talk("source", 41003)
    comes, reads = Newer("comes", 42000), Talk("comes", 42001)
    fetched(reads, 3)
    stays.beats((3, 3), times=12)
    comes.beats((0, 0), times=12, instance="one", error=111)
    beat_and_write(Talk("other", 42002), source, "other", 60)
    path = tmp_path / "a.pcap"
    wires = (stays.wire, comes.wire, reads.wire, source.wire)
    path.write_bytes(pcap(sorted(packet for wire in wires for packet in wire.packets)))
    made = diagnose([str(path)])
    stuck = [each for each in (*made.findings, *made.explained) if each.finding == "consumer-stuck"]
    assert not [each for each in stuck if each.subject["client"] == "comes"]


def test_a_member_of_which_only_heartbeats_are_captured_is_named(tmp_path: Path) -> None:
    """It may be stuck, or have nothing to read. A member that joins in the capture is told what it reads."""

    def unjudged(*, joins: bool) -> list[str]:
        beats, source = Talk("member", 40000), Talk("source", 40001)
        if joins:
            given(beats, held=False)
        beat_and_write(beats, source, "member", 40)
        path = tmp_path / "a.pcap"
        path.write_bytes(pcap(sorted([*beats.wire.packets, *source.wire.packets])))
        made = diagnose([str(path)])
        assert not made.findings
        return [each.what for each in made.unjudged if each.what.startswith("whether ")]

    [said] = unjudged(joins=False)
    assert said.startswith("whether member of group g works: 40 heartbeats and no Fetch")
    assert not unjudged(joins=True)
