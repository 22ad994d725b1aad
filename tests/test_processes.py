"""Processes that a test starts end with it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import ended, running

TESTS = Path(__file__).parent
SLEEPS = [sys.executable, "-c", "import time; time.sleep(1000)"]
# Those that keep processes for longer than a block, and end them themselves.
KEEPERS = {"pipeline/test_cluster.py", "real/commands.py", "real/lab.py"}


def test_one_that_runs_is_killed() -> None:
    with running(subprocess.Popen(SLEEPS, stdout=subprocess.PIPE)) as process:
        pass
    assert process.returncode == -9 and process.stdout is not None and process.stdout.closed


def test_one_that_ends_when_its_pipes_are_closed() -> None:
    with ended(subprocess.Popen(["cat"], stdin=subprocess.PIPE)) as process:
        assert process.poll() is None
    assert process.returncode == 0


def test_a_block_that_fails() -> None:
    with pytest.raises(ZeroDivisionError), ended(subprocess.Popen(SLEEPS)) as process:
        raise ZeroDivisionError
    assert process.returncode == -9


def test_all_tests_start_processes_so() -> None:
    """A bench is run by hand."""
    bare = re.compile(r"(?<!ended\()(?<!running\()subprocess\.Popen\(")
    found = {
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("*.py")
        if "benchmarks" not in path.parts and bare.search(re.sub(r"\(\s+", "(", path.read_text()))
    }
    assert found <= KEEPERS
