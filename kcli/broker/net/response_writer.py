"""The sending side of a client's connection: responses in order, as fast as the client takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from kcli.broker.net.socket_writer import Outlet, send_through
from kcli.broker.response import Piece

# Bytes that the transport holds before writers have to wait.
HIGH_WATER = 1 << 20


def is_bytes(pieces: Sequence[Piece]) -> bool:
    """Return whether no piece is read from a file while it is sent."""
    return all(type(each) is bytes for each in pieces)


class ResponseWriter:
    """Writes to a transport. Slices of files are read while the socket takes them: a slow reader costs one chunk."""

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
        """Return whether the transport takes more."""
        return self._writable.is_set()

    def pause(self) -> None:
        """Pause writing: the transport's buffer is full."""
        self._writable.clear()

    def resume(self) -> None:
        """Resume writing: the transport's buffer has room again."""
        self._writable.set()

    def lose(self) -> None:
        """Cancel all waiting writes: the connection is lost."""
        self._lost = True
        if self._outlet is not None:
            self._outlet.close()
        self._writable.set()

    def send(self, pieces: Sequence[Piece]) -> None:
        """Hand pieces that are all bytes to the transport at once; nothing where the client is gone."""
        if not self._is_gone:  # asyncio would print a line for each
            self._transport.write(b"".join(cast("Sequence[bytes]", pieces)))

    async def write(self, data: bytes) -> None:
        """Hand bytes to the transport when it has room."""
        await self._writable.wait()
        if self._is_gone:
            raise asyncio.CancelledError
        self._transport.write(data)

    async def send_pieces(self, pieces: Sequence[Piece]) -> None:
        """Write all pieces, and wait until those from files are sent."""
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
            # No descriptor is left for it.
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
        """Write all pieces by the transport."""
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
