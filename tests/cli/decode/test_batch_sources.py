"""Batches from a file without bytes, and from a pipe."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kcli.cli.main import main


def test_no_bytes_are_no_batches(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(b"")
    assert main(["decode", "batch", str(file)]) == 3
    assert main(["decode", "segment", str(file), "--format", "jsonl"]) == 0
    assert "no bytes" in capsys.readouterr().err


def test_a_pipe(file: Path) -> None:
    command = [sys.executable, "-m", "kcli.cli", "decode", "segment", "-", "--format", "jsonl", "--records", "full"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(command, input=file.read_bytes(), capture_output=True, check=True, env=environment, timeout=60)
    assert len(run.stdout.splitlines()) == 20 and run.stderr == b""
