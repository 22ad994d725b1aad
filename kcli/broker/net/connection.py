"""A client's connection, which answers requests one after the other, in order.

Most requests are answered at once, without a task. One that waits (a long poll, a join) delays those after it, as in
Kafka.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol

from kcli.broker.clock import Timer
from kcli.broker.faults import Faults, Plan
from kcli.broker.metadata.registry import route
from kcli.broker.net.listening import Gate
from kcli.broker.net.memory_quota import Intake
from kcli.broker.net.protocols import ListenerOptions
from kcli.broker.net.read_buffers import ReadBuffers
from kcli.broker.net.receiving import TooLongError
from kcli.broker.net.request_queue import RequestQueue
from kcli.broker.net.response_writer import ResponseWriter, is_bytes
from kcli.broker.request import Handler, Node, Request, Services
from kcli.broker.response import Answer, HangUpError, Outcome, Piece
from kcli.broker.security.acls import ANONYMOUS
from kcli.broker.security.security import Security
from kcli.broker.security.throttling import throttled
from kcli.errors import DecodeError, UsageError
from kcli.grammar.request_start import HEAD

if TYPE_CHECKING:
    from kcli.broker.control.control import Control

# The longest wait for the response to a client that has closed its side of the connection.
HALF_CLOSED_SECONDS = 5.0


class Server(Services, Protocol):
    """The parts of the broker that its connections use."""

    faults: Faults  # the fault rules
    intake: Intake[Connection]  # the limit on memory of waiting requests
    gate: Gate  # the limit on open connections
    security: Security  # the TLS contexts, logins and quotas
    control: Control | None  # the control that keeps, counts and intercepts requests; None if there is none

    def complain(self, text: str) -> None:
        """Log a line about a client, unless there were too many."""


class ServingNode(Node, Protocol):
    """The node that a connection belongs to."""

    host: str  # the host on which the node listens
    loop: asyncio.AbstractEventLoop
    buffers: ReadBuffers  # the buffers that all connections of the node read into
    connections: set[Connection]  # the open connections
    broker: Server  # the broker that the node is part of

    def disconnect(self, connection: Connection) -> None:
        """Remove a connection that has ended, with its share sessions."""


class Connection(asyncio.BufferedProtocol):
    """A connection. listener: the name of the listener; dialect: the message definitions that both sides agreed on,
    None for Apache's; software: the client's (name, version); login: None after a login, or if none is required.
    """

    def __init__(self, node: ServingNode, listener: ListenerOptions) -> None:
        self.node, self.broker, self.listener = node, node.broker, listener.name
        self.dialect = node.broker.dialect
        self.software = ("", "")
        self.login = node.broker.security.new_login(listener)
        self._principal = ANONYMOUS
        self.last_used = node.broker.clock.time()
        self.half_closed = asyncio.Event()
        self.peer: tuple[str, int] = ("", 0)
        self.queue = RequestQueue(node.buffers, node.broker.configs.int("socket.request.max.bytes"))
        self._task: asyncio.Task[None] | None = None
        self._paused = self._counted = self._is_encrypted = False
        self._woken: asyncio.Event | None = None
        self._transport: asyncio.Transport | None = None
        self._ending: asyncio.TimerHandle | None = None
        self._muted: Timer | None = None

    # --- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set the connection up (asyncio.BaseProtocol)."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.writer = ResponseWriter(self.node.loop, transport)
        self.peer = (transport.get_extra_info("peername") or self.peer)[:2]  # None if it has disconnected
        if (tls := transport.get_extra_info("ssl_object")) is not None:
            self._is_encrypted = True
        self.node.connections.add(self)
        if tls is not None:
            self._recognize(tls.getpeercert(True))

    def _recognize(self, certificate: bytes | None) -> None:
        """Set the client's principal by its certificate; close the connection if that has none."""
        try:
            self._principal = self.broker.security.principal(self.listener, certificate)
        except UsageError as error:
            self.hang_up(str(error))

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer of the next read (asyncio.BufferedProtocol)."""
        return self.queue.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        """Queue the complete requests, and answer those that do not have to wait."""
        self.last_used = self.broker.clock.time()
        try:
            self.queue.receive(nbytes)
            self._account()
        except TooLongError as error:
            self.hang_up(str(error))
            return
        if self._task is None:
            self._answer_waiting()
        if not self._paused and self.queue.is_full:
            self._paused = True
            if self._transport is not None:
                self._transport.pause_reading()

    def pause_writing(self) -> None:
        """Pause writing, as the client reads too slowly (asyncio.BaseProtocol)."""
        self.writer.pause()

    def resume_writing(self) -> None:
        """Resume writing, as the client reads again (asyncio.BaseProtocol)."""
        self.writer.resume()
        if self._task is None:
            self._answer_waiting()

    def eof_received(self) -> bool:
        """Return whether to keep the connection half open: the client sends no more, but may wait for a response."""
        self._wake()
        if self._task is None or self._is_encrypted:  # TLS connections can't be half-closed
            return False
        self.node.loop.call_later(HALF_CLOSED_SECONDS, self.abort)
        return True

    def connection_lost(self, error: Exception | None) -> None:
        """Release everything, and cancel the request in progress (asyncio.BaseProtocol)."""
        self._transport = None
        if self._muted is not None:
            self._muted.cancel()
        self._wake()
        self.writer.lose()
        self.queue.clear()
        self.node.disconnect(self)
        self.broker.intake.forget(self)
        self.broker.gate.leave()
        if self._task is not None:
            self._task.cancel()

    def _wake(self) -> None:
        self.half_closed.set()
        if self._woken is not None:
            self._woken.set()

    def on_half_closed(self, woken: asyncio.Event) -> None:
        """Set this event when the client closes its side of the connection."""
        self._woken = woken
        if self.half_closed.is_set():
            woken.set()

    @property
    def work(self) -> asyncio.Task[None] | None:
        """The task that answers a slow request, if there is one."""
        return self._task

    @property
    def busy(self) -> bool:
        """Return whether a request is being answered."""
        return self._task is not None

    def mute(self, seconds: float) -> None:
        """Answer this client's next requests only after so many seconds, by a quota (KIP-219)."""
        if self._muted is not None:
            self._muted.cancel()
        self._muted = self.broker.clock.call_later(seconds, self._unmute)

    def _unmute(self) -> None:
        self._muted = None
        if self._task is None and self._transport is not None:
            self._answer_waiting()

    # --- ending

    def hang_up(self, why: str) -> None:
        """Close at once, and log the reason."""
        self.broker.complain(f"{self.name}: closed: {why}")
        self.abort()

    def abort(self) -> None:
        """Close at once; unsent bytes are lost."""
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Close once all written bytes are sent."""
        if self._transport is not None:
            self._transport.close()

    @property
    def name(self) -> str:
        """The client as "address:port"."""
        return f"{self.peer[0]}:{self.peer[1]}"

    @property
    def host(self) -> str:
        """The client's address."""
        return self.peer[0]

    @property
    def principal(self) -> str:
        """The client's principal, such as "User:alice"."""
        return self._principal if self.login is None else f"User:{self.login.user}"

    @property
    def local_host(self) -> str:
        """The address by which the client reached this broker."""
        if self._transport is None:
            return self.node.host
        return str(self._transport.get_extra_info("sockname")[0])

    # --- answering

    def _answer_waiting(self) -> None:
        """Answer queued requests up to the first that has to wait, as long as the client reads responses."""
        while self.queue and self._transport is not None:
            if not self.writer.is_writable or self._muted is not None or self._is_refused():
                return
            try:
                frame = self._take()
                if self.login is not None and self.login.raw:
                    self._log_in(frame)
                    continue
                request, outcome, plan = self._process(frame)
                if plan is None and not isinstance(outcome, Awaitable):
                    pieces = self._frame(request, outcome)
                    if is_bytes(pieces):
                        if pieces:
                            self.writer.send(pieces)
                        continue
            except Exception as error:  # noqa: BLE001  a bug in one handler ends one connection, with its traceback
                self._fail(error)
                return
            self._task = self.node.loop.create_task(self._answer_slowly(request, outcome, plan))
            return
        if not self._is_refused() and self.half_closed.is_set():
            self.close()

    def _process(self, frame: bytes | memoryview) -> tuple[Request, Outcome, Plan | None]:
        """Decode a request, and let its handler process it. Returns the request, its outcome, and the faults for it."""
        request, handle = self._read(frame)
        size = len(frame)
        self.queue.free(frame)
        if self.broker.control is not None:
            handle = self.broker.control.watch(request, handle, size)
        if self.broker.security.quotas.values:
            handle = throttled(self.broker.security.quotas, request, handle, size)
        plan = self.broker.faults.plan(request)
        return request, handle(request) if plan is None else plan.handle(request, handle), plan

    def _is_refused(self) -> bool:
        """Return whether the login failed. If so, the connection is closed after a delay, which makes guesses slow."""
        if self.login is None or not self.login.failed:
            return False
        if self._ending is None:
            delay = self.broker.configs.int("connection.failed.authentication.delay.ms") / 1000
            self._ending = self.node.loop.call_later(delay, self.close)
        return True

    def _log_in(self, frame: bytes | memoryview) -> None:
        """Process a SASL message in a frame of its own, as in logins before SaslAuthenticate."""
        assert self.login is not None
        step = self.login.step(bytes(frame))
        if step.error:
            self.hang_up(step.text or "no login")
            return
        self.writer.send([len(step.answer).to_bytes(4, "big") + step.answer])

    def _take(self) -> bytes | memoryview:
        frame = self.queue.take()
        if self._counted:
            self._account()
        if self._paused and self.queue.has_room:
            self._paused = False
            if self._transport is not None:
                self._transport.resume_reading()
        return frame

    def _account(self) -> None:
        """Report the memory of this client's requests. If all connections hold too much, close the one with most."""
        held = self.queue.held
        if not held and not self._counted:
            return
        self._counted = held > 0
        hog = self.broker.intake.hold(self, held)
        if hog is not None:
            hog.hang_up("it holds most of the memory for requests, and more is needed")

    def _read(self, frame: bytes | memoryview) -> tuple[Request, Handler]:
        """Return the request in a frame, and its handler. Raises HangUpError if the broker refuses it, and
        DecodeError.
        """
        if len(frame) < HEAD.size:
            raise HangUpError(
                f"frame of {len(frame)} bytes: a request needs at least {HEAD.size} (API key, version, correlation id)"
            )
        api_key, version, correlation_id = HEAD.unpack_from(frame)
        if self.login is not None and (refusal := self.login.refusal(api_key)):
            raise HangUpError(refusal)
        api, handle = route(api_key, version, self.dialect, self.broker.release, self.broker.answers)
        header, start = api.request_header.read(frame)
        body = api.request.read(frame, start)[0] if api.known else {}
        return Request(api, body, correlation_id, header.get("clientId"), self, self.node, self.broker), handle

    def _frame(self, request: Request, answer: Answer) -> list[Piece]:
        pieces = request.api.frame(request.correlation_id, answer)
        if request.kept is not None and self.broker.control is not None:
            self.broker.control.journal.grow(request.kept, sum(len(each) for each in pieces if type(each) is bytes))
        return pieces

    async def _answer_slowly(self, request: Request, outcome: Outcome, plan: Plan | None) -> None:
        try:
            answer = await outcome if isinstance(outcome, Awaitable) else outcome
            pieces = self._frame(request, answer)
            if plan is not None:
                await plan.send(self, pieces)
            elif pieces:
                await asyncio.sleep(0)  # so that responses of several clients to one event are sent together
                await self.writer.send_pieces(pieces)
        except Exception as error:  # noqa: BLE001  a bug in one handler ends one connection, with its traceback
            self._fail(error)
            return
        finally:
            self._task = None
        self._answer_waiting()

    def _fail(self, error: Exception) -> None:
        """Close the connection after a request that can't be answered, as in Kafka; print the traceback of a bug."""
        if isinstance(error, (HangUpError, DecodeError)):
            self.hang_up(str(error))
            return
        if isinstance(error, (OSError, MemoryError)):
            self.hang_up(f"its request can't be answered: {error or 'out of memory'}")
            return
        traceback.print_exception(error, file=sys.stderr)
        self.hang_up("an error of this broker's own")
