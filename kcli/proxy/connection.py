"""A client's connection and the proxy's to the broker: bytes are passed as fast as the slower side accepts them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from kcli.broker.net.listening import Gate
from kcli.broker.net.read_buffers import ReadBuffers
from kcli.client.address import Address
from kcli.errors import NetworkError
from kcli.proxy.faulting import FaultedRequests
from kcli.proxy.recording import Recorder, Recording
from kcli.proxy.request_stream import LARGEST_HELD, Awaited, RequestStream
from kcli.proxy.response_stream import Planned, ResponseStream
from kcli.proxy.rewriting import AddressRewriter
from kcli.proxy.side import ProxySide

Buffer = bytes | memoryview

MOST_AWAITED = 1 << 16  # the most requests without a response


class Services(Protocol):
    """The services of the proxy for its connections."""

    gate: Gate  # the limit on open connections
    buffers: ReadBuffers  # the buffers that all connections read into
    rewriter: AddressRewriter  # the rewriter of addresses in responses
    recorder: Recorder | None  # the recorder of the proxy's traffic, None if it is not recorded
    connections: set[Connection]  # the open connections

    @property
    def faults(self) -> bool:
        """Return whether there are fault rules."""

    def new_requests(self, awaited: deque[Awaited]) -> RequestStream | FaultedRequests:
        """Make the reader of one connection's requests."""

    def note(self, text: str) -> None:
        """Write a line to standard error, unless there were too many."""


class Route(Protocol):
    """The destination of a listener's connections."""

    async def dial(self, make: Callable[[], ProxySide]) -> Address:
        """Connect to the broker. Returns the address that was reached. Raises NetworkError."""


class Connection:
    """A client's connection, until both sides have ended. route: the destination."""

    def __init__(self, services: Services, route: Route) -> None:
        self.services, self.route = services, route
        self.awaited: deque[Awaited] = deque()
        self.client = ProxySide(self, lambda: services.buffers.scratch, self.take_requests)
        self.broker = ProxySide(self, self.response_buffer, self.take_responses)
        self.client.other, self.broker.other = self.broker, self.client
        self.requests = services.new_requests(self.awaited)
        self.faulted = services.faults  # kept, as rules may change
        self.responses: ResponseStream
        self.name = self.host = ""
        self.stopping = False
        self.recording: Recording | None = None
        self._dialing: asyncio.Task[None] | None = None
        self._faulting: asyncio.Task[None] | None = None

    def made(self, side: ProxySide) -> None:
        """Process that a side is connected. The client is first; then the proxy connects to the broker."""
        if side is not self.client:
            return
        assert side.transport is not None
        self.services.connections.add(self)
        if side.peer is None:  # it has disconnected already
            side.abort()
            return
        self.name, self.host = str(Address(*side.peer)), side.peer[0]
        self.responses = ResponseStream(
            self.awaited,
            self.services.rewriter,
            str(side.transport.get_extra_info("sockname")[0]),
            self.services.buffers,
            LARGEST_HELD,
            self.complain,
        )
        self._dialing = asyncio.get_running_loop().create_task(self._dial())

    async def _dial(self) -> None:
        """Connect to the broker, begin the recording, and start to read both sides. A failure closes the client's
        connection, with a line in the log.
        """
        try:
            await self.route.dial(lambda: self.broker)
        except NetworkError as error:
            self.services.note(f"{error}: {self.name} was closed")
            self.client.abort()
            return
        finally:
            self._dialing = None
        client, broker = self.client.peer, self.broker.peer
        if self.client.transport is None or self.broker.transport is None or self.stopping or not (client and broker):
            self.close()
            return
        if self.services.recorder is not None:
            # The recording has the client's host, and the proxy's port, as in the broker's request log.
            own = Address(*self.broker.transport.get_extra_info("sockname")[:2])
            name = f"client {self.name}, known to the broker as {own}"
            self.recording = self.services.recorder.begin((client[0], own.port), broker, name)
        for side in (self.client, self.broker):
            if side.transport is not None:
                side.transport.resume_reading()

    # --- bytes

    def take_requests(self, count: int) -> None:
        """Pass the client's bytes to the broker."""
        data = bytes(self.services.buffers.scratch[:count])
        try:
            self.broker.write(self.requests.feed(data))
        except NetworkError as error:
            self.complain(f"closed: {error}")
            self.abort()
            return
        if self.responses.is_lost or len(self.awaited) > MOST_AWAITED:
            self.responses.give_up(f"more than {MOST_AWAITED:,} requests wait for their responses")
        if self.recording is not None:
            self.recording.data(0, data)
        if self.faulted:
            self._pass_responses(*self.responses.proceed())  # the proxy may have answered a request
        if self.stopping:
            self.stop()

    def response_buffer(self) -> memoryview:
        """Return the buffer of the broker's next read."""
        if self.client.is_drained:
            self.responses.release()
        return self.responses.buffer()

    def take_responses(self, count: int) -> None:
        """Pass the broker's responses to the client, with the proxy's addresses."""
        self._pass_responses(*self.responses.take(count))
        if self.stopping:
            self.stop()

    def _pass_responses(self, passed: Buffer, original: Buffer) -> None:
        self.client.write(passed)
        self._record_response(original)
        if self.client.is_drained:
            self.responses.release()
        if self.responses.planned is not None and self._faulting is None:
            self._faulting = asyncio.get_running_loop().create_task(self._follow(self.responses.planned))

    def _record_response(self, original: Buffer) -> None:
        if self.recording is not None and original:
            self.recording.data(1, original)

    async def _follow(self, planned: Planned) -> None:
        """Send a response with the effects of a fault rule; later responses wait."""
        if self.broker.transport is not None:
            self.broker.transport.pause_reading()
        try:
            await planned.plan.send(self.client.faulted(), [planned.frame])
            if not planned.plan.silent:
                self._record_response(planned.original)
        finally:
            self.client.sink = self._faulting = None
        self.responses.planned = None
        self._pass_responses(*self.responses.proceed())
        if self.broker.transport is not None and self.responses.planned is None:
            self.broker.transport.resume_reading()
        if self.stopping:
            self.stop()

    # --- the end

    def ended(self, side: ProxySide) -> None:
        """Process that a side sends no more."""
        if self.recording is not None:
            self.recording.end(0 if side is self.client else 1)

    def lost(self, side: ProxySide, error: Exception | None) -> None:
        """Close the other side of a lost one, after all earlier bytes were sent to it."""
        if error is not None and side is self.client:
            side.other.abort()
        else:
            side.other.close()
        if self.recording is not None:
            record = self.recording.end if error is None else self.recording.reset
            record(0 if side is self.client else 1)
        if self.client.transport is None and self._faulting is not None:
            self._faulting.cancel()
        if self.client.transport is None and self in self.services.connections:
            self.services.connections.discard(self)
            self.services.gate.leave()
            self.requests.close()

    def stop(self) -> None:
        """Pass no new requests, and close when those in progress have their responses."""
        self.stopping = True
        if self.requests.is_between:
            if self.client.transport is not None:
                self.client.transport.pause_reading()
            if not self.awaited and self._faulting is None:
                self.close()

    def close(self) -> None:
        """Close both sides when all written bytes are sent."""
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
