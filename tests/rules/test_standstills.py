"""A broker that answers nobody, where there is no other to compare with."""

from pathlib import Path

import pytest

from tests.capture.messages import request, response
from tests.capture.wires import MILLISECOND, Wire
from tests.rules.test_by_hand import SECOND, Talk, found, told


def paused(client: str, port: int, late: int, pause: int = 2) -> Wire:
    """A client that beats each half second for 40 s; late: how many answers come only after a pause of so many
    seconds, at the same times whoever asks.
    """
    talk = Talk(client, port)
    start = talk.wire.now
    for number in range(80):
        talk.wire.now = start + number * SECOND // 2
        asked = {"groupId": "g", "generationId": 2, "memberId": client}
        talk.wire.client(request(12, 0, number, asked, client)).now += MILLISECOND
        if number % 16 < 2 * pause and number // 16 < late:
            talk.wire.now = start + (number // 16 * 16 + 2 * pause) * SECOND // 2
        talk.wire.server(response(12, 0, number, {"errorCode": 0}))
    return talk.wire


@pytest.mark.parametrize(("late", "is_found"), [(4, True), (2, False)])
def test_pauses_of_the_one_broker_are_its_own(late: int, is_found: bool, tmp_path: Path) -> None:
    findings = found(tmp_path, paused("a", 41000, late), paused("b", 42000, late))
    assert [each.finding for each in findings] == ["slow-broker"] * is_found
    if is_found:
        assert findings[0].evidence["standstills"] == 4 and "answered nobody for a second" in findings[0].text


@pytest.mark.parametrize("beside", [False, True])
def test_a_client_alone_that_nobody_answers(beside: bool, tmp_path: Path) -> None:
    """With acks=all it may be a follower, and a client beside it that is answered tells that it is not the broker."""
    talk = Talk("writer", 41000)
    for number in range(40):
        asked = request(0, 9, number, {"acks": -1, "timeoutMs": 30000, "topicData": []}, "writer")
        talk.wire.client(asked).add(1, 16)
        talk.wire.now += SECOND // 2
        if not 10 <= number < 26:
            for waiting in range(10, 27) if number == 26 else [number]:
                talk.wire.server(response(0, 9, waiting, {"responses": []}))
    findings = found(tmp_path, talk, *([paused("b", 42000, 0)] if beside else ()))
    silent = [each for each in findings if each.finding == "silent-broker"]
    assert len(silent) == (not beside)
    if silent:
        finding = told(findings, "silent-broker", client=["writer"])
        assert finding.severity == "warning" and "followers" in finding.advice and "waits" not in finding.ruled_out


@pytest.mark.parametrize("pause", [800, 1500])
def test_fetches_that_are_answered_at_once_but_for_the_pauses_of_a_broker(pause: int, tmp_path: Path) -> None:
    """Within its maxWaitMs a Fetch waits for records, so only the late ones have a time of their own."""

    def reads(client: str, port: int, broker: int, pause: int) -> Wire:
        talk = Talk(client, port, broker)
        for number in range(80):
            asked = {"maxWaitMs": 500, "minBytes": 1, "sessionEpoch": -1}
            wait = pause if pause and number % 8 == 7 else 40
            talk.call(1, 11, asked, {"responses": []}, SECOND // 4, wait * MILLISECOND)
        return talk.wire

    every = [
        reads(client, port + 10 * broker, broker, pause if broker == 3 else 0)
        for client, port in (("a", 41000), ("b", 42000))
        for broker in (2, 3, 4)
    ]
    finding = told(found(tmp_path, *every), "slow-broker")
    assert "10.0.0.3:9092" in finding.subject["broker"] and finding.evidence["other_late"] == 0
