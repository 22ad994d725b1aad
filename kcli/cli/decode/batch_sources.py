"""Inputs of `kcli decode batch` and `kcli decode segment`: a file, a pipe, bytes in memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kcli.cli.terminal.streams import standard_input
from kcli.errors import InputError
from kcli.whole_file import WholeFile

if TYPE_CHECKING:
    from kcli.records.chunks import ReadInto

LOOKED_AT = 4096  # bytes


class OpenSource:
    """A source of batches: `read` for positions, or in order where `seekable` is False."""

    def __init__(self, read: ReadInto, size: int | None, seekable: bool) -> None:
        self.read, self.size, self.seekable = read, size, seekable

    def start(self) -> bytes:
        """Return the first bytes, at most 4,096; empty if the source can be read only once."""
        room = bytearray(LOOKED_AT)
        return bytes(room[: self.read(memoryview(room), 0)]) if self.seekable else b""


@contextmanager
def open_source(path: str) -> Iterator[OpenSource]:
    """Open a file, a pipe, or standard input ("-"). Raises OSError; InputError at the end for a file that was cut."""
    if path == "-":
        yield OpenSource(lambda into, _position: standard_input().readinto1(into), None, False)
        return
    with WholeFile(path) as file:
        handle = file.fileno()
        if stat.S_ISREG(os.fstat(handle).st_mode):
            yield OpenSource(lambda into, position: os.preadv(handle, [into], position), file.size, True)
        else:
            yield OpenSource(lambda into, _position: os.readv(handle, [into]), None, False)


def memory_source(data: bytes) -> OpenSource:
    """Read from bytes in memory."""
    from kcli.records.conversion import Slice

    return OpenSource(Slice.of(data).read, len(data), True)


def segments_in(files: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files; of a directory the log segments in it and below, by name. Raises InputError if it has none."""
    found: list[str] = []
    for file in files:
        inside = sorted(map(str, Path(file).rglob("*.log"))) if file != "-" and Path(file).is_dir() else [file]
        if not inside:
            raise InputError("no log segment (*.log) in this directory", file=file)
        found += inside
    return tuple(found)
