import pytest

from kcli.cli.session.replay_view import SHOWN, kinds, show_pairs
from kcli.replay.sessions.outcome import Pair
from kcli.sessions.comparison import SessionDifference, compare
from kcli.sessions.fetch_statistics import Recorder
from tests.replay.sessions.made import fetch

T0 = ("t", 0)


def made(label: str, captured: int, live: int, problems: int = 0) -> Pair:
    """One fetch, so many bytes of records on each side."""
    sides = []
    for size in (captured, live):
        recorder = Recorder(label)
        recorder.add(fetch(0, {T0: 0}, {T0: size}, granted=7), {})
        sides.append(recorder.report())
    one, other = sides
    return Pair(1, one, other, compare(one, other, "shape"), [(number, "went wrong") for number in range(problems)])


def lines(found: list[Pair], capsys: pytest.CaptureFixture[str]) -> list[str]:
    show_pairs(found)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_one_is_shown_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    out = lines([made("c [1]", 100, 100)], capsys)
    assert out[0] == "1 fetch of 1 fetcher: no differences"
    assert out[1] == "c [1]   Fetch v12 -> v12"
    cells = {line.strip().rsplit("   ")[0].strip(): line.split()[-2:] for line in out[3:]}
    assert cells["bytes of records"] == ["100", "100"]
    assert kinds({"full": 1200, "incremental": 0, "close": 2}) == "1,200 full, 2 close"
    assert kinds({"full": 0, "incremental": 0, "close": 0}) == "none"


def test_many_are_rows_and_differences_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    found = [made(f"c{number}", 100, 0, problems=1) for number in range(SHOWN + 5)]
    out = lines(found, capsys)
    assert out[0] == f"{SHOWN + 5} fetches of {SHOWN + 5} fetchers: {SHOWN + 5} differences"
    assert sum(line.startswith("c") for line in out) == SHOWN + 5
    assert sum("differs: " in line for line in out) == SHOWN
    assert out.count("  and 5 more (--format jsonl has them all)") == 2
    assert "  c0, fetch 0: went wrong" in out


def test_a_difference_says_what(capsys: pytest.CaptureFixture[str]) -> None:
    pair = made("c", 100, 0)
    assert isinstance(pair.differences[0], SessionDifference)
    assert "  differs: c: records of t[0]: captured 100, live 0" in lines([pair], capsys)
