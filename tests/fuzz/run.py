"""Fuzz for a while: `python -m tests.fuzz.run [MINUTES] [SEED] [TARGET...]`.

A finding is printed with its seed and round, and ends the run with exit 1. A round of more than TOO_LONG seconds, or
memory beyond MEMORY, is a finding too.
"""

from __future__ import annotations

import random
import resource
import signal
import sys
import time

from kcli.errors import KcliError
from tests.fuzz.targets import TARGETS, Target

__all__ = ["fuzz", "main"]

TOO_LONG = 20
MEMORY = 1 << 30  # bytes of address space on top of what the process has when it begins


class TooLong(BaseException):
    """No exception that a target might catch."""


def fuzz(target: Target, seconds: float, seed: int) -> int:
    """Rounds done. AssertionError, TooLong, MemoryError or whatever the target raised, with the round's seed noted."""
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        signal.alarm(TOO_LONG)
        try:
            target.round(random.Random(f"{seed} {target.name} {number}"))
        except KcliError as error:
            raise AssertionError(f"{target.name}, seed {seed}, round {number}: {error!r} came through") from error
        except BaseException as error:
            error.add_note(f"{target.name}, seed {seed}, round {number}")
            raise
        finally:
            signal.alarm(0)
        number += 1
    return number


def bound_memory() -> None:
    with open("/proc/self/statm") as file:  # noqa: PTH123
        pages = int(file.read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, resource.RLIM_INFINITY))


def give_up(_signal: int, _frame: object) -> None:
    raise TooLong(f"a round took more than {TOO_LONG} s")


def main(words: list[str]) -> int:
    minutes, seed = float(words[0]) if words else 10, int(words[1]) if len(words) > 1 else int(time.time())
    chosen = [target for target in TARGETS if not words[2:] or target.name in words[2:]]
    signal.signal(signal.SIGALRM, give_up)
    bound_memory()
    for target in chosen:
        rounds = fuzz(target, minutes * 60 / len(chosen), seed)
        print(f"{target.name}: {rounds:,} rounds, seed {seed}, no finding", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
