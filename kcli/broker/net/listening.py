"""A node's listening sockets, and the limit on a broker's connections, which leaves enough open files to its logs.

At the limit no connection is accepted until one ends, and clients wait in the system's queue, as with Kafka's
max.connections. asyncio's own server would try again and print a traceback for each waiting connection.
"""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
import ssl
from collections.abc import Callable

BACKLOG = 1024
# Connections that are accepted before the event loop continues.
AT_ONCE = 64
# Open files besides connections and segments: the interpreter's, checkpoints that are written, responses that are sent.
RESERVED = 64
FEWEST = 8
# The wait before the next try if files ran out all the same.
RETRY_SECONDS = 0.5
OUT_OF_FILES = frozenset([errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])


def most_connections(files: int) -> int:
    """Return how many connections may be open at once. files: the limit on open segment files."""
    granted = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if granted == resource.RLIM_INFINITY:
        return 1 << 31
    return max(FEWEST, granted - files - RESERVED)


class Gate:
    """Counts and limits the connections of all nodes of a broker. note: called with a line when the limit is
    reached.
    """

    def __init__(self, limit: int, note: Callable[[str], None]) -> None:
        self.limit, self.note = limit, note
        self.held = 0
        self._waiting: set[Listener] = set()

    @property
    def is_full(self) -> bool:
        """Return whether no more connections are accepted."""
        return self.held >= self.limit

    def wait(self, listener: Listener) -> None:
        """Resume this listener when a connection ends."""
        if not self._waiting:
            self.note(f"{self.held} connections are open: further ones wait until one ends")
        self._waiting.add(listener)

    def enter(self) -> None:
        """Count an accepted connection."""
        self.held += 1

    def set_limit(self, limit: int) -> None:
        """Change the limit. Open connections stay open."""
        self.limit = limit
        self._resume_waiting()

    def leave(self) -> None:
        """Count a closed connection; waiting listeners resume."""
        self.held -= 1
        self._resume_waiting()

    def _resume_waiting(self) -> None:
        if not self.is_full and self._waiting:
            waiting, self._waiting = self._waiting, set()
            for each in waiting:
                each.resume()


class Listener:
    """Listens on a port. host: None for every address of the machine; port: 0 for a free one. made: returns the
    protocol of a new connection. Raises OSError if the address can't be bound.

    tls: returns the TLS context of a new connection, None without TLS; failed: called with the client and the reason of
    a failed handshake. admits: returns whether an address may connect; other connections are closed.
    """

    def __init__(
        self,
        gate: Gate,
        made: Callable[[], asyncio.BaseProtocol],
        host: str | None,
        port: int,
        *,
        tls: Callable[[], ssl.SSLContext | None] = lambda: None,
        failed: Callable[[tuple[str, int], OSError], None] = lambda client, error: None,
        admits: Callable[[str], bool] = lambda host: True,
    ) -> None:
        self.gate, self.made, self.tls, self.failed, self.admits = gate, made, tls, failed, admits
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[object]] = set()
        self._retry: asyncio.TimerHandle | None = None
        self._sockets = open_sockets(host, port)
        self.port: int = self._sockets[0].getsockname()[1]
        self.resume()

    def resume(self) -> None:
        """Accept connections."""
        self._retry = None
        for each in self._sockets:
            self._loop.add_reader(each, self._accept, each)

    def pause(self) -> None:
        """Accept no connections until `resume`."""
        for each in self._sockets:
            self._loop.remove_reader(each)

    def close(self) -> None:
        """Close the listening sockets."""
        self.pause()
        if self._retry is not None:
            self._retry.cancel()
        for each in self._sockets:
            each.close()
        self._sockets = []

    def _accept(self, listening: socket.socket) -> None:
        """Accept a number of connections. Pauses at the limit until one ends, or for a while if files have run out."""
        for _ in range(AT_ONCE):
            if self.gate.is_full:
                self.pause()
                self.gate.wait(self)
                return
            try:
                accepted, client = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in OUT_OF_FILES:
                    raise
                self.pause()
                self._retry = self._loop.call_later(RETRY_SECONDS, self.resume)
                return
            if not self.admits(client[0]):
                accepted.close()
                continue
            accepted.setblocking(False)
            self.gate.enter()
            task = self._loop.create_task(self._connect(accepted))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _connect(self, accepted: socket.socket) -> None:
        client = None
        try:
            client = accepted.getpeername()[:2]
            await self._loop.connect_accepted_socket(self.made, accepted, ssl=self.tls())
        except OSError as error:
            accepted.close()
            self.gate.leave()
            if client is not None:  # None if the client disconnected before
                self.failed(client, error)


def open_sockets(host: str | None, port: int) -> list[socket.socket]:
    """Open a listening socket for each address of a host, all with one port. Raises OSError."""
    # As bytes, because for text Python loads the tables of IDNA, which takes 3 ms.
    name = host.encode() if host is not None and host.isascii() else host
    found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    made: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            try:
                opened = socket.socket(family, kind, protocol)
            except OSError:
                continue  # a family that this machine does not have
            made.append(opened)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            opened.setblocking(False)
            opened.bind((address[0], made[0].getsockname()[1] if len(made) > 1 else port, *address[2:]))
            opened.listen(BACKLOG)
    except OSError:
        for each in made:
            each.close()
        raise
    if not made:
        raise OSError(errno.EADDRNOTAVAIL, f"no address to listen on for {host}")
    return made
