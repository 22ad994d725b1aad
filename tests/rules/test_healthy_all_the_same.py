"""What looks like a cause and is none, beside the same with one thing more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.messages import request, response
from tests.capture.wires import MILLISECOND, Wire
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Body, Talk, found, rounds, told
from tests.rules.test_sharing import later


def reads(talk: Talk, epoch: int, named: dict[int, int], answered: dict[int, int], pause: int) -> Talk:
    """Fetch in a session. named: the offsets of partitions that are asked for; answered: ends of others."""
    asked = {
        "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "sessionId": 7 if epoch else 0, "sessionEpoch": epoch,
        "topics": [{"topic": "orders", "partitions": [
            {"partition": at, "fetchOffset": offset} for at, offset in named.items()
        ]}],
    }  # fmt: skip
    parts = [{"partitionIndex": at, "highWatermark": end} for at, end in answered.items()]
    return talk.call(1, 11, asked, {"sessionId": 7, "responses": [{"topic": "orders", "partitions": parts}]}, pause)


@pytest.mark.parametrize("slow", [True, False])
def test_partitions_that_wait_in_a_session_are_read_where_they_were_asked_for_last(slow: bool, tmp_path: Path) -> None:
    """It works off one partition for seconds, and is given what came to others, which it did not name again."""
    talk = Talk("reader")
    reads(talk, 0, dict.fromkeys(range(4), 0), dict.fromkeys(range(4), 0), SECOND)
    reads(talk, 1, {}, {1: 30}, 2 * SECOND)
    reads(talk, 2, {1: 30}, {1: 60}, 5 * SECOND)
    reads(talk, 3, {} if slow else {1: 60}, {0: 300}, 6 * SECOND)
    reads(talk, 4, {} if slow else {0: 300}, {2: 600}, 7 * SECOND)
    reads(talk, 5, {} if slow else {2: 600}, {3: 900}, SECOND)
    reads(talk, 6, {} if slow else {3: 900}, {}, SECOND)
    findings = found(tmp_path, talk)
    if slow:
        assert told(findings, "lagging-consumer", client="reader").evidence["last_lag"] == 1830
    else:
        assert not findings


@pytest.mark.parametrize("beat", [1, 4])
def test_a_member_whose_coordinator_is_away_is_not_stuck(beat: int, tmp_path: Path) -> None:
    """It commits nothing for 16 s, and reads on: well, where its heartbeats do not come through either."""
    reader, member, source = Talk("reader", 41000), Talk("reader", 41001), Talk("source", 41002)
    for number in range(76):
        asked = {
            "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "sessionId": 0, "sessionEpoch": -1,
            "topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetchOffset": number}]}],
        }  # fmt: skip
        part = {"partitionIndex": 0, "highWatermark": number + 1, "records": batch_bytes([(b"k", b"v")])}
        reader.call(1, 11, asked, {"responses": [{"topic": "orders", "partitions": [part]}]})
    who = {"groupId": "g", "generationId": 2, "memberId": "reader-1"}
    for second in range(38):
        away = 16 <= second < 32
        if not away:
            parts = [{"partitionIndex": 0, "committedOffset": 2 * second}]
            commit = {"groupId": "g", "generationIdOrMemberEpoch": 2, "memberId": "reader-1",
                      "topics": [{"name": "orders", "partitions": parts}]}  # fmt: skip
            member.call(8, 7, commit, {"topics": [{"name": "orders", "partitions": [{"partitionIndex": 0}]}]}, 0)
        if not away or second % beat == 0:
            member.call(12, 4, who, {"errorCode": 0}, 0)
        member.wire.now += SECOND
        sent = {"acks": 1, "topicData": [
            {"name": "orders", "partitionData": [{"index": 0, "records": batch_bytes([(b"k", b"v")] * 2)}]},
        ]}  # fmt: skip
        part = {"index": 0, "baseOffset": 2 * second}
        source.call(0, 9, sent, {"responses": [{"name": "orders", "partitionResponses": [part]}]}, SECOND)
    findings = found(tmp_path, reader, member, source)
    if beat == 1:
        assert "no commit" in told(findings, "consumer-stuck", client="reader", group="g").text
    else:
        assert not findings


@pytest.mark.parametrize("late", [(3,), (3, 12)])
def test_metadata_that_is_late_alone_waits_for_leaders_that_move(late: tuple[int, ...], tmp_path: Path) -> None:
    """A slow broker is late with all that it is asked. late: the API keys that one of them answers after 300 ms."""

    def asks(client: str, port: int, broker: int, late: tuple[int, ...]) -> Wire:
        wire = Talk(client, port, broker).wire
        for number in range(60):
            key = 3 if number % 3 == 0 else 12
            body: Body = {"topics": []} if key == 3 else {"groupId": "g", "generationId": 2, "memberId": "m"}
            answer: Body = {"brokers": [], "topics": []} if key == 3 else {"errorCode": 0}
            version = 12 if key == 3 else 4
            wire.client(request(key, version, number, body, client))
            wire.now += 300 * MILLISECOND if key in late and number % 9 < 2 else 0
            wire.server(response(key, version, number, answer)).now += SECOND // 4
        return wire

    well = [asks("one", 41000, 2, ()), asks("two", 41001, 2, ())]
    findings = found(tmp_path, *well, asks("one", 42000, 3, late), asks("two", 42001, 3, late))
    if len(late) > 1:
        assert "10.0.0.3:9092" in told(findings, "slow-broker").subject["broker"]
    else:
        assert not findings


def test_a_member_that_is_replaced_without_a_word_costs_a_round_of_its_own(tmp_path: Path) -> None:
    """As Streams does it: its session has to run out first."""
    revoke = "need to revoke partitions and re-join"
    staying = [
        rounds("a", 40000, [1, 2, 3], ""),
        later(rounds("a", 40001, [4], revoke), 6 * SECOND),
        later(rounds("a", 40002, [5, 6], ""), 8 * SECOND),
        later(rounds("a", 40003, [7], revoke), 12 * SECOND),
    ]
    first = later(rounds("b", 41000, [3, 4], "", member="b-1"), 4 * SECOND)
    second = later(rounds("b", 42000, [6, 7], "", member="b-2"), 10 * SECOND)
    assert not found(tmp_path, *staying, first, second)
    third = later(rounds("b", 43000, [8], "", member="b-3"), 13 * SECOND)
    assert told(found(tmp_path, *staying, first, second, third), "rebalance-storm", group="g")
