"""The requests of one client that wait for their turn, and the memory that they take."""

from __future__ import annotations

from collections import deque

from kcli.broker.net.memory_quota import SMALL
from kcli.broker.net.read_buffers import ReadBuffers
from kcli.broker.net.receiving import FrameReader

# What may wait behind the request that is being answered; then the socket is not read any more.
MOST, MOST_BYTES = 128, 4 << 20


class RequestQueue:
    """Complete requests in order, and the received part of the next. buffers: to read into; limit: bytes."""

    def __init__(self, buffers: ReadBuffers, limit: int) -> None:
        self._reader = FrameReader(buffers, limit)
        self._waiting: deque[bytes | memoryview] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def buffer(self) -> memoryview:
        """Return the buffer of the next read."""
        return self._reader.buffer()

    def receive(self, count: int) -> None:
        """Queue the requests that these bytes in the buffer complete.

        Raises TooLongError if one is longer than the limit.
        """
        for frame in self._reader.take(count):
            self._waiting.append(frame)
            self._bytes += len(frame)

    def take(self) -> bytes | memoryview:
        """Take the oldest request. Raises IndexError if there is none."""
        frame = self._waiting.popleft()
        self._bytes -= len(frame)
        return frame

    def free(self, frame: bytes | memoryview) -> None:
        """Free the memory of a request that was decoded: nothing of it is read any more."""
        if isinstance(frame, memoryview) and isinstance(frame.obj, bytearray):
            self._reader.buffers.give_back(frame.obj)

    def clear(self) -> None:
        """Forget all requests."""
        self._waiting.clear()

    @property
    def held(self) -> int:
        """Bytes of memory that it takes; 0 where that is too little to count."""
        held = self._bytes + self._reader.allocated
        return held if held > SMALL else 0

    @property
    def is_full(self) -> bool:
        """Return whether no more should be read for now."""
        return len(self._waiting) > MOST or self._bytes > MOST_BYTES

    @property
    def has_room(self) -> bool:
        """Return whether reading can go on."""
        return self._bytes <= MOST_BYTES // 2
