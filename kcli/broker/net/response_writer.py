"""The sending side of a client's connection: responses in order, as fast as the client reads them."""

import asyncio
from collections.abc import Sequence
from typing import cast

from kcli.broker.net.socket_writer import Outlet, send_through
from kcli.broker.response import Piece

# Bytes that the transport buffers before writers have to wait.
HIGH_WATER = 1 << 20


def is_bytes(pieces: Sequence[Piece]) -> bool:
    """Return whether all pieces are bytes, and none is read from a file while it is sent."""
    return all(type(each) is bytes for each in pieces)


class ResponseWriter:
    """Writes to a transport. Slices of files are read as the socket accepts them, so that a slow client costs one chunk
    of memory.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport) -> None:
        self._loop, self._transport = loop, transport
        transport.set_write_buffer_limits(HIGH_WATER)
        self._writable = asyncio.Event()
        self._writable.set()
        self._outlet: Outlet | None = None
        self._encrypted = transport.get_extra_info("ssl_object") is not None
        self._lost = False

    @property
    def is_writable(self) -> bool:
        """Return whether the transport's buffer has room."""
        return self._writable.is_set()

    def pause(self) -> None:
        """Pause writing, as the transport's buffer is full."""
        self._writable.clear()

    def resume(self) -> None:
        """Resume writing, as the transport's buffer has room again."""
        self._writable.set()

    def lose(self) -> None:
        """Cancel all waiting writes, as the connection is lost."""
        self._lost = True
        if self._outlet is not None:
            self._outlet.close()
        self._writable.set()

    def send(self, pieces: Sequence[Piece]) -> None:
        """Write pieces that are all bytes to the transport; do nothing if the client has disconnected."""
        if not self._is_gone:  # asyncio would log a warning for each write
            self._transport.write(b"".join(cast("Sequence[bytes]", pieces)))

    async def write(self, data: bytes) -> None:
        """Write bytes to the transport when it has room. Raises CancelledError if the client has disconnected."""
        await self._writable.wait()
        if self._is_gone:
            raise asyncio.CancelledError
        self._transport.write(data)

    async def send_pieces(self, pieces: Sequence[Piece]) -> None:
        """Write all pieces, and wait until those from files are sent. Raises CancelledError if the client has
        disconnected.
        """
        if is_bytes(pieces):
            await self.write(b"".join(cast("Sequence[bytes]", pieces)))
            return
        if self._encrypted:
            await self._send_slowly(pieces)
            return
        await self._flush()
        try:
            outlet = Outlet(self._loop, self._transport.get_extra_info("socket").fileno())
        except OSError:
            # There is no free file descriptor.
            await self._send_slowly(pieces)
            return
        self._outlet = outlet
        try:
            await send_through(outlet, pieces)
        except ConnectionError:
            raise asyncio.CancelledError from None
        finally:
            outlet.close()
            self._outlet = None

    async def _send_slowly(self, pieces: Sequence[Piece]) -> None:
        """Write all pieces through the transport, chunk by chunk."""
        for each in pieces:
            for chunk in (each,) if isinstance(each, bytes) else each:
                await self.write(chunk)

    async def _flush(self) -> None:
        """Wait until all earlier writes are sent."""
        if not self._lost and self._transport.get_write_buffer_size():
            self._transport.set_write_buffer_limits(0)
            await self._writable.wait()
        if self._is_gone:
            raise asyncio.CancelledError
        self._transport.set_write_buffer_limits(HIGH_WATER)

    @property
    def _is_gone(self) -> bool:
        return self._lost or self._transport.is_closing()
