"""Batches as a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.cli.decode.batch_formats import time_text
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
