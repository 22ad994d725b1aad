"""What all brokers, and all followers, do alike is the fault of none of them."""

from pathlib import Path

import pytest

from tests.capture.messages import request, response
from tests.capture.wires import MILLISECOND, Wire
from tests.rules.test_by_hand import SECOND, Talk, beat_and_write, fetched, found, produced, told
from tests.rules.test_lively import given
from tests.rules.test_seen_in_part import writes
from tests.rules.test_sharing import later


def asks(client: str, port: int, broker: int, key: int, takes: int) -> Wire:
    """A client that asks one thing each half second: ApiVersions, or heartbeats; takes: milliseconds."""
    talk = Talk(client, port, broker)
    asked = {"groupId": "g", "generationId": 2, "memberId": "m"} if key == 12 else {}
    for number in range(30):
        talk.wire.client(request(key, 0, number, asked, client)).now += takes * MILLISECOND
        talk.wire.server(response(key, 0, number, {"errorCode": 0})).now += SECOND // 2
    return talk.wire


def test_brokers_are_compared_by_what_both_are_asked(tmp_path: Path) -> None:
    """A coordinator's heartbeats take longer than ApiVersions of others."""
    beats, quick = asks("one", 41000, 3, 12, 30), asks("one", 42000, 2, 12, 1)
    assert not found(tmp_path, beats, asks("one", 42000, 2, 18, 1))
    assert "10.0.0.3:9092" in told(found(tmp_path, beats, quick), "slow-broker").subject["broker"]


def follows(replica: int, port: int, pause: int, broker: int = 2) -> Wire:
    """A follower that asks each half second, as there is nothing new, and each time comes back so many ms later."""
    talk = Talk(f"broker-{replica}-fetcher-0", port, broker)
    for number in range(120):
        asked = {"replicaId": replica, "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "sessionEpoch": number}
        talk.wire.client(request(1, 11, number, asked, talk.client)).now += 500 * MILLISECOND
        answer = {"sessionId": 7, "responses": []}
        talk.wire.server(response(1, 11, number, answer)).now += (pause if number % 4 == 0 else 5) * MILLISECOND
    return talk.wire


def test_a_follower_is_to_blame_for_the_waits_that_its_pauses_make_up(tmp_path: Path) -> None:
    """Where it is hardly ever away, it is slow as all are."""
    late = writes("all", 42000, 2, -1, [*range(0, 200, 5)])
    busy = [writes("one", 43000, 2, 1, []), late, follows(3, 47001, 120)]
    assert not found(tmp_path, *busy, follows(1, 47000, 120))
    finding = told(found(tmp_path, *busy[:2], follows(3, 47001, 700), follows(1, 47000, 5)), "slow-replication")
    assert finding.subject["broker"] == ["3"]


def test_a_broker_does_not_wait_for_itself(tmp_path: Path) -> None:
    """Whoever stops neither leads nor follows meanwhile; a topic of one replica waits for its leader alone."""
    late = [*range(0, 200, 5)]
    busy = [writes("all", 42001, 3, -1, late), writes("one", 43000, 2, 1, []), writes("one", 43001, 3, 1, [])]
    pauses, goes_on = follows(3, 47001, 700), follows(2, 47002, 5, 3)
    assert "slow-replication" not in {each.finding for each in found(tmp_path, *busy, pauses, goes_on)}


@pytest.mark.parametrize("host", ["10.0.0", "192.168.7"])
def test_the_own_late_answers_of_a_follower_count_not(host: str, tmp_path: Path) -> None:
    """It leads partitions, too. Metadata may have addresses that are others in the capture."""
    asker = Talk("asker", 45000)
    brokers = [{"nodeId": node, "host": f"{host}.{node}", "port": 9092} for node in (2, 3)]
    asker.call(3, 8, {"topics": []}, {"brokers": brokers, "controllerId": 2, "topics": []})
    late = [*range(0, 200, 5)]
    busy = [writes("all", 42000, 2, -1, late), writes("all", 42001, 3, -1, late), writes("one", 43001, 3, 1, late),
            writes("one", 43000, 2, 1, []), follows(3, 47001, 700), follows(2, 47002, 5, 3)]  # fmt: skip
    finding = told(found(tmp_path, asker, *busy), "slow-replication")
    assert finding.evidence["follower"] == 3 and finding.evidence["plain_late"] == 0


@pytest.mark.parametrize("dies", [False, True])
def test_a_leader_waits_for_a_follower_that_died(dies: bool, tmp_path: Path) -> None:
    """All its writes are answered at once when the follower leaves the ISR; commits of offsets wait likewise."""
    follower, other = follows(1, 47000, 5), Talk("all", 42000)
    if dies:
        follower.packets = [each for each in follower.packets if each.ns < other.wire.now + 20 * SECOND]
    produced(other, 40, 0)
    for number in range(100, 120):
        other.wire.client(request(0, 9, number, {"acks": -1, "topicData": []}, other.client)).now += SECOND // 2
    for number in range(100, 120):
        other.wire.server(response(0, 9, number, {"responses": []}))
    produced(other, 40, 0)
    commits = Talk("commits", 42001)
    for number in range(30):
        commits.call(8, 3, {"groupId": "g", "topics": []}, {"topics": []}, wait=2 * SECOND if number < 12 else 0)
    told_of = [each.finding for each in found(tmp_path, other, follower, commits, writes("one", 43000, 2, 1, []))]
    assert told_of == (["slow-replication"] if dies else [])


@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize("dies", [False, True])
def test_a_client_that_waits_with_a_single_write(answered: bool, dies: bool, tmp_path: Path) -> None:
    """It sends nothing more until it is answered, which may be after the capture."""
    follower, other = follows(1, 47000, 5), Talk("all", 42000)
    if dies:
        follower.packets = [each for each in follower.packets if each.ns < other.wire.now + 20 * SECOND]
    produced(other, 40, 0)
    other.wire.client(request(0, 9, 100, {"acks": -1, "topicData": []}, other.client)).now += 12 * SECOND
    if answered:
        other.wire.server(response(0, 9, 100, {"responses": []}))
    findings = found(tmp_path, other, follower, writes("one", 43000, 2, 1, [], 200))
    if dies:
        finding = told(findings, "slow-replication", broker=["1"])
        assert (finding.evidence["late_answers"], finding.evidence["clients"]) == (1, ["all"])
    assert dies or not findings


def test_who_waits_for_a_topic_that_does_not_exist_is_not_stuck(tmp_path: Path) -> None:
    """A copier reads, and cannot write; its heartbeats go on."""
    reader, member, asker = (Talk("copier", port) for port in (41000, 41001, 41002))
    source = Talk("source", 41003)
    given(member, held=True)
    fetched(reader, 20)
    member.wire.now += 10 * SECOND
    given(member, held=True)
    beat_and_write(member, source, "copier-1", 30)
    asked, answer = {"topics": [{"name": "orders-copy"}]}, {"topics": [{"name": "orders-copy", "errorCode": 3}]}
    for _ in range(60):
        asker.call(3, 12, asked, {"brokers": [], **answer})
    findings = found(tmp_path, reader, member, later(source, 10 * SECOND), asker)
    told(findings, "unknown-topic", client="copier", topic="orders-copy")
