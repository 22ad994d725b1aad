"""Temporary files and folders that are removed when the process ends, also after Ctrl-C or a signal of ENDING.

A folder's removal is registered before the folder is created, so that a signal in between leaves nothing behind, as it
could with `tempfile`. Signals wait while `tempfile` writes a file to test TMPDIR.
"""

from __future__ import annotations

import contextlib
import os
import signal
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO

ENDING = (
    signal.SIGTERM,
    signal.SIGHUP,
)  # they end a process after its exit functions (kcli/cli/termination.py)

lasting: list[TemporaryFolder] = []


class TemporaryFolder:
    """A folder that only this user can access; it is removed by `cleanup`, at the end of its block, or of the
    process.
    """

    def __init__(self, prefix: str, *, shared: bool = False, beside: Path | None = None) -> None:
        """Make the folder in TMPDIR, or beside a path to which it may be moved. prefix: the start of its name. shared:
        another process, which may end later, writes into it, too; so files that cannot be removed are left. Raises
        OSError.
        """
        self.name = str((beside.parent if beside else temporary_root()) / f"{prefix}{os.urandom(8).hex()}")
        self.end = weakref.finalize(self, remove, self.name, os.getpid(), shared)
        try:
            os.mkdir(self.name, 0o700)  # noqa: PTH102
        except OSError:
            self.end.detach()  # an existing folder is not ours to remove
            raise

    def cleanup(self) -> None:
        """Remove the folder; a second call does nothing."""
        self.end()

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_error: object) -> None:
        self.cleanup()


def temporary_root() -> Path:
    """Return the folder for temporary files, TMPDIR by default. Raises FileNotFoundError if none is writable."""
    import tempfile  # its import takes longer than the rest of this module

    with without_signals():
        return Path(tempfile.gettempdir())


def temporary_file(buffering: int = -1) -> IO[bytes]:
    """Open a file without a name, which only this process can access. buffering: as for `open`. Raises OSError."""
    import tempfile

    with without_signals():
        return tempfile.TemporaryFile(buffering=buffering)


@contextlib.contextmanager
def without_signals() -> Iterator[None]:
    """Block SIGINT and the signals of ENDING until the end of the block, which must be short."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*ENDING, signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def lasting_folder(prefix: str) -> str:
    """Make a folder that is removed when the process ends; return its name."""
    lasting.append(TemporaryFolder(prefix, shared=True))
    return lasting[-1].name


def remove(name: str, process: int, shared: bool) -> None:
    """Remove a folder, but only in the process that made it: a forked process may end earlier."""
    if os.getpid() != process:
        return
    import shutil

    if shared:
        shutil.rmtree(name, ignore_errors=True)
        return
    while os.path.lexists(name):
        with contextlib.suppress(FileNotFoundError):  # another process has just removed it
            shutil.rmtree(name)
