"""Processes that a test starts, and that do not outlive it: what one leaves behind would fail the next.

with running(subprocess.Popen(command)) as server: ...
"""

import contextlib
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import AnyStr

__all__ = ["ended", "on_full_disk", "running"]

SECONDS = 120  # generous, for a machine that is busy


@contextlib.contextmanager
def running(process: subprocess.Popen[AnyStr]) -> Iterator[subprocess.Popen[AnyStr]]:
    """A process for the time of a block: killed at its end if it still runs, its pipes closed."""
    try:
        yield process
    finally:
        process.kill()
        with process:
            pass


@contextlib.contextmanager
def ended(process: subprocess.Popen[AnyStr]) -> Iterator[subprocess.Popen[AnyStr]]:
    """A process that ends by itself behind the block, once its pipes are closed; killed where the block fails.

    subprocess.TimeoutExpired: it did not end.
    """
    with running(process):
        yield process
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait(SECONDS)


def on_full_disk(words: Sequence[str], most: int) -> subprocess.CompletedProcess[str]:
    """Run kcli where no file can have more bytes. Python writes no bytecode: it would not notice where that is cut off,
    and fail at it in every later process.
    """
    return subprocess.run(
        [sys.executable, "-B", "-m", "kcli.cli", *words],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
