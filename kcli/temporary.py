"""Temporary files and folders that go whenever the process ends: at its end, by Ctrl-C, by a signal, at any moment.

A folder is known before it is there. `tempfile` makes one first, and a signal between the two leaves it behind; so it
would the file that it tries TMPDIR with, if signals did not wait for that.
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
)  # signals that end a process behind its exit functions (kcli/cli/termination.py)

lasting: list[TemporaryFolder] = []


class TemporaryFolder:
    """A folder of this user's alone, with all that is put into it, until `cleanup` or the end of its block."""

    def __init__(self, prefix: str, *, shared: bool = False, beside: Path | None = None) -> None:
        """Make the folder in TMPDIR, or beside a path that it may be moved to. prefix: of its name. shared: another
        process, which may end later, writes into it, too; what can't be removed stays. Raises OSError.
        """
        self.name = str((beside.parent if beside else temporary_root()) / f"{prefix}{os.urandom(8).hex()}")
        self.end = weakref.finalize(self, remove, self.name, os.getpid(), shared)
        try:
            os.mkdir(self.name, 0o700)  # noqa: PTH102
        except OSError:
            self.end.detach()  # what is there is somebody else's
            raise

    def cleanup(self) -> None:
        """Remove the folder, once."""
        self.end()

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_error: object) -> None:
        self.cleanup()


def temporary_root() -> Path:
    """Return the folder for temporary files, TMPDIR as a rule. FileNotFoundError where none can be written to."""
    import tempfile  # takes longer to load than all else here

    with without_signals():
        return Path(tempfile.gettempdir())


def temporary_file(buffering: int = -1) -> IO[bytes]:
    """Open a file of this process alone, which has no name. buffering: as of `open`. Raises OSError."""
    import tempfile

    with without_signals():
        return tempfile.TemporaryFile(buffering=buffering)


@contextlib.contextmanager
def without_signals() -> Iterator[None]:
    """Let signals that would end this process wait for the end of the block, which must be short."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*ENDING, signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def lasting_folder(prefix: str) -> str:
    """Make a folder that stays until the process ends; return its name."""
    lasting.append(TemporaryFolder(prefix, shared=True))
    return lasting[-1].name


def remove(name: str, process: int, shared: bool) -> None:
    """Remove a folder where this is the process that made it: one that it forked may end before it."""
    if os.getpid() != process:
        return
    import shutil

    if shared:
        shutil.rmtree(name, ignore_errors=True)
        return
    while os.path.lexists(name):
        with contextlib.suppress(FileNotFoundError):  # what another process has just removed
            shutil.rmtree(name)
