"""Where commands write."""

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.cli.terminal.console import (
    console,
    has_bars,
    is_terminal,
    progress,
    shows_colour,
    terminal_room,
    terminal_width,
    warn,
)


class Terminal:
    def isatty(self) -> bool:
        return True


def test_a_dumb_terminal_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert not is_terminal(Terminal())  # type: ignore[arg-type]
    monkeypatch.setenv("TERM", "xterm")
    assert is_terminal(Terminal())  # type: ignore[arg-type]


def test_a_pipe_gets_plain_unbroken_lines(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("[red]" + "x" * 500 + "[/red]", style="red")
    assert capsys.readouterr().out == "[red]" + "x" * 500 + "[/red]\n"


def test_a_label_of_a_bar_is_shown_and_not_obeyed(
    capsys: pytest.CaptureFixture[str], terminal: Callable[[int], None]
) -> None:
    terminal(100)
    with progress(10, "[/]\x1b]0;x\x07.log") as moved:
        moved(5)
    shown = capsys.readouterr().err
    assert "[/]\\x1b]0;x\\x07.log" in shown
    assert "\x1b]0" not in shown


@pytest.mark.parametrize("pipe", [True, False])
def test_no_bar_before_a_pager(pipe: bool, terminal: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """What reads the pipe may write to the same terminal, in the middle of the bar, as `| head` does."""
    terminal(100)
    ends = os.pipe()
    with os.fdopen(ends[0], "rb"), os.fdopen(ends[1], "w") as out, Path("/dev/null").open("w") as nothing:
        monkeypatch.setattr(sys, "stdout", out if pipe else nothing)
        assert has_bars() is not pipe
        monkeypatch.undo()


def test_progress_and_warnings_stay_off_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(10, "reading") as moved:
        moved(5)
    warn("odd")
    warn("odd", quiet=True)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "kcli: odd\n")


def test_only_a_terminal_limits_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "77")
    assert (terminal_room(), terminal_width()) == (None, 77)
    monkeypatch.setattr("kcli.cli.terminal.console.is_terminal", lambda stream: True)
    assert (terminal_room(), terminal_room("a file")) == (77, None)


@pytest.mark.parametrize("columns", ["", "0", "-5", "wide", "9" * 5000])
def test_a_width_that_is_none_is_not_heard(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal_width() == 120


def test_notes_on_a_terminal_are_broken_between_words(
    terminal: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    text = "nothing matches; clients here: " + ", ".join(f"client-{number}" for number in range(20))
    warn(text)
    assert capsys.readouterr().err == f"kcli: {text}\n"
    terminal(50)
    warn(text)
    lines = capsys.readouterr().err.splitlines()
    assert " ".join(lines) == f"kcli: {text}" and max(map(len, lines)) <= 50


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, False),
    ],
)
def test_colours_in_a_pipe_are_those_that_are_asked_for(
    given: dict[str, str], shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert shows_colour(io.StringIO()) == shown
