"""Tasks in forks of this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kcli.errors import InputError, UsageError
from kcli.pipeline.forks import hand_out_forked
from tests.processes import running

PARENT = """
import sys, time
from pathlib import Path
from kcli.pipeline.forks import hand_out_forked
def work(number):
    import os
    (Path(sys.argv[1]) / str(number)).write_text(str(os.getpid()))
    time.sleep(60)
hand_out_forked([0, 1], work, print, 2)
"""


def test_results_are_in_the_order_of_tasks() -> None:
    ready: list[int] = []

    def work(number: int) -> tuple[int, int]:
        time.sleep(0.02 * (5 - number))
        return number, os.getpid()

    made = hand_out_forked(range(6), work, ready.append, 2)
    assert [number for number, _ in made] == list(range(6))
    assert len({pid for _, pid in made}) == 2 and os.getpid() not in {pid for _, pid in made}
    assert ready == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (InputError("cut off", file="a.pcap"), InputError, "a.pcap: cut off"),
        (UsageError("no such option"), UsageError, "no such option"),
        (OSError(28, "No space left on device"), OSError, "No space left"),
        (ZeroDivisionError("by zero"), RuntimeError, "ZeroDivisionError: by zero"),
    ],
    ids=lambda each: "",
)
def test_errors_of_a_task_are_those_of_the_call(error: Exception, kind: type[Exception], text: str) -> None:
    def work(number: int) -> int:
        if number == 1:
            raise error
        return number

    with pytest.raises(kind, match=text):
        hand_out_forked(range(4), work, lambda _done: None, 2)


def test_a_fork_that_was_killed_ends_the_run() -> None:
    def work(number: int) -> None:
        if number == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(InputError, match="ended too early"):
        hand_out_forked(range(4), work, lambda _done: None, 2)


def test_forks_end_with_the_first_process(tmp_path: Path) -> None:
    with running(subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)])) as parent:
        while sum(1 for each in tmp_path.iterdir() if each.read_text()) < 2:
            time.sleep(0.02)
        parent.kill()
    pids = [int(each.read_text()) for each in tmp_path.iterdir()]
    until = time.monotonic() + 20
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() < until, "still there"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Return whether a process runs: one that is dead, and that nobody has waited for, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
