from __future__ import annotations

import json

import pytest

from kcli.cli.main import main
from tests.snapshots.files import partition_folder

FOLDER = partition_folder("431-single/n1")
FILES = [str(each) for each in sorted(FOLDER.glob("*.checkpoint"))]
Captured = pytest.CaptureFixture[str]


def test_two_snapshots(capfd: Captured) -> None:
    assert main(["snapshot", "diff", FILES[2], FILES[3], "--format", "jsonl"]) == 0
    captured = capfd.readouterr()
    rows = [json.loads(line) for line in captured.out.splitlines()]
    assert {row["change"] for row in rows} == {"created", "deleted", "changed"}
    changed = next(row for row in rows if row["change"] == "changed" and row["table"] == "partitions")
    assert {"from", "to"} == set(changed["fields"]["partitionEpoch"])
    assert "created" in captured.err


def test_text(capfd: Captured) -> None:
    assert main(["snapshot", "diff", FILES[2], FILES[3], "--quiet"]) == 0
    captured = capfd.readouterr()
    lines = captured.out.splitlines()
    assert any(line.startswith("+ delegation token ") for line in lines)
    assert any(line.startswith("- topic ") for line in lines)
    assert any(line.startswith("~ partition ") and " -> " in line for line in lines)
    assert captured.err == ""


def test_two_offsets_and_the_exit_code(capfd: Captured) -> None:
    assert main(["snapshot", "diff", f"{FOLDER}@952", FILES[2], "--exit-code"]) == 0
    assert "no difference" in capfd.readouterr().err
    assert main(["snapshot", "diff", f"{FOLDER}@952", f"{FOLDER}@1000", "--exit-code"]) == 1


def test_what_is_not_there(capfd: Captured) -> None:
    assert main(["snapshot", "diff", FILES[0], "nowhere"]) == 3
    assert len(capfd.readouterr().err.splitlines()) == 1
