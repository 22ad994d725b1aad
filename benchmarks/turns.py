"""Two processes of one bench, each with another kcli, that measure by turns (benchmarks/beside.py starts them).

A bench calls `turn()` before each measurement; the other process goes on then, until it calls it in turn. What both do
before their first call they do at the same time. In a bench that runs alone the call does nothing.

On a machine with other work, wall time says little. With KCLI_BENCH_CLOCK=processor in its environment a bench measures
the processor time of itself, of the processes that it has waited for, and of every kcli that it runs, as brokers are.
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

__all__ = ["CLOCK", "PROCESSOR", "TURNS", "processor_clock", "processor_time", "turn"]

TURNS = "KCLI_BENCH_TURNS"  # environment: the file descriptors to read from and to write to, and 1 for who gives first
CLOCK, PROCESSOR = "KCLI_BENCH_CLOCK", "processor"


class Turns:
    """One side's pipes. mine: whether this side has the turn, and so has to give it."""

    def __init__(self, words: str) -> None:
        self.source, self.target, mine = map(int, words.split(","))
        self.mine = bool(mine)

    def give_and_wait(self) -> None:
        """Let the other side go on; wait until it gives the turn back, or has ended."""
        if self.mine:
            with contextlib.suppress(BrokenPipeError):
                os.write(self.target, b".")
        os.read(self.source, 1)
        self.mine = True


def processor_clock() -> float:
    """Seconds of processor time, user and system, of this process, of the children it has waited for, and of each kcli
    among those that run."""
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    running = sum(time_of(pid) for pid in children() if is_kcli(pid))
    return running + sum(each.ru_utime + each.ru_stime for each in spent)


def children() -> Iterator[int]:
    """Processes that this one has started and not waited for."""
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread that has ended
            yield from map(int, (task / "children").read_text().split())


@cache
def is_kcli(pid: int) -> bool:
    return b"kcli.cli" in Path(f"/proc/{pid}/cmdline").read_bytes()


def time_of(pid: int) -> float:
    """Seconds of processor time of another process."""
    with contextlib.suppress(OSError):
        return time.clock_gettime((~pid << 3) | 2)  # clock_getcpuclockid(3), which Python does not have
    return 0.0


# A process that the bench starts has the variable and not the pipes: it must not take turns.
TURN = Turns(os.environ.pop(TURNS)) if TURNS in os.environ else None
if os.environ.pop(CLOCK, "") == PROCESSOR:
    time.perf_counter = processor_clock


def turn() -> None:
    if TURN is not None:
        TURN.give_and_wait()


def processor_time(command: Sequence[str]) -> float:
    """Seconds of a command, its output thrown away, when it is this side's turn. CalledProcessError: it failed."""
    turn()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_utime + usage.ru_stime
