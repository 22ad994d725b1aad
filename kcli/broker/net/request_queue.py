"""The requests of one client that wait to be answered, and their memory."""

from collections import deque

from kcli.broker.net.memory_quota import SMALL
from kcli.broker.net.read_buffers import ReadBuffers
from kcli.broker.net.receiving import FrameReader

# The most requests and bytes that may wait; beyond them the socket is not read any more.
MOST, MOST_BYTES = 128, 4 << 20


class RequestQueue:
    """Complete requests in order, and the received part of the next one. limit: bytes of a request."""

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
        """Queue the requests that `count` more bytes in the buffer complete.

        Raises TooLongError if one is longer than the limit.
        """
        for frame in self._reader.take(count):
            self._waiting.append(frame)
            self._bytes += len(frame)

    def take(self) -> bytes | memoryview:
        """Remove and return the oldest request. Raises IndexError if there is none."""
        frame = self._waiting.popleft()
        self._bytes -= len(frame)
        return frame

    def free(self, frame: bytes | memoryview) -> None:
        """Give the buffer of a decoded request back, as nothing reads it any more."""
        if isinstance(frame, memoryview) and isinstance(frame.obj, bytearray):
            self._reader.buffers.give_back(frame.obj)

    def clear(self) -> None:
        """Remove all requests."""
        self._waiting.clear()

    @property
    def held(self) -> int:
        """The bytes of memory of all requests; 0 if they are too few to count (SMALL)."""
        held = self._bytes + self._reader.allocated
        return held if held > SMALL else 0

    @property
    def is_full(self) -> bool:
        """Return whether to stop reading."""
        return len(self._waiting) > MOST or self._bytes > MOST_BYTES

    @property
    def has_room(self) -> bool:
        """Return whether to resume reading."""
        return self._bytes <= MOST_BYTES // 2
