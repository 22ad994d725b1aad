"""One side of a proxied connection. While it accepts no more bytes, the other side is not read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from kcli.broker.net.response_writer import ResponseWriter

HIGH_WATER = 1 << 20  # unsent bytes of a side from which on the other side is not read


class SideListener(Protocol):
    """The connection that a side belongs to."""

    stopping: bool

    def made(self, side: ProxySide) -> None:
        """Process that a side is connected."""

    def ended(self, side: ProxySide) -> None:
        """Process that a side sends no more."""

    def lost(self, side: ProxySide, error: Exception | None) -> None:
        """Process that a side was lost. error: None if it was closed."""


class FaultSink:
    """A client to which a fault rule sends a response (`kcli.broker.faults.ResponseConnection`)."""

    def __init__(self, client: ProxySide) -> None:
        assert client.transport is not None
        self.half_closed = asyncio.Event()
        if client.over:
            self.half_closed.set()
        self.writer = ResponseWriter(asyncio.get_running_loop(), client.transport)
        self.close = client.close


class ProxySide(asyncio.BufferedProtocol):
    """One of the two sides. buffer: returns the buffer of the next read; receive: called with the received bytes'
    count.
    """

    other: ProxySide

    def __init__(
        self, connection: SideListener, buffer: Callable[[], memoryview], receive: Callable[[int], None]
    ) -> None:
        self.connection, self.buffer, self.receive = connection, buffer, receive
        self.transport: asyncio.Transport | None = None
        self.peer: tuple[str, int] | None = None  # its address, None if it disconnected before
        self.over = False
        self.sink: FaultSink | None = None

    # --- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set the side up; it is read when both sides are connected (asyncio.BaseProtocol)."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        address = transport.get_extra_info("peername")
        self.peer = address and address[:2]
        transport.set_write_buffer_limits(HIGH_WATER)
        transport.pause_reading()  # until both sides are connected
        self.connection.made(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer of the next read (asyncio.BufferedProtocol)."""
        return self.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        """Process received bytes (asyncio.BufferedProtocol)."""
        self.receive(nbytes)

    def pause_writing(self) -> None:
        """Stop reading from the other side, as this one accepts no more (asyncio.BaseProtocol)."""
        if self.sink is not None:
            self.sink.writer.pause()
        if (transport := self.other.transport) is not None:
            transport.pause_reading()

    def resume_writing(self) -> None:
        """Resume reading from the other side, as this one accepts bytes again (asyncio.BaseProtocol)."""
        if self.sink is not None:
            self.sink.writer.resume()
        if (transport := self.other.transport) is not None and not self.connection.stopping:
            transport.resume_reading()

    def eof_received(self) -> bool:
        """Return whether to keep this side half open, as it sends no more but may receive (asyncio.BaseProtocol)."""
        self.over = True
        if self.sink is not None:
            self.sink.half_closed.set()
        self.connection.ended(self)
        return self.other.end() and self.transport is not None and self.transport.can_write_eof()

    def connection_lost(self, error: Exception | None) -> None:
        """Close the other side, after all earlier bytes were sent to it."""
        self.transport = None
        if self.sink is not None:
            self.sink.writer.lose()
        self.connection.lost(self, error)

    # --- called by the connection

    @property
    def is_drained(self) -> bool:
        """Return whether all written bytes were passed to the system."""
        return self.transport is not None and self.transport.get_write_buffer_size() == 0

    def write(self, data: bytes | memoryview) -> None:
        """Send bytes, if the side is still connected. They must not change until they are sent."""
        # asyncio would log a warning for each write after the end.
        if data and self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    def end(self) -> bool:
        """Send no more. Returns False if the side was closed: it can't be half-closed (TLS), or has sent its end,
        too.
        """
        if self.transport is None or self.over or not self.transport.can_write_eof():
            self.close()
            return False
        self.transport.write_eof()
        return True

    def close(self) -> None:
        """Close when all written bytes are sent."""
        # Only once; see kcli.client.framing.
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self.transport is not None:
            self.transport.abort()

    def faulted(self) -> FaultSink:
        """Return this side as the connection of a fault rule's response."""
        self.sink = FaultSink(self)
        return self.sink
