"""Writes large responses, bytes and slices of files, straight to the socket, as fast as it accepts them.

The event loop's transport buffers unsent bytes, and its own sendfile costs 0.2 ms for each slice; a response to a
consumer has dozens of them. So each slice is one system call on the socket; the loop only reports when a full socket
has room again.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence

from kcli.broker.response import HangUpError, Piece
from kcli.broker.storage.segment import Slice

# Other connections have their turn after so many bytes, even where the client takes more at once.
SHARE = 8 << 20
# As many buffers as one system call takes.
MOST_PARTS = 64
# Slices from here on go from the file to the socket by the kernel (sendfile).
DIRECT = 64 * 1024
MORE = getattr(socket, "MSG_MORE", 0)


class Outlet:
    """The sending side of a connected socket, beside a transport that has nothing to send at that time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, number: int) -> None:
        self.loop = loop
        # The loop watches a descriptor for one user only: this is a second one of the same socket.
        self._socket = socket.socket(fileno=os.dup(number))
        self._socket.setblocking(False)
        self._room: asyncio.Future[None] | None = None
        self._sent = 0

    def close(self) -> None:
        """Close the socket; a waiting write gets a ConnectionError."""
        if self._room is not None and not self._room.done():
            self._room.set_exception(ConnectionAbortedError())
        self._forget_room()
        self._socket.close()

    async def send(self, parts: Sequence[bytes], *, more: bool = False) -> None:
        """Send all parts. more: further bytes follow, which can share a packet. Raises ConnectionError if either side
        closed the connection.
        """
        views = [memoryview(part) for part in parts if part]
        while views:
            try:
                done = self._socket.sendmsg(views[:MOST_PARTS], (), MORE if more else 0)
            except BlockingIOError:
                await self._wait()
                continue
            except OSError as error:
                raise ConnectionAbortedError from error
            while views and done >= len(views[0]):
                done -= len(views.pop(0))
            if done:
                views[0] = views[0][done:]

    async def send_file(self, piece: Slice) -> int:
        """Send a slice; return how many bytes: fewer only where the file ends. Raises ConnectionError as `send`;
        OSError if the system can't send such files.
        """
        sent, number = 0, piece.file.fileno()
        while sent < piece.size:
            try:
                done = os.sendfile(self._socket.fileno(), number, piece.position + sent, piece.size - sent)
            except BlockingIOError:
                await self._wait()
                continue
            except ConnectionError as error:
                raise ConnectionAbortedError from error
            if not done:
                break
            sent += done
            await self._share(done)
        return sent

    async def _share(self, done: int) -> None:
        self._sent += done
        if self._sent >= SHARE:
            self._sent = 0
            await asyncio.sleep(0)
            if self._socket.fileno() < 0:
                raise ConnectionAbortedError

    async def _wait(self) -> None:
        """Wait until the socket has room."""
        self._sent = 0
        self._room = self.loop.create_future()
        self.loop.add_writer(self._socket.fileno(), self._has_room)
        try:
            await self._room
        finally:
            self._forget_room()

    def _has_room(self) -> None:
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    def _forget_room(self) -> None:
        if self._room is not None:
            self._room = None
            if self._socket.fileno() >= 0:
                self.loop.remove_writer(self._socket.fileno())


async def send_through(outlet: Outlet, pieces: Sequence[Piece]) -> None:
    """Send adjacent bytes in one go, long slices by the kernel, other pieces a chunk at a time.

    Raises ConnectionError if the client is gone, HangUpError if a file is shorter than it was.
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
            # The last chunk is sent without MORE: only that flushes the bytes that the system holds back.
            await outlet.send(ready, more=True)
            ready = [chunk]
    await outlet.send(ready)


async def send_file(outlet: Outlet, piece: Slice) -> bool:
    """Send a slice, and return whether the system can send from such a file. Raises HangUpError if it is shorter than
    it was.
    """
    try:
        sent = await outlet.send_file(piece)
    except ConnectionError:
        raise
    except OSError:
        return False
    if sent < piece.size:
        raise HangUpError(f"a segment's file is {piece.size - sent} bytes shorter than it was")
    return True
