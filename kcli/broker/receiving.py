"""The receiving side of a server's connection: frames out of a stream of bytes, with memory that grows only by what
came.

All connections of a server read into one scratch buffer, since the event loop hands each read over at once: an idle
connection holds no buffer. What a length field claims is not believed: a long frame's buffer doubles as its bytes
arrive.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["SCRATCH", "FrameReader", "TooLongError"]

SCRATCH = 256 * 1024
# Frames from here on are received in place, in a buffer of their own.
BIG = 64 * 1024
FIRST = 256 * 1024


class TooLongError(Exception):
    """A length field below 0 or above the limit."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"a frame of {size} bytes (0 to {limit} expected, socket.request.max.bytes)")


class FrameReader:
    """One connection's place in the stream. scratch: shared with all others; limit: socket.request.max.bytes."""

    __slots__ = ("_big", "_filled", "_rest", "_scratch", "_size", "limit")

    def __init__(self, scratch: memoryview, limit: int) -> None:
        self._scratch, self.limit = scratch, limit
        self._rest = b""
        self._big: bytearray | None = None
        self._size = self._filled = 0

    @property
    def held(self) -> int:
        """Bytes of a frame that is not whole yet."""
        return len(self._rest) if self._big is None else self._filled

    @property
    def allocated(self) -> int:
        """Bytes of memory that it takes."""
        return len(self._rest) if self._big is None else len(self._big)

    def buffer(self) -> memoryview:
        """Where the next read goes."""
        if self._big is not None:
            return memoryview(self._big)[self._filled :]
        return self._scratch

    def take(self, count: int) -> Iterator[bytes | bytearray]:
        """The frames, without their lengths, that `count` more bytes make whole. TooLongError."""
        if self._big is not None:
            self._filled += count
            whole = self._grow()
            if whole is not None:
                yield whole
            return
        data = self._rest + self._scratch[:count] if self._rest else bytes(self._scratch[:count])
        self._rest = b""
        start = 0
        while len(data) - start >= 4:
            size = int.from_bytes(data[start : start + 4], "big", signed=True)
            if not 0 <= size <= self.limit:
                raise TooLongError(size, self.limit)
            if len(data) - start - 4 < size:
                if size >= BIG:
                    self._begin_big(size, data[start + 4 :])
                    return
                break
            frame = data[start + 4 : start + 4 + size]
            start += 4 + size
            yield frame
        self._rest = data[start:]

    def _begin_big(self, size: int, have: bytes) -> None:
        self._big = bytearray(min(size, max(FIRST, len(have))))
        self._big[: len(have)] = have
        self._size, self._filled = size, len(have)

    def _grow(self) -> bytearray | None:
        """The frame once it is whole; else a bigger buffer where this one is full."""
        big = self._big
        assert big is not None
        if self._filled < len(big):
            return None
        if len(big) == self._size:
            self._big = None
            return big
        # The event loop still holds a view of the old buffer: a new one, not a resize.
        self._big = big + bytes(min(self._size - len(big), len(big)))
        return None
