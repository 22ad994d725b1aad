"""Lines of a pipe or a terminal, read as they come; the event loop goes on while there are none."""

from __future__ import annotations

import asyncio
import io
import os
import stat
from collections import deque
from typing import BinaryIO

PIECE = 1 << 16


class ArrivingLines:
    """A stream of lines that an event loop waits for before it reads. longest: most bytes of a line to wait for."""

    def __init__(self, handle: int, longest: int) -> None:
        self.handle, self.longest = handle, longest
        self.whole: deque[bytes] = deque()
        self.rest: list[bytes] = []  # parts of a line without its end
        self.held = 0  # bytes of that line
        self.ended = False

    @property
    def is_ready(self) -> bool:
        """Return whether `readline` has something to return at once."""
        return bool(self.whole) or self.ended or self.held >= self.longest

    async def wait(self) -> None:
        """Wait for a whole line, for `longest` bytes, or for the end."""
        loop = asyncio.get_running_loop()
        while not self.is_ready:
            readable = asyncio.Event()
            loop.add_reader(self.handle, readable.set)
            try:
                await readable.wait()
            finally:
                loop.remove_reader(self.handle)
            self.read()

    def readline(self, most: int) -> bytes:
        """Return the next line with its line end, at most `most` bytes of it; empty at the end of the stream."""
        while not self.is_ready and self.held < most:
            self.read()
        if self.whole:
            return self.whole.popleft()[:most]
        line = b"".join(self.rest)[:most]
        self.rest, self.held = [], 0
        return line

    def read(self) -> None:
        """Read the bytes at hand; wait if there are none."""
        data = os.read(self.handle, PIECE)
        first, *more = data.split(b"\n")
        self.ended = not data
        if not more:
            self.rest.append(first)
            self.held += len(first)
            return
        self.whole.append(b"".join([*self.rest, first, b"\n"]))
        self.whole.extend(line + b"\n" for line in more[:-1])
        self.rest, self.held = [more[-1]], len(more[-1])


def arriving(stream: BinaryIO, longest: int) -> ArrivingLines | None:
    """Wrap a stream whose reader may have to wait. Returns None for a file, or a stream within this process. longest:
    the most bytes of a line to wait for.
    """
    try:
        handle = stream.fileno()
    except io.UnsupportedOperation:
        return None
    mode = os.fstat(handle).st_mode
    waits = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(handle)
    return ArrivingLines(handle, longest) if waits else None
