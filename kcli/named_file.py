"""Files to write to, whose errors have the file's name; errors of the system lack it."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

BUFFER = 1 << 16  # bytes
MOST_PIECES = 1024  # the most that one writev takes on Linux and macOS


class NamedFile(io.FileIO):
    """A file that adds its name to errors of writing."""

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
        """Write all pieces of bytes without copying them, with as few system calls as possible."""
        for at in range(0, len(pieces), MOST_PIECES):
            waiting = [*pieces[at : at + MOST_PIECES]]
            left = sum(map(len, waiting))
            while left:
                count = self.write_some(waiting)
                left -= count
                if left:
                    waiting = rest_of(waiting, count)

    def write_some(self, pieces: list[memoryview]) -> int:
        """Write as many bytes as the system takes in one call; return their number."""
        try:
            return os.writev(self.fileno(), pieces)
        except OSError as error:
            error.filename = self.shown
            raise


def open_named(file: str | int, shown: str) -> io.BufferedWriter[NamedFile]:
    """Open a buffered file to write to. shown: its name in errors."""
    return io.BufferedWriter(NamedFile(file, shown), BUFFER)


def rest_of(pieces: list[memoryview], done: int) -> list[memoryview]:
    """Return the pieces after the first `done` bytes."""
    first = 0
    while done >= len(pieces[first]):
        done -= len(pieces[first])
        first += 1
    return [pieces[first][done:], *pieces[first + 1 :]]
