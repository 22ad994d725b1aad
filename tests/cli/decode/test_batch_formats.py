"""Batches as a table."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.cli.decode.batch_formats import COLUMNS, time_text
from kcli.cli.main import main
from tests.records.vectors import mixed_batches


def test_a_table(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(mixed_batches() + b"\xff" * 30)
    assert main(["decode", "segment", str(file)]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 22 and "producer 7:1 seq 0" in lines[1] and "txn, control" in lines[20]
    assert "undecodable: 30 bytes" in lines[21]
    assert main(["decode", "batch", str(file), "--format", "table"]) == 3


def test_times() -> None:
    assert time_text(1700000000123) == "2023-11-14T22:13:20.123Z"
    assert time_text(-1) == "-" and time_text((1 << 63) - 1) == str((1 << 63) - 1)


def test_columns_that_have_no_room_are_named(
    samples: Path,
    capsys: pytest.CaptureFixture[str],
    terminal: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    segment, every = str(samples / "orders-0/00000000000000000000.log"), [*COLUMNS]
    for room in (40, 60, 80, 100, 120, 160):
        terminal(room)
        assert main(["decode", "segment", segment, "-q"]) == 0
        head, *lines = capsys.readouterr().out.splitlines()
        rows, said = [line for line in lines if "epoch 0" in line], " ".join(lines[5:])
        shown = [name for name in every if name in head.split()]
        left_out = [name for name in every if name not in shown]
        assert len(rows) == 5 and said.startswith(f"left out: {', '.join(left_out)} (" if left_out else "")
        assert bool(said) == bool(left_out) and all(len(line) <= max(room, 62) for line in [head, *lines])
        assert [len(row.split()) for row in rows] == [len(shown) + 2] * 5
