"""A client's connection and the broker's behind it: bytes go across as fast as the slower side takes them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from kcli.broker.listening import Gate
from kcli.client.address import Address
from kcli.errors import NetworkError
from kcli.proxy.recording import Recorder, Recording
from kcli.proxy.request_stream import Awaited, RequestStream
from kcli.proxy.response_stream import ResponseStream
from kcli.proxy.rewriting import AddressRewriter

__all__ = ["Connection", "Route", "Services"]

LIMIT = 100 << 20  # bytes of a response that is rewritten, as socket.request.max.bytes
HIGH_WATER = 1 << 20  # bytes that a side may have to send before the other one is not read any more


class Services(Protocol):
    """What the proxy provides to its connections."""

    @property
    def gate(self) -> Gate:
        """Counts open connections."""
        ...

    @property
    def scratch(self) -> memoryview:
        """The buffer that all connections read into."""
        ...

    @property
    def rewriter(self) -> AddressRewriter:
        """Rewrites addresses in responses."""
        ...

    @property
    def recorder(self) -> Recorder | None:
        """Records what crosses the proxy, where somebody wants it."""
        ...

    @property
    def dialect(self) -> str | None:
        """Message definitions laid over the stock ones."""
        ...

    @property
    def connections(self) -> set[Connection]:
        """The open connections."""
        ...

    def note(self, text: str) -> None:
        """Write a line to standard error, unless there were too many."""
        ...


class Route(Protocol):
    """Where a listener's connections lead."""

    async def dial(self, make: Callable[[], Side]) -> Address:
        """Connect to the broker; the address that was reached. NetworkError."""
        ...


class Side(asyncio.BufferedProtocol):
    """One of the two sides. receive: gets the bytes that come from it."""

    other: Side

    def __init__(self, connection: Connection, receive: Callable[[bytes], None]) -> None:
        self.connection, self.receive = connection, receive
        self.scratch = connection.services.scratch
        self.transport: asyncio.Transport | None = None
        self.over = False

    # --- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin (asyncio.BaseProtocol)."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(HIGH_WATER)
        transport.pause_reading()  # until both sides are there
        self.connection.made(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next read goes (asyncio.BufferedProtocol)."""
        return self.scratch

    def buffer_updated(self, nbytes: int) -> None:
        """Hand over what came."""
        self.receive(bytes(self.scratch[:nbytes]))

    def pause_writing(self) -> None:
        """This side takes no more: read no more from the other."""
        if (transport := self.other.transport) is not None:
            transport.pause_reading()

    def resume_writing(self) -> None:
        """This side takes bytes again."""
        if (transport := self.other.transport) is not None and not self.connection.stopping:
            transport.resume_reading()

    def eof_received(self) -> bool:
        """This side sends no more, but may take what the other one sends."""
        self.over = True
        self.connection.ended(self)
        return self.other.end() and self.transport is not None and self.transport.can_write_eof()

    def connection_lost(self, error: Exception | None) -> None:
        """Close the other side, when it has what came before."""
        self.transport = None
        self.connection.lost(self, error)

    # --- called by the connection

    def write(self, data: bytes) -> None:
        """Send bytes, if the side is still there."""
        if data and self.transport is not None:
            self.transport.write(data)

    def end(self) -> bool:
        """Send no more; False: the side can only be closed as a whole (TLS), or both are over."""
        if self.transport is None or self.over or not self.transport.can_write_eof():
            self.close()
            return False
        self.transport.write_eof()
        return True

    def close(self) -> None:
        """Close when what was written is sent."""
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self.transport is not None:
            self.transport.abort()


class Connection:
    """A client's connection, for as long as either side lives. route: where it leads."""

    def __init__(self, services: Services, route: Route) -> None:
        self.services, self.route = services, route
        self.awaited: deque[Awaited] = deque()
        self.client, self.broker = Side(self, self.take_requests), Side(self, self.take_responses)
        self.client.other, self.broker.other = self.broker, self.client
        self.name = ""
        self.stopping = False
        self.recording: Recording | None = None
        self._dialing: asyncio.Task[None] | None = None

    def made(self, side: Side) -> None:
        """A side is connected: the client first, which has the broker's dialled."""
        if side is not self.client:
            return
        assert side.transport is not None
        info = side.transport.get_extra_info
        self.name = str(Address(*info("peername")[:2]))
        self.requests = RequestStream(self.awaited, self.services.dialect)
        self.responses = ResponseStream(
            self.awaited, self.services.rewriter, str(info("sockname")[0]), LIMIT, self.complain
        )
        self.services.connections.add(self)
        self._dialing = asyncio.get_running_loop().create_task(self._dial())

    async def _dial(self) -> None:
        try:
            await self.route.dial(lambda: self.broker)
        except NetworkError as error:
            self.services.note(f"{error}: {self.name} was closed")
            self.client.abort()
            return
        finally:
            self._dialing = None
        if self.client.transport is None or self.broker.transport is None or self.stopping:
            self.close()
            return
        if self.services.recorder is not None:
            self.recording = self._record(self.services.recorder, self.client.transport, self.broker.transport)
        for side in (self.client, self.broker):
            if side.transport is not None:
                side.transport.resume_reading()

    def _record(self, recorder: Recorder, client: asyncio.Transport, broker: asyncio.Transport) -> Recording:
        own = Address(*broker.get_extra_info("sockname")[:2])
        ends = [transport.get_extra_info("peername")[:2] for transport in (client, broker)]
        return recorder.begin(ends[0], ends[1], f"the broker knows this client as {own}")

    # --- bytes

    def take_requests(self, data: bytes) -> None:
        """Pass on what the client sent."""
        try:
            self.requests.feed(data)
        except NetworkError as error:
            self.complain(f"closed: {error}")
            self.abort()
            return
        self.broker.write(data)
        if self.recording is not None:
            self.recording.data(0, data)
        if self.stopping:
            self.stop()

    def take_responses(self, data: bytes) -> None:
        """Pass on what the broker sent, with the proxy's addresses."""
        self.client.write(self.responses.feed(data))
        if self.recording is not None:
            self.recording.data(1, data)
        if self.stopping:
            self.stop()

    # --- the end

    def ended(self, side: Side) -> None:
        """A side sends no more."""
        if self.recording is not None:
            self.recording.end(0 if side is self.client else 1)

    def lost(self, side: Side, error: Exception | None) -> None:
        """A side is gone: so is the other, when it has got what came before."""
        if error is not None and side is self.client:
            side.other.abort()
        else:
            side.other.close()
        if self.recording is not None:
            record = self.recording.end if error is None else self.recording.reset
            record(0 if side is self.client else 1)
        if self.client.transport is None and self in self.services.connections:
            self.services.connections.discard(self)
            self.services.gate.leave()

    def stop(self) -> None:
        """Pass on no new requests, and close when those under way have their responses."""
        self.stopping = True
        if self.requests.is_between:
            if self.client.transport is not None:
                self.client.transport.pause_reading()
            if not self.awaited:
                self.close()

    def close(self) -> None:
        """Close both sides when what was written is sent."""
        self.client.close()
        self.broker.close()

    def abort(self) -> None:
        """Close both sides at once."""
        if self._dialing is not None:
            self._dialing.cancel()
        self.client.abort()
        self.broker.abort()

    def complain(self, text: str) -> None:
        """Write a line about this connection."""
        self.services.note(f"{self.name}: {text}")
