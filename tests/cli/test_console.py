"""Where commands write."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.cli.console import console, is_terminal, open_output, progress, warn


class Terminal:
    def isatty(self) -> bool:
        return True


def test_a_dumb_terminal_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert not is_terminal(Terminal())  # type: ignore[arg-type]
    monkeypatch.setenv("TERM", "xterm")
    assert is_terminal(Terminal())  # type: ignore[arg-type]


def test_a_pipe_gets_plain_unbroken_lines(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("[red]" + "x" * 500 + "[/red]")
    assert capsys.readouterr().out == "x" * 500 + "\n"


def test_progress_and_warnings_stay_off_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(10, "reading") as moved:
        moved(5)
    warn("odd")
    warn("odd", quiet=True)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "kcli: odd\n")


def test_output_goes_to_a_file_or_stdout(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with open_output(str(tmp_path / "out")) as out:
        out.write(b"a")
    with open_output("-") as out:
        out.write(b"b")
    assert (tmp_path / "out").read_bytes() == b"a"
    assert capfdbinary.readouterr().out == b"b"
