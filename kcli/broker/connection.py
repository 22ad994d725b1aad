"""One client's connection: requests in order, one answer after the other.

A request that is answered at once is answered without a task; one that waits (a long poll, a group's join) holds up
those behind it, as in Kafka. Slices of files are read while the socket takes them, so a slow reader costs one chunk.
"""

from __future__ import annotations

import asyncio
import inspect
import struct
import sys
import traceback
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from kcli.broker import apis
from kcli.broker.intake import SMALL
from kcli.broker.receiving import FrameReader, TooLongError
from kcli.broker.request import Answer, EncodedBody, HangUpError, Outcome, Piece, Request
from kcli.broker.sending import Outlet
from kcli.broker.storage.segment import Slice
from kcli.errors import DecodeError

if TYPE_CHECKING:
    from kcli.broker.faults import Plan
    from kcli.broker.node import Node

__all__ = ["Connection"]

# What may wait behind the request that is being answered; then the socket is not read any more.
MOST_WAITING, MOST_WAITING_BYTES = 128, 4 << 20
HIGH_WATER = 1 << 20
# A client that has closed its side and does not come back for its answer.
HALF_CLOSED_SECONDS = 5.0
# Slices from here on go from the file to the socket by the kernel (sendfile).
DIRECT = 64 * 1024
HEAD = struct.Struct(">hhi")


class Connection(asyncio.BufferedProtocol):
    """dialect: which message definitions both sides agreed on; software: what the client called itself."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.dialect = node.broker.dialect
        self.software = ("", "")
        self.last_used = node.loop.time()
        self.half_closed = asyncio.Event()
        self.peer: tuple[str, int] = ("", 0)
        self._reader = FrameReader(node.scratch, node.broker.configs.int("socket.request.max.bytes"))
        self._waiting: deque[bytes | bytearray] = deque()
        self._waiting_bytes = 0
        self._task: asyncio.Task[None] | None = None
        self._paused = self._counted = False
        self._woken: asyncio.Event | None = None
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._outlet: Outlet | None = None

    # --- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(HIGH_WATER)
        self.peer = transport.get_extra_info("peername")[:2]
        self.node.connections.add(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._reader.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self.last_used = self.node.loop.time()
        try:
            for frame in self._reader.take(nbytes):
                self._waiting.append(frame)
                self._waiting_bytes += len(frame)
            if self._waiting_bytes + self._reader.allocated > SMALL or self._counted:
                self._account()
        except TooLongError as error:
            self.hang_up(str(error))
            return
        if self._task is None:
            self._answer_waiting()
        if not self._paused and (len(self._waiting) > MOST_WAITING or self._waiting_bytes > MOST_WAITING_BYTES):
            self._paused = True
            if self._transport is not None:
                self._transport.pause_reading()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()
        if self._task is None:
            self._answer_waiting()

    def eof_received(self) -> bool:
        """The client sends no more, but may wait for answers to what it sent."""
        self._wake()
        if self._task is None:
            return False
        self.node.loop.call_later(HALF_CLOSED_SECONDS, self.abort)
        return True

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._outlet is not None:
            self._outlet.close()
        self._wake()
        self._writable.set()
        self._waiting.clear()
        self.node.connections.discard(self)
        self.node.broker.intake.forget(self)
        self.node.broker.gate.leave()
        if self._task is not None:
            self._task.cancel()

    def _wake(self) -> None:
        self.half_closed.set()
        if self._woken is not None:
            self._woken.set()

    def on_half_closed(self, woken: asyncio.Event) -> None:
        """Set this, too, when the client ends its side."""
        self._woken = woken
        if self.half_closed.is_set():
            woken.set()

    @property
    def work(self) -> asyncio.Task[None] | None:
        """What answers a request that takes its time."""
        return self._task

    @property
    def busy(self) -> bool:
        """A request is being answered."""
        return self._task is not None

    # --- ending

    def hang_up(self, why: str) -> None:
        """Close at once, and say why in the broker's log."""
        self.node.broker.complain(f"{self.name}: closed: {why}")
        self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    @property
    def name(self) -> str:
        return f"{self.peer[0]}:{self.peer[1]}"

    @property
    def local_host(self) -> str:
        """The address that the client reached this broker by."""
        if self._transport is None:
            return self.node.host
        return str(self._transport.get_extra_info("sockname")[0])

    # --- answering

    def _answer_waiting(self) -> None:
        """Answer what waits, up to the first request that has to wait, and while the client takes answers."""
        while self._waiting and self._transport is not None:
            if not self._writable.is_set():
                return
            try:
                request = self._read(self._take())
                plan = self.node.broker.faults.plan(request)
                outcome = request.route.handle(request) if plan is None else plan.handle(request)
                if plan is None and not inspect.isawaitable(outcome) and is_plain(outcome):
                    self._send(request, outcome)
                    continue
            except Exception as error:
                self._fail(error)
                return
            self._task = self.node.loop.create_task(self._answer_slowly(request, outcome, plan))
            return
        if self.half_closed.is_set():
            self.close()

    def _take(self) -> bytes | bytearray:
        frame = self._waiting.popleft()
        self._waiting_bytes -= len(frame)
        if self._counted:
            self._account()
        if self._paused and self._waiting_bytes <= MOST_WAITING_BYTES // 2:
            self._paused = False
            if self._transport is not None:
                self._transport.resume_reading()
        return frame

    def _account(self) -> None:
        """Tell the broker how much is held for this client; too much in all, and whoever holds most is closed."""
        held = self._waiting_bytes + self._reader.allocated
        self._counted = held > SMALL
        hog = self.node.broker.intake.note(self, held if self._counted else 0)
        if hog is not None:
            hog.hang_up("it holds most of the memory for requests, and more is needed")

    def _read(self, frame: bytes | bytearray) -> Request:
        """The request in a frame. HangUpError, DecodeError: it is none that this broker takes."""
        if len(frame) < HEAD.size:
            raise HangUpError(f"a frame of {len(frame)} bytes is no request")
        api_key, version, correlation = HEAD.unpack_from(frame)
        route = apis.route(api_key, version, self.dialect, self.node.broker.release)
        header, start = route.request_header.read(frame)
        body = route.request.read(frame, start)[0] if route.known else {}
        return Request(self, route, correlation, header.get("clientId"), body)

    async def _answer_slowly(self, request: Request, outcome: Outcome, plan: Plan | None) -> None:
        try:
            answer = await outcome if inspect.isawaitable(outcome) else outcome
            if plan is not None:
                await plan.send(self, self._pieces(request, answer))
            elif answer is not None:
                await self.send_pieces(self._pieces(request, answer))
        except Exception as error:
            self._fail(error)
            return
        finally:
            self._task = None
        self._answer_waiting()

    def _pieces(self, request: Request, answer: Answer) -> list[Piece]:
        """The frame of an answer; none where there is no response."""
        if answer is None:
            return []
        body: list[Piece] = list(answer.pieces) if isinstance(answer, EncodedBody) else [request.route.encode(answer)]
        head = request.route.header(request.correlation)
        size = len(head) + sum(len(each) if isinstance(each, bytes) else each.size for each in body)
        return [size.to_bytes(4, "big") + head, *body]

    def _send(self, request: Request, answer: Answer) -> None:
        """An answer that is all bytes."""
        if answer is not None and self._transport is not None:
            self._transport.write(b"".join(cast("list[bytes]", self._pieces(request, answer))))

    async def send_pieces(self, pieces: Sequence[Piece]) -> None:
        """Write them; slices are read only as fast as the client takes them."""
        if all(isinstance(each, bytes) for each in pieces):
            await self.write(b"".join(cast("Sequence[bytes]", pieces)))
            return
        await self._flush()
        assert self._transport is not None
        try:
            outlet = Outlet(self.node.loop, self._transport.get_extra_info("socket").fileno())
        except OSError:
            # No descriptor is left for it: by the transport, which is slower.
            for each in pieces:
                for chunk in (each,) if isinstance(each, bytes) else each:
                    await self.write(chunk)
            return
        self._outlet = outlet
        try:
            await send_through(outlet, pieces)
        except ConnectionError:
            raise asyncio.CancelledError from None
        finally:
            outlet.close()
            self._outlet = None

    async def _flush(self) -> None:
        """Wait until nothing is left of what was written before."""
        if self._transport is not None and self._transport.get_write_buffer_size():
            self._transport.set_write_buffer_limits(0)
            await self._writable.wait()
        if self._transport is None or self._transport.is_closing():
            raise asyncio.CancelledError
        self._transport.set_write_buffer_limits(HIGH_WATER)

    async def write(self, data: bytes) -> None:
        """Hand bytes to the socket, once it has room."""
        await self._writable.wait()
        if self._transport is None or self._transport.is_closing():
            raise asyncio.CancelledError
        self._transport.write(data)

    def _fail(self, error: Exception) -> None:
        """A request that has no answer ends the connection, as in Kafka; a bug is told with its traceback."""
        if isinstance(error, (HangUpError, DecodeError)):
            self.hang_up(str(error))
            return
        if isinstance(error, (OSError, MemoryError)):
            self.hang_up(f"its request can't be answered: {error or 'out of memory'}")
            return
        traceback.print_exception(error, file=sys.stderr)
        self.hang_up("an error of this broker's own")


def is_plain(answer: Answer) -> bool:
    """Is it all bytes?"""
    return not isinstance(answer, EncodedBody) or all(isinstance(each, bytes) for each in answer.pieces)


async def send_through(outlet: Outlet, pieces: Sequence[Piece]) -> None:
    """Bytes that follow one another in one go, long slices by the kernel, other ones a chunk at a time.

    ConnectionError: the client is gone. HangUpError: a file is shorter than it was.
    """
    ready: list[bytes] = []
    for each in pieces:
        if isinstance(each, bytes):
            ready.append(each)
            continue
        if isinstance(each, Slice) and each.size >= DIRECT:
            await outlet.send(ready, more=True)
            ready = []
            if await send_file(outlet, each):
                continue
        for chunk in each:
            # The last chunk waits for what may follow it: only its own send lets go of what the system holds back.
            await outlet.send(ready, more=True)
            ready = [chunk]
    await outlet.send(ready)


async def send_file(outlet: Outlet, piece: Slice) -> bool:
    """Whether the system can send from such a file; HangUpError where it is shorter than it was."""
    try:
        sent = await outlet.send_file(piece)
    except ConnectionError:
        raise
    except OSError:
        return False
    if sent < piece.size:
        raise HangUpError(f"a segment's file is {piece.size - sent} bytes shorter than it was")
    return True
