"""Captured fetch sessions as live ones: ids and epochs, and those that have to be opened anew."""

from typing import Any

import pytest

from kcli.replay.traffic.fetch_sessions import FetchSessions, LiveSession


def fetch(session: int, epoch: int) -> dict[str, Any]:
    return {"sessionId": session, "sessionEpoch": epoch, "topics": [], "forgottenTopicsData": ["t"]}


def sent(sessions: FetchSessions, session: int, epoch: int) -> tuple[int, int, int]:
    """Live id and epoch, and how many topics are forgotten."""
    made = sessions.request("s", fetch(session, epoch))
    return made["sessionId"], made["sessionEpoch"], len(made["forgottenTopicsData"])


def granted(session: int, error: int = 0) -> dict[str, Any]:
    return {"sessionId": session, "errorCode": error}


def test_a_session_of_the_capture_is_one_here() -> None:
    made = FetchSessions()
    assert sent(made, 0, 0) == (0, 0, 1)
    made.learn("s", fetch(0, 0), granted(55), granted(7))
    made.learn("s", fetch(55, 1), granted(55), granted(7))
    assert [sent(made, 55, epoch)[:2] for epoch in (1, 2, 0, -1)] == [(7, 1), (7, 2), (7, 0), (7, -1)]
    assert sent(made, 0, -1) == (0, -1, 1)
    made.learn("s", fetch(55, 0), granted(56), granted(8))
    assert sent(made, 56, 1)[:2] == (8, 1)


def test_one_that_is_older_than_the_capture_is_opened_by_its_next_request() -> None:
    made = FetchSessions()
    assert sent(made, 55, 40) == (0, 0, 0)
    made.learn("s", fetch(55, 40), granted(55), granted(7))
    assert [sent(made, 55, epoch)[:2] for epoch in (41, 42)] == [(7, 1), (7, 2)]
    made.lose("s", fetch(55, 43))
    assert sent(made, 55, 43)[:2] == (0, 0)
    assert sent(made, 66, -1)[:2] == (0, -1)  # closed: nothing to close


@pytest.mark.parametrize(("captured", "live"), [((0, 0), (7, 0)), ((55, 0), (0, 0)), ((55, 0), (7, 70))])
def test_what_either_side_refused_is_no_session(captured: tuple[int, int], live: tuple[int, int]) -> None:
    made = FetchSessions()
    made.learn("s", fetch(0, 0), granted(*captured), granted(*live))
    assert made.known == dict[tuple[str, int], LiveSession]()
