"""Runs in a bounded address space (`ulimit -v`): kcli reserves little, and reports in one line if it needs more. Bounds
the memory of queries.

Allocators reserve address space that they hardly use: 64 MiB for each thread, 1 GiB for Arrow's pool. Libraries that
cannot reserve it end the process, with an unclear message or none.
"""

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from kcli.errors import InputError

# MiB of address space that a library needs, with a small input.
ROOM = {"deltalake": 320, "duckdb": 320, "numpy": 128, "pandas": 256, "pyarrow": 256}
POOL = "ARROW_DEFAULT_MEMORY_POOL"  # Arrow's pool zeroes memory ahead: half a second for a capture of 400 MB
ALGEBRA_THREADS = "OPENBLAS_NUM_THREADS"  # numpy's idle threads for matrices would spin
SETTINGS = {
    "ARROW_IO_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",  # for child processes: this one has started already
    "OMP_NUM_THREADS": "1",  # Arrow's threads, too
}
M_ARENA_MAX = -8  # of glibc's mallopt
KEPT = 8 << 20  # bytes of a block of memory that is reused
# Texts by which the system's loader and Python report a lack of memory in errors of other types.
SHORTAGES = ("failed to map segment", "cannot allocate memory", "can't start new thread")
OUT_OF_MEMORY = "OutOfMemoryException"  # DuckDB's; compared by name, as DuckDB may not be loaded


def left() -> int | None:
    """Return the number of bytes of address space that are left; None if it is not bounded, or cannot be measured."""
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return max(0, most - pages * resource.getpagesize())


def save() -> None:
    """Set the allocators of libraries to take memory as needed. If the address space is bounded, also reserve little of
    it, and refuse to load libraries that need more than is left.
    """
    os.environ.setdefault(POOL, "system")
    os.environ.setdefault(ALGEBRA_THREADS, "1")
    if left() is None:
        # glibc returns blocks from 128 KiB on, such as numpy's columns, to the system when they are freed, until a
        # larger one was freed: to get their pages again takes a tenth of the time of `--format parquet`.
        bytes(KEPT)
        return
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    import ctypes  # only here: its import takes longer than the rest

    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
    sys.meta_path.insert(0, Guard())


class Guard:
    """An import hook that finds no module, and raises InputError for a library that has too little address space."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Raise InputError if the library to import needs more address space than is left; return None."""
        room = left() if name in ROOM else None
        if room is not None and room >> 20 < ROOM[name]:
            raise InputError(
                f"out of memory: {name} needs {ROOM[name]} MiB of address space, and {room >> 20} MiB are left"
                " (see ulimit -v)"
            )


def modest(memory: int) -> dict[str, Any]:
    """Return DuckDB's settings for this many MiB of memory; less memory and one thread if address space is bounded."""
    room = left()
    if room is None:
        return {"memory_limit": f"{memory}MiB"}
    return {"memory_limit": f"{min(memory, (room >> 20) // 3)}MiB", "threads": 1}


class MemoryBound:
    """Bounds the memory that this process takes while any `with` block of it runs: allocations beyond it fail. more:
    bytes beyond those that the process has when the first of these blocks begins.
    """

    def __init__(self, more: int) -> None:
        self.more, self.lock, self.blocks = more, Lock(), 0
        self.before = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)

    def __enter__(self) -> None:
        with self.lock:
            self.blocks += 1
            if self.blocks > 1:
                return
            self.before = most, hard = resource.getrlimit(resource.RLIMIT_DATA)
            with suppress(OSError):  # no /proc
                pages = int(Path("/proc/self/statm").read_text().split()[5])
                bound = pages * resource.getpagesize() + self.more
                if most == resource.RLIM_INFINITY or bound < most:
                    resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))

    def __exit__(self, *_error: object) -> None:
        with self.lock:
            self.blocks -= 1
            if not self.blocks:
                resource.setrlimit(resource.RLIMIT_DATA, self.before)


def give_back() -> None:
    """Return freed memory from the C library to the system."""
    import ctypes

    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def is_shortage(error: BaseException) -> bool:
    """Return whether an error means that there is no memory."""
    if isinstance(error, (ImportError, RuntimeError)):
        return any(each in str(error) for each in SHORTAGES)
    return isinstance(error, MemoryError) or type(error).__name__ == OUT_OF_MEMORY
