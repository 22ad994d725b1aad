"""A process whose address space is bounded (`ulimit -v`): it asks for little, and says in one line when it lacks more.

Allocators reserve address space that they hardly use: 64 MiB for each thread, 1 GiB for Arrow's pool. Where the
libraries that do so get none, they end the process, without a word or with one of their own.
"""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from kcli.errors import InputError

# MiB of address space that a library takes for itself and for a small input.
ROOM = {"deltalake": 320, "duckdb": 320, "numpy": 128, "pandas": 256, "pyarrow": 256}
POOL = "ARROW_DEFAULT_MEMORY_POOL"  # its own takes memory ahead, zeroed: half a second for 400 MB of capture
ALGEBRA_THREADS = "OPENBLAS_NUM_THREADS"  # of numpy's, which wait busily for matrices that never come
SETTINGS = {
    "ARROW_IO_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",  # of child processes; this one has begun
    "OMP_NUM_THREADS": "1",  # Arrow's threads, too
}
M_ARENA_MAX = -8  # of glibc's mallopt
# What the system's loader and Python say in errors of other kinds when there is no memory.
SHORTAGES = ("failed to map segment", "cannot allocate memory", "can't start new thread")
OUT_OF_MEMORY = "OutOfMemoryException"  # of DuckDB, which need not be loaded


def left() -> int | None:
    """Return how many bytes of address space the process may still take; None: it has no bound."""
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return max(0, most - pages * resource.getpagesize())


def save() -> None:
    """Take memory as it is needed. Take little address space from now on where it is bounded, and refuse to load what
    needs more than is left.
    """
    os.environ.setdefault(POOL, "system")
    os.environ.setdefault(ALGEBRA_THREADS, "1")
    if left() is None:
        return
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    import ctypes  # only here: it takes longer than the rest

    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
    sys.meta_path.insert(0, Guard())


class Guard:
    """Finds no module. Raises InputError for a library that has too little room."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Raise InputError where there is no room for a library that is to be imported."""
        room = left() if name in ROOM else None
        if room is not None and room >> 20 < ROOM[name]:
            raise InputError(
                f"out of memory: {name} needs {ROOM[name]} MiB of address space, and {room >> 20} MiB are left"
                " (see ulimit -v)"
            )


def modest(memory: int) -> dict[str, Any]:
    """Return DuckDB's settings for so many MiB of memory: less, and one thread, where address space is bounded."""
    room = left()
    if room is None:
        return {"memory_limit": f"{memory}MiB"}
    return {"memory_limit": f"{min(memory, (room >> 20) // 3)}MiB", "threads": 1}


def give_back() -> None:
    """Give memory that was freed back to the system, where the C library keeps it."""
    import ctypes

    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def is_shortage(error: BaseException) -> bool:
    """Return whether an error says that there is no memory."""
    if isinstance(error, (ImportError, RuntimeError)):
        return any(each in str(error) for each in SHORTAGES)
    return isinstance(error, MemoryError) or type(error).__name__ == OUT_OF_MEMORY
