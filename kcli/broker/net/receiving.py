"""The receiving side of a server's connection: it splits the bytes into frames, in memory that grows with received
bytes.

All connections of a server read into one scratch buffer, since each read is consumed at once. So an idle connection
holds no buffer. A length field is not trusted: a long frame's buffer doubles as its bytes arrive, unless a free buffer
of an earlier frame is larger.
"""

from collections.abc import Iterator

from kcli.broker.net.read_buffers import ReadBuffers

LONG = 64 * 1024  # bytes; frames from this size on are received into a buffer of their own
FIRST = 256 * 1024  # bytes; the first size of that buffer


class TooLongError(Exception):
    """A length field below 0 or above the limit."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"a frame of {size} bytes (0 to {limit} expected, socket.request.max.bytes)")


class FrameBuffer:
    """A frame of `size` bytes that is received in place. have: the bytes received so far; room: a buffer to start
    with.
    """

    __slots__ = ("data", "filled", "size")

    def __init__(self, size: int, have: bytes | memoryview, room: bytearray | None = None) -> None:
        if room is None or len(room) <= len(have):
            room = bytearray(min(size, max(FIRST, 2 * len(have))))
        room[: len(have)] = have
        self.data, self.size, self.filled = room, size, len(have)

    @property
    def came(self) -> memoryview:
        """The bytes received so far."""
        return memoryview(self.data)[: self.filled]

    def buffer(self) -> memoryview:
        """Return the buffer of the next read."""
        return memoryview(self.data)[self.filled : self.size]

    def take(self, count: int) -> bool:
        """Count received bytes, and enlarge a full buffer; return whether the frame is complete."""
        self.filled += count
        if self.filled == self.size:
            return True
        if self.filled == len(self.data):
            # The event loop still holds a view of the buffer, so that it can't be resized.
            grown = bytearray(min(self.size, 2 * self.filled))
            grown[: self.filled] = self.data
            self.data = grown
        return False


class FrameReader:
    """Splits one connection's bytes into frames. buffers: shared by all connections; limit:
    socket.request.max.bytes.
    """

    __slots__ = ("_long", "_rest", "buffers", "limit")

    def __init__(self, buffers: ReadBuffers, limit: int) -> None:
        self.buffers, self.limit = buffers, limit
        self._rest = b""
        self._long: FrameBuffer | None = None

    @property
    def held(self) -> int:
        """The number of received bytes of an incomplete frame."""
        return len(self._rest) if self._long is None else self._long.filled

    @property
    def allocated(self) -> int:
        """The bytes of memory of an incomplete frame."""
        return len(self._rest) if self._long is None else min(len(self._long.data), self._long.size)

    def buffer(self) -> memoryview:
        """Return the buffer of the next read."""
        return self.buffers.scratch if self._long is None else self._long.buffer()

    def take(self, count: int) -> Iterator[bytes | memoryview]:
        """Yield the frames, without their lengths, that `count` more received bytes complete. Raises TooLongError."""
        if self._long is not None:
            if self._long.take(count):
                whole, self._long = self._long.came, None
                yield whole
            return
        # Received bytes are copied only once, into their frame; then the scratch buffer is used again.
        came = self.buffers.scratch[:count]
        data = memoryview(self._rest + came) if self._rest else came
        self._rest = b""
        start = 0
        while len(data) - start >= 4:
            size = int.from_bytes(data[start : start + 4], "big", signed=True)
            if not 0 <= size <= self.limit:
                raise TooLongError(size, self.limit)
            if len(data) - start - 4 < size:
                if size >= LONG:
                    self._long = FrameBuffer(size, data[start + 4 :], self.buffers.lend())
                    return
                break
            frame = bytes(data[start + 4 : start + 4 + size])
            start += 4 + size
            yield frame
        self._rest = bytes(data[start:])
