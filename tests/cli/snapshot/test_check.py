from __future__ import annotations

import json

import pytest

from kcli.cli.main import main
from tests.snapshots.files import partition_folder

FOLDER = str(partition_folder("440-three/n1"))
Captured = pytest.CaptureFixture[str]


def test_a_downgrade(capfd: Captured) -> None:
    assert main(["snapshot", "check", FOLDER, "--against", "3.9"]) == 1
    captured = capfd.readouterr()
    assert any(line.startswith("error  lost: eligible leader replicas (") for line in captured.out.splitlines())
    assert ": from 4.0-IV1 on" in captured.out
    assert captured.err.endswith("-> 3.9-IV0: a downgrade that Kafka refuses, whatever there is to lose\n")
    assert main(["snapshot", "check", FOLDER, "--against", "3.9", "--format", "jsonl", "-q"]) == 1
    captured = capfd.readouterr()
    rows = [json.loads(line) for line in captured.out.splitlines()]
    assert {tuple(row) for row in rows} == {("severity", "what", "count", "example", "needs")}
    assert captured.err == ""


def test_what_is_no_step_down(capfd: Captured) -> None:
    assert main(["snapshot", "check", f"{FOLDER}@2555", "--against", "4.4"]) == 0
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(": no change\n")
    old = str(partition_folder("332-single/n3"))
    assert main(["snapshot", "check", old, "--against", "3.3"]) == 0
    assert main(["snapshot", "check", old, "--against", "3.4"]) == 1  # its broker is one of 3.3
    captured = capfd.readouterr()
    assert "error  broker 3 supports 3.0-IV1 to 3.3-IV3 only (1: broker 3)" in captured.out
    assert captured.err.endswith(": an upgrade\n")


def test_what_is_refused(capfd: Captured) -> None:
    assert main(["snapshot", "check", FOLDER]) == 2
    assert main(["snapshot", "check", FOLDER, "--against", "0.8"]) == 2
    assert main(["snapshot", "check", "nowhere", "--against", "3.9"]) == 3
    assert len(capfd.readouterr().err.splitlines()) == 3
