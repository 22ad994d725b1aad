"""All brokers answer late, beside traffic in which they do not."""

from pathlib import Path

import pytest

from tests.capture.messages import request, response
from tests.capture.wires import MILLISECOND, Wire
from tests.rules.test_by_hand import SECOND, Talk, found, told

BEATS = {"groupId": "g", "generationId": 2, "memberId": "m"}


def beats(client: str, port: int, broker: int, takes: int, at_once: int = 1) -> Wire:
    """Heartbeats of a client, each answered after so many ms. at_once: requests that are sent together."""
    talk = Talk(client, port, broker)
    for number in range(1000 * broker, 1000 * broker + 30, at_once):  # other requests than another broker's
        together = range(number, number + at_once)
        for each in together:
            talk.wire.client(request(12, 0, each, BEATS, client))
        for each in together:
            talk.wire.now += takes * MILLISECOND
            talk.wire.server(response(12, 0, each, {"errorCode": 0}))
        talk.wire.now += SECOND // 2
    return talk.wire


def clients(*takes: int, at_once: int = 1) -> list[Wire]:
    """Two clients of each broker. takes: ms until each broker answers."""
    return [
        beats(client, 40000 + 100 * broker + number, broker, each, at_once)
        for broker, each in enumerate(takes, 2)
        for number, client in enumerate(("one", "two"))
    ]


@pytest.mark.parametrize("takes", [(1500, 1500, 1500), (1500,)])
def test_brokers_that_all_answer_late(tmp_path: Path, takes: tuple[int, ...]) -> None:
    finding = told(found(tmp_path, *clients(*takes)), "slow-cluster")
    assert finding.evidence["late_answers"] == finding.evidence["answers"] == 60 * len(takes)
    assert finding.subject["broker"] == [f"10.0.0.{number}:9092" for number in range(2, 2 + len(takes))]
    assert f"10.0.0.{len(takes) + 1}:9092, " in finding.text


def test_one_that_answers_at_once_clears_the_others_of_a_common_cause(tmp_path: Path) -> None:
    assert {each.finding for each in found(tmp_path, *clients(1500, 1500, 2))} <= {"slow-broker"}


def test_a_client_that_sends_many_at_once_waits_for_itself(tmp_path: Path) -> None:
    assert not found(tmp_path, *clients(300, 300, at_once=10))


def test_a_single_client_that_waits_accuses_nobody_with_others_around(tmp_path: Path) -> None:
    assert not found(tmp_path, beats("one", 40000, 2, 1500), *(beats(f"c{n}", 41000 + n, 2, 2) for n in range(3)))
