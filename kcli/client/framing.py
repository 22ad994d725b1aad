"""Kafka's framing on a socket: each frame is a 4-byte big-endian length and that many bytes.

The receiving side is a BufferedProtocol: the kernel writes into our buffer. Small frames are copied out of it, big ones
are received into buffers of their own. All writes of one iteration of the event loop are one system call.
"""

import asyncio
from collections.abc import Callable

from kcli.errors import NetworkError

SCRATCH = 256 * 1024
CLOSING = 0.5  # seconds
# Bytes. Frames from this size on get a buffer of their own.
BIG = 64 * 1024
# The most bytes that are allocated for a length alone; the buffer of a longer frame grows as its bytes arrive.
TRUSTED = 64 * 1024 * 1024


class FrameProtocol(asyncio.BufferedProtocol):
    """Sends and receives the frames of one connection.

    on_frame: called with each complete frame, without its length (bytes, or a bytearray for a big one)
    on_lost: called once, with the error that ended the connection, or None if it was closed
    limit: the longest frame to accept, in bytes
    """

    def __init__(
        self, on_frame: Callable[[bytes | bytearray], None], on_lost: Callable[[Exception | None], None], limit: int
    ) -> None:
        self._on_frame, self._on_lost, self._limit = on_frame, on_lost, limit
        self._scratch = bytearray(SCRATCH)
        self._view = memoryview(self._scratch)
        self._start = self._end = 0
        self._big: bytearray | None = None
        self._big_size = self._big_filled = 0
        self._transport: asyncio.Transport | None = None
        self._out: list[bytes] = []
        self._resumed = asyncio.Event()
        self._resumed.set()
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.received = self.sent = 0

    # --- sending

    def send(self, frame: bytes) -> None:
        """Send a frame with its length."""
        self.send_raw(len(frame).to_bytes(4, "big") + frame)

    def send_raw(self, data: bytes) -> None:
        """Send bytes without a length."""
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(data)

    def _flush(self) -> None:
        data = self._out[0] if len(self._out) == 1 else b"".join(self._out)
        self._out = []
        if self._transport is not None and not self._transport.is_closing():
            self.sent += len(data)
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the kernel accepts more bytes."""
        await self._resumed.wait()

    def pause_writing(self) -> None:
        self._resumed.clear()

    def resume_writing(self) -> None:
        self._resumed.set()

    @property
    def ends(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """The (address, port) of this side of an open connection, and of the peer."""
        assert self._transport is not None
        local, peer = (self._transport.get_extra_info(name) for name in ("sockname", "peername"))
        return local[:2], peer[:2]

    # --- receiving

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._big is not None:
            return memoryview(self._big)[self._big_filled :]
        return self._view[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        self.received += nbytes
        if self._big is not None:
            self._big_filled += nbytes
            self._continue_big()
            return
        self._end += nbytes
        try:
            self._take_frames()
        except NetworkError as error:
            self.abort(error)

    def _take_frames(self) -> None:
        """Pass complete frames to `on_frame`, and make room for the rest. Raises NetworkError for an invalid length."""
        start, end = self._start, self._end
        while end - start >= 4:
            size = int.from_bytes(self._scratch[start : start + 4], "big", signed=True)
            if not 0 <= size <= self._limit:
                raise NetworkError(
                    describe_first_bytes(bytes(self._scratch[start : min(end, start + 16)]), self._limit)
                )
            if end - start - 4 >= size:
                frame = bytes(self._view[start + 4 : start + 4 + size])
                start += 4 + size
                # Set before the call, as on_frame may read the state of this connection, or end it.
                self._start = start
                self._on_frame(frame)
                continue
            if size >= BIG:
                self._start_big(size, start + 4)
                return
            break
        self._compact(start)

    def _compact(self, start: int) -> None:
        left = self._end - start
        if left and (start > SCRATCH // 2 or self._end == SCRATCH):
            self._scratch[:left] = self._scratch[start : self._end]
            start, self._end = 0, left
        if not left:
            start = self._end = 0
        self._start = start

    def _start_big(self, size: int, start: int) -> None:
        have = self._end - start
        self._big = bytearray(min(size, TRUSTED))
        self._big[:have] = self._view[start : self._end]
        self._big_size, self._big_filled = size, have
        self._start = self._end = 0

    def _continue_big(self) -> None:
        big = self._big
        assert big is not None
        if self._big_filled < len(big):
            return
        if len(big) < self._big_size:
            # The event loop still holds a view of the buffer, so that it can't be resized.
            self._big = big + bytes(min(self._big_size - len(big), len(big)))
            return
        self._big = None
        self._on_frame(big)

    # --- ending

    def abort(self, error: Exception | None = None) -> None:
        """End the connection now; on_lost is called with `error`."""
        self._lose(error)
        if self._transport is not None:
            self._transport.abort()

    async def close(self) -> None:
        """Send pending bytes, close the connection and wait for its end. It is aborted if that takes longer than
        CLOSING, as the peer does not read, or does not close TLS.
        """
        if self._transport is None:
            return
        if self._out:
            self._flush()
        # Only once: after a second close asyncio's TLS transports have no protocol, and can't be aborted.
        if not self._transport.is_closing():
            self._transport.close()
        try:
            async with asyncio.timeout(CLOSING):
                await self._ended.wait()
        except TimeoutError:
            self._transport.abort()
            await self._ended.wait()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self._resumed.set()
        self._ended.set()
        self._lose(error)
        # This breaks the reference cycle with the owner, so that the buffer is freed at once.
        self._on_frame = ignore
        self._view, self._scratch, self._big = memoryview(b""), bytearray(), None

    def _lose(self, error: Exception | None) -> None:
        notify, self._on_lost = self._on_lost, ignore
        notify(error)


def ignore(_: object) -> None:
    pass


def describe_first_bytes(data: bytes, limit: int) -> str:
    """Return an error text that guesses the peer's protocol from bytes that are no Kafka frame."""
    size = int.from_bytes(data[:4], "big", signed=True)
    if data.startswith(b"HTTP"):
        return "it answers in HTTP, not in Kafka's protocol"
    if data[:2] in (b"\x15\x03", b"\x16\x03"):
        return "it speaks TLS (security.protocol SSL or SASL_SSL?)"
    if data.startswith(b"SSH-"):
        return "it answers in SSH, not in Kafka's protocol"
    shown = data.hex(" ")
    return (
        f"it does not speak Kafka's protocol, or lost its place: a frame of {size} bytes (0 to {limit}), from {shown}"
    )
