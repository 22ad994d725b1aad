"""Files to write to whose errors say which file it was: the system's own do not."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

BUFFER = 1 << 16  # bytes
MOST_PIECES = 1024  # that one call of the system takes, on Linux and macOS


class NamedFile(io.FileIO):
    """A file whose errors in writing have its name."""

    def __init__(self, file: str | int, shown: str, *, closefd: bool = True) -> None:
        super().__init__(file, "wb", closefd=closefd)
        self.shown = shown

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = error.filename or self.shown
            raise

    def write_all(self, pieces: Sequence[memoryview]) -> None:
        """Write pieces of bytes, many with one call, none copied here."""
        for at in range(0, len(pieces), MOST_PIECES):
            waiting = [*pieces[at : at + MOST_PIECES]]
            left = sum(map(len, waiting))
            while left:
                count = self.write_some(waiting)
                left -= count
                if left:
                    waiting = rest_of(waiting, count)

    def write_some(self, pieces: list[memoryview]) -> int:
        """Write what the system takes at once: how many bytes."""
        try:
            return os.writev(self.fileno(), pieces)
        except OSError as error:
            error.filename = self.shown
            raise


def open_named(file: str | int, shown: str) -> io.BufferedWriter[NamedFile]:
    """Open a file to write to through a buffer. shown: its name in errors."""
    return io.BufferedWriter(NamedFile(file, shown), BUFFER)


def rest_of(pieces: list[memoryview], done: int) -> list[memoryview]:
    """Return the pieces after the first `done` bytes."""
    first = 0
    while done >= len(pieces[first]):
        done -= len(pieces[first])
        first += 1
    return [pieces[first][done:], *pieces[first + 1 :]]
