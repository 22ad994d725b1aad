"""Fixtures of the commands' tests: a log segment, and a partition's directory."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.records.vectors import mixed_batches

Rows = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A log segment with batches of every kind."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(mixed_batches())
    return path


@pytest.fixture
def orders(samples: Path, tmp_path: Path) -> Path:
    """A partition's directory, to damage."""
    return Path(shutil.copytree(samples / "orders-0", tmp_path / "orders-0"))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes standard output and standard error a terminal of so many columns."""

    def make(columns: int) -> None:
        for stream in (sys.stdout, sys.stderr):
            monkeypatch.setattr(stream, "isatty", lambda: True)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", str(columns))

    return make


@pytest.fixture
def rows(capsys: pytest.CaptureFixture[str]) -> Rows:
    """Reads what was printed since the last look as lines of JSON."""
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]
