"""Fuzz for a while: `python -m tests.fuzz.run [MINUTES|SECONDSs] [SEED] [TARGET...]`.

A finding is printed with its seed and round, and ends the run with exit 1. A round of more than TOO_LONG seconds of
a processor, or memory beyond MEMORY, is a finding too. Where KCLI_FUZZ_PROGRESS names a file, it says which round is
under way: a sanitizer ends the process without a word of Python's.
"""

import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kcli.errors import KcliError
from tests.fuzz.targets import TARGETS, Target

__all__ = ["TooLong", "bounded", "fuzz", "main"]

TOO_LONG = 20  # seconds of a processor: a machine that is busy with other things is no finding
HANGS = 10 * TOO_LONG  # seconds by the clock
MEMORY = 1 << 30  # bytes of address space on top of what the process has when it begins


class TooLong(BaseException):
    """No exception that a target might catch."""


def fuzz(target: Target, seconds: float, seed: int) -> int:
    """Rounds done, one at least. AssertionError, TooLong, MemoryError or whatever the target raised, with the round's
    seed noted."""
    end, number, note = time.monotonic() + seconds, 0, progress()
    while not number or time.monotonic() < end:
        note(f"{target.name}, seed {seed}, round {number}")
        try:
            with bounded():
                target.round(random.Random(f"{seed} {target.name} {number}"))
        except KcliError as error:
            raise AssertionError(f"{target.name}, seed {seed}, round {number}: {error!r} came through") from error
        except BaseException as error:
            error.add_note(f"{target.name}, seed {seed}, round {number}")
            raise
        number += 1
    return number


@contextmanager
def bounded() -> Iterator[None]:
    """TooLong out of a block that takes too long. Who else uses these timers, as pytest does, has them back."""
    handlers = {name: signal.signal(name, give_up) for name in (signal.SIGPROF, signal.SIGALRM)}
    seconds = {signal.ITIMER_PROF: TOO_LONG, signal.ITIMER_REAL: HANGS}
    before = {timer: signal.setitimer(timer, limit) for timer, limit in seconds.items()}
    try:
        yield
    finally:
        for name, handler in handlers.items():
            signal.signal(name, handler)
        for timer, left in before.items():
            signal.setitimer(timer, *left)


def progress() -> Callable[[str], object]:
    """Notes the round under way where KCLI_FUZZ_PROGRESS says, at a fixed width and without a buffer."""
    name = os.environ.get("KCLI_FUZZ_PROGRESS")
    if name is None:
        return lambda text: None
    file = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600)
    return lambda text: os.pwrite(file, text.ljust(120).encode(), 0)


def bound_memory() -> None:
    with open("/proc/self/statm") as file:  # noqa: PTH123
        pages = int(file.read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, resource.RLIM_INFINITY))


def give_up(number: int, _frame: object) -> None:
    why = (
        f"took more than {TOO_LONG} s of a processor" if number == signal.SIGPROF else f"had not ended after {HANGS} s"
    )
    raise TooLong(f"a round {why}")


def seconds_of(text: str) -> float:
    """ "10": minutes; "60s": seconds."""
    return float(text[:-1]) if text.endswith("s") else float(text) * 60


def main(words: list[str]) -> int:
    seconds, seed = seconds_of(words[0] if words else "10"), int(words[1]) if len(words) > 1 else int(time.time())
    chosen = [target for target in TARGETS if not words[2:] or target.name in words[2:]]
    bound_memory()
    for target in chosen:
        rounds = fuzz(target, seconds / len(chosen), seed)
        print(f"{target.name}: {rounds:,} rounds, seed {seed}, no finding", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
