"""One client's connection: answers requests in order, one after the other.

A request that is answered at once is answered without a task; one that waits (a long poll, a group's join) holds up
those behind it, as in Kafka.
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

# Longest wait for a client that has closed its side to read its response.
HALF_CLOSED_SECONDS = 5.0


class Server(Services, Protocol):
    """The broker, as its connections need it."""

    @property
    def faults(self) -> Faults:
        """The fault rules."""
        ...

    @property
    def intake(self) -> Intake[Connection]:
        """The memory account of waiting requests."""
        ...

    @property
    def gate(self) -> Gate:
        """Counts open connections."""
        ...

    @property
    def security(self) -> Security:
        """TLS and logins."""
        ...

    @property
    def control(self) -> Control | None:
        """Return the control that keeps, counts and intercepts requests; None without any."""
        ...

    def complain(self, text: str) -> None:
        """Write a line about a client to the broker's log, unless there were too many."""
        ...


class ServingNode(Node, Protocol):
    """The node that a connection belongs to."""

    @property
    def host(self) -> str:
        """The host on which the node listens."""
        ...

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop."""
        ...

    @property
    def buffers(self) -> ReadBuffers:
        """Return the memory that all connections of the node read into."""
        ...

    @property
    def connections(self) -> set[Connection]:
        """The open connections."""
        ...

    @property
    def broker(self) -> Server:
        """The broker that the node is part of."""
        ...

    def disconnect(self, connection: Connection) -> None:
        """Forget a connection that has ended, and what ends with it."""
        ...


class Connection(asyncio.BufferedProtocol):
    """listener: the one that the client connected to; dialect: the message definitions that both sides agreed on;
    software: the client's name and version.
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
        """Begin (asyncio.BaseProtocol)."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.writer = ResponseWriter(self.node.loop, transport)
        self.peer = (transport.get_extra_info("peername") or self.peer)[:2]  # it may have gone already
        if (tls := transport.get_extra_info("ssl_object")) is not None:
            self._is_encrypted = True
        self.node.connections.add(self)
        if tls is not None:
            self._recognize(tls.getpeercert(True))

    def _recognize(self, certificate: bytes | None) -> None:
        """Take the client for whom its certificate names."""
        try:
            self._principal = self.broker.security.principal(self.listener, certificate)
        except UsageError as error:
            self.hang_up(str(error))

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer of the next read (asyncio.BufferedProtocol)."""
        return self.queue.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        """Queue the complete requests, and answer those that need not wait."""
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
        """Stop writing: the client reads too slowly."""
        self.writer.pause()

    def resume_writing(self) -> None:
        """Write again: the client reads."""
        self.writer.resume()
        if self._task is None:
            self._answer_waiting()

    def eof_received(self) -> bool:
        """Keep the connection half open: the client sends no more, but may wait for responses."""
        self._wake()
        if self._task is None or self._is_encrypted:  # TLS has no half of a connection
            return False
        self.node.loop.call_later(HALF_CLOSED_SECONDS, self.abort)
        return True

    def connection_lost(self, error: Exception | None) -> None:
        """Cancel the requests in progress."""
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
        """Set this event, too, when the client ends its side."""
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
        """Answer this client's next requests only after so many seconds (KIP-219)."""
        if self._muted is not None:
            self._muted.cancel()
        self._muted = self.broker.clock.call_later(seconds, self._unmute)

    def _unmute(self) -> None:
        self._muted = None
        if self._task is None and self._transport is not None:
            self._answer_waiting()

    # --- ending

    def hang_up(self, why: str) -> None:
        """Close at once, and write why to the broker's log."""
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
        """As whom the client goes on: "User:alice"."""
        return self._principal if self.login is None else f"User:{self.login.user}"

    @property
    def local_host(self) -> str:
        """The address by which the client reached this broker."""
        if self._transport is None:
            return self.node.host
        return str(self._transport.get_extra_info("sockname")[0])

    # --- answering

    def _answer_waiting(self) -> None:
        """Answer queued requests, up to the first that has to wait, and while the client reads responses."""
        while self.queue and self._transport is not None:
            if not self.writer.is_writable or self._muted is not None or self._is_refused():
                return
            try:
                frame = self._take()
                if self.login is not None and self.login.raw:
                    self._log_in(frame)
                    continue
                request, handle = self._read(frame)
                size = len(frame)
                self.queue.free(frame)
                if self.broker.control is not None:
                    handle = self.broker.control.watch(request, handle, size)
                if self.broker.security.quotas.values:
                    handle = throttled(self.broker.security.quotas, request, handle, size)
                plan = self.broker.faults.plan(request)
                outcome = handle(request) if plan is None else plan.handle(request, handle)
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

    def _is_refused(self) -> bool:
        """Return whether the login failed: the connection ends, late enough to make guesses slow."""
        if self.login is None or not self.login.failed:
            return False
        if self._ending is None:
            delay = self.broker.configs.int("connection.failed.authentication.delay.ms") / 1000
            self._ending = self.node.loop.call_later(delay, self.close)
        return True

    def _log_in(self, frame: bytes | memoryview) -> None:
        """Take a message of a login as it was before SaslAuthenticate: the message alone."""
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
        """Report how much is held for this client; where all hold too much, whoever holds most is closed."""
        held = self.queue.held
        if not held and not self._counted:
            return
        self._counted = held > 0
        hog = self.broker.intake.hold(self, held)
        if hog is not None:
            hog.hang_up("it holds most of the memory for requests, and more is needed")

    def _read(self, frame: bytes | memoryview) -> tuple[Request, Handler]:
        """Return the request in a frame, and its handler. Raises HangUpError or DecodeError if the broker can't take
        it.
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
                await asyncio.sleep(0)  # what one event answers for several clients is made for all, then sent to all
                await self.writer.send_pieces(pieces)
        except Exception as error:  # noqa: BLE001  a bug in one handler ends one connection, with its traceback
            self._fail(error)
            return
        finally:
            self._task = None
        self._answer_waiting()

    def _fail(self, error: Exception) -> None:
        """End the connection after a request without an answer, as Kafka does; show a bug with its traceback."""
        if isinstance(error, (HangUpError, DecodeError)):
            self.hang_up(str(error))
            return
        if isinstance(error, (OSError, MemoryError)):
            self.hang_up(f"its request can't be answered: {error or 'out of memory'}")
            return
        traceback.print_exception(error, file=sys.stderr)
        self.hang_up("an error of this broker's own")
