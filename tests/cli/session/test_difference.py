"""One difference of each kind in full."""

import pytest

from kcli.cli.session.difference import show_differences
from kcli.replay.sessions.live_fetch import LiveFetch
from kcli.replay.sessions.outcome import Pair
from kcli.replay.sessions.plan import ReplayStep
from kcli.sessions.comparison import SessionDifference
from kcli.sessions.fetch_statistics import Recorder
from tests.replay.sessions.made import fetch

T0 = ("t", 0)


def pair(*differences: SessionDifference, unknown: list[SessionDifference] | None = None) -> Pair:
    captured = fetch(0, {T0: 5}, {T0: 90}, session=(7, 1), granted=7, forgotten={"u": [3]})
    live = fetch(0, {T0: 5}, {T0: 0}, session=(7, 1), error=70, part_error=6)
    report = Recorder("c", client_id="c").report()
    return Pair(1, report, report, list(differences), [], [LiveFetch(ReplayStep(0.0, captured), live)], unknown or [])


def test_both_exchanges_are_shown_once_for_each_kind(capsys: pytest.CaptureFixture[str]) -> None:
    one = SessionDifference("c", "error and bytes of t[0]", (0, 90), (6, 0), 0, ("t[0]",))
    same = SessionDifference("c", "error and bytes of t[1]", (0, 9), (6, 0), 0, ("t[1]",))
    whole = SessionDifference("c", "full fetches", 1, 2)
    other = SessionDifference("c", "in a session", True, False, 0, unknown="who came first")
    show_differences([pair(whole, one, same, unknown=[other])], 5, {})
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line.startswith("c, fetch 0")] == [str(one), str(other)]
    assert out.count("    request  v12, session 7, epoch 1, at least 1 bytes, at most 1,000, in 500 ms") == 4
    assert "      t[0] from 5, at most 100 bytes" in out
    assert "      without u[3]" in out
    assert "    response FETCH_SESSION_ID_NOT_FOUND, session 0" in out
    assert "      t[0] NOT_LEADER_OR_FOLLOWER, high watermark 9" in out
    assert "  not in the capture: who came first" in out


def test_no_more_kinds_than_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    found = [SessionDifference("c", what, 0, 1, 0) for what in ("kind and error", "in a session")]
    show_differences([pair(*found)], 1, {}, stderr=True)
    err = capsys.readouterr().err
    assert "kind and error" in err
    assert "in a session" not in err


def test_no_response(capsys: pytest.CaptureFixture[str]) -> None:
    made = pair(SessionDifference("c", "kind and error", 0, None, 0))
    made.fetches[0].live.answered = False
    show_differences([made], 1, {})
    assert "    no response" in capsys.readouterr().out
