"""Brokers that are not: servers on loopback that do exactly what a test says."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve `talk` on a port of 127.0.0.1; yields the port."""

    async def each(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    running = await asyncio.start_server(each, "127.0.0.1", 0, ssl=tls)
    try:
        yield running.sockets[0].getsockname()[1]
    finally:
        running.close()


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    size = int.from_bytes(await reader.readexactly(4), "big", signed=True)
    if size < 0:
        raise ConnectionError("a negative length ends the connection, as Kafka has it")
    return await reader.readexactly(size)


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


async def hang(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    while await reader.read(65536):
        pass


def listening(serve: Callable[[socket.socket], None]) -> socket.socket:
    """A socket that listens on a port of its own. serve: talks to each client, in a thread, until the socket closes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener
