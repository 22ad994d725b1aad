"""Two processes of one bench, each with another kcli, that measure by turns (benchmarks/beside.py starts them).

A bench calls `turn()` before each measurement; the other process goes on then, until it calls it in turn. What both do
before their first call they do at the same time. In a bench that runs alone the call does nothing.

On a machine with other work, wall time says little. With KCLI_BENCH_CLOCK=processor in its environment a bench measures
the processor time of itself, of the processes that it has waited for, and of every kcli that it runs, as brokers are.
"""

import contextlib
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "CLOCK",
    "KCLI",
    "PROCESSOR",
    "TURNS",
    "Spent",
    "peak_memory",
    "processor_clock",
    "processor_time",
    "spent",
    "turn",
]

KCLI = [sys.executable, "-m", "kcli.cli"]
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


def peak_memory(pid: int) -> int:
    """MiB, the most that a process ever had."""
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0]) >> 10


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
BY_PROCESSOR = os.environ.pop(CLOCK, "") == PROCESSOR
if BY_PROCESSOR:
    time.perf_counter = processor_clock


def turn() -> None:
    if TURN is not None:
        TURN.give_and_wait()


class Spent(NamedTuple):
    """What a command has taken: seconds of wall time and of processors, and the most memory in KiB."""

    wall: float
    processor: float
    peak: int

    @property
    def seconds(self) -> float:
        """Seconds of the clock that the bench measures by."""
        return self.processor if BY_PROCESSOR else self.wall


# A process's peak begins with that of the process that has started it: this one is smaller than any that is measured.
STARTER = """
import os, sys, time
report, *command = sys.argv[1:]
os.set_inheritable(int(report), False)
begun = time.perf_counter()
pid = os.posix_spawnp(command[0], command, os.environ)
_, status, usage = os.wait4(pid, 0)
wall = time.perf_counter() - begun
found = status, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss
os.write(int(report), " ".join(map(repr, found)).encode())
"""


def spent(command: Sequence[str], out: str = os.devnull) -> Spent:
    """Run a command, its output into a file, when it is this side's turn. CalledProcessError: it failed."""
    turn()
    source, target = os.pipe()
    with Path(out).open("wb") as sink, os.fdopen(source, "rb") as report:
        starter = [sys.executable, "-I", "-S", "-c", STARTER, str(target), *command]
        process = subprocess.Popen(starter, stdout=sink, stderr=subprocess.DEVNULL, pass_fds=[target])
        os.close(target)
        found = report.read().split()
        process.wait()
    code = os.waitstatus_to_exitcode(int(found[0])) if found else process.returncode
    if code:
        raise subprocess.CalledProcessError(code, command)
    return Spent(float(found[1]), float(found[2]), int(found[3]))


def processor_time(command: Sequence[str]) -> float:
    """Return the processor time of a command, its output thrown away."""
    return spent(command).processor
