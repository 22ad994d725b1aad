"""Writes large responses, of bytes and slices of files, directly to the socket, as fast as it accepts them.

The event loop's transport would buffer unsent bytes, and its sendfile costs 0.2 ms for each of the dozens of slices in
a Fetch response. Here each slice is one system call, and the event loop only reports when a full socket has room again.
"""

import asyncio
import os
import socket
from collections.abc import Sequence

from kcli.broker.response import HangUpError, Piece
from kcli.broker.storage.segment import Slice

# Bytes after which other connections get their turn, even if the socket accepts more.
SHARE = 8 << 20
# The most buffers in one system call.
MOST_PARTS = 64
# Bytes. Slices from this size on are sent by sendfile.
DIRECT = 64 * 1024
MORE = getattr(socket, "MSG_MORE", 0)


class Outlet:
    """The sending side of a connected socket, used while the socket's transport has nothing to send."""

    def __init__(self, loop: asyncio.AbstractEventLoop, number: int) -> None:
        self.loop = loop
        # The event loop watches a descriptor for only one user, so that this is a duplicate.
        self._socket = socket.socket(fileno=os.dup(number))
        self._socket.setblocking(False)
        self._room: asyncio.Future[None] | None = None
        self._sent = 0

    def close(self) -> None:
        """Close the duplicate; a waiting write raises ConnectionError."""
        if self._room is not None and not self._room.done():
            self._room.set_exception(ConnectionAbortedError())
        self._forget_room()
        self._socket.close()

    async def send(self, parts: Sequence[bytes], *, more: bool = False) -> None:
        """Send all parts. more: more bytes follow, which can share a packet. Raises ConnectionError if either side
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
        """Send a slice; return the number of sent bytes, which is smaller only if the file ends early. Raises
        ConnectionError like `send`, and OSError if the system can't send such files.
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
    """Send pieces: adjacent bytes in one system call, long slices by sendfile, others chunk by chunk.

    Raises ConnectionError if the connection was closed, and HangUpError if a file has become shorter.
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
            # The last chunk is sent without MORE, because the system holds bytes back until then.
            await outlet.send(ready, more=True)
            ready = [chunk]
    await outlet.send(ready)


async def send_file(outlet: Outlet, piece: Slice) -> bool:
    """Send a slice by sendfile; return False if the system can't send from such a file. Raises HangUpError if the file
    has become shorter.
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
