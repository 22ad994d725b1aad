"""Bytes between two sockets: order, ends, slow readers."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from kcli.client.properties import ClientConfig
from kcli.grammar import frames
from kcli.proxy import Proxy
from kcli.proxy.connection import Connection
from kcli.proxy.nodes import BrokerRoute
from kcli.proxy.side import HIGH_WATER
from tests.broker.talk import run


@pytest.fixture(autouse=True)
def no_long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """These servers say nothing about brokers."""
    monkeypatch.setattr("kcli.proxy.proxy.LEARN_SECONDS", 0.1)


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def before(handler: Handler, notes: list[str] | None = None) -> AsyncIterator[int]:
    """A proxy before a server that is no broker; its port."""
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    lines = [] if notes is None else notes
    try:
        async with Proxy(ClientConfig({"bootstrap.servers": address}), note=lines.append) as proxy:
            yield proxy.port
    finally:
        server.close()


def sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


FETCH = sized(b"\0\1\0\4\0\0\0\7\xff\xff")


def test_a_client_that_ends_its_side_still_gets_its_response() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.read():  # up to the client's end
            writer.write(sized(b"\0\0\0\7late"))
        writer.close()

    async def work() -> None:
        async with before(answer) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(FETCH)
            writer.write_eof()
            assert await reader.read() == sized(b"\0\0\0\7late")
            writer.close()

    run(work())


def test_a_slow_reader_holds_up_the_broker_and_nothing_piles_up() -> None:
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        with contextlib.suppress(ConnectionError):
            if await reader.readexactly(len(FETCH)) != FETCH:
                writer.close()  # the proxy's own question for brokers
                return
            writer.write((1 << 29).to_bytes(4, "big") + b"\0\0\0\7")
            while True:
                writer.write(bytes(1 << 16))
                await writer.drain()
                sent += 1 << 16
        writer.close()

    async def work() -> None:
        async with before(flood) as port:
            _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 16)
            writer.write(FETCH)
            before_ = -1
            while before_ != sent or not sent:
                before_ = sent
                await asyncio.sleep(0.3)
            assert sent < 12 * HIGH_WATER + (8 << 20)  # what sockets and the transport hold
            writer.transport.abort()

    run(work())


def test_a_slow_reader_gets_long_responses_whole() -> None:
    """Memory is not used again before the client has what was in it."""
    count, size = 12, 2_000_000
    said = [
        sized(frames.encode_response({"correlationId": number}, 1, 17, {"responses": [fetched(number, size)]}))
        for number in range(count)
    ]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            if (await reader.readexactly(8))[4:] == b"\0\1\0\x11":  # not the proxy's own question for brokers
                writer.writelines(said)
                await reader.read()
        writer.close()

    async def work() -> None:
        async with before(answer) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 16)
            writer.writelines(
                sized(b"\0\1\0\x11" + number.to_bytes(4, "big") + b"\xff\xff\0") for number in range(count)
            )
            await asyncio.sleep(0.3)
            for number, each in enumerate(said):
                assert await reader.readexactly(len(each)) == each, number
            writer.close()

    run(work())


def fetched(number: int, size: int) -> dict[str, Any]:
    """A topic of a Fetch response."""
    return {
        "topicId": "AAAAAAAAAAAAAAAAAAAAAQ",
        "partitions": [{"partitionIndex": 0, "records": bytes([number]) * size}],
    }


def test_what_is_not_kafka_is_closed_with_a_line() -> None:
    notes: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def work() -> None:
        async with before(answer, notes) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
            with contextlib.suppress(ConnectionResetError):
                assert not await reader.read()
            writer.close()

    run(work())
    assert any("closed: it speaks TLS" in note for note in notes)


def test_requests_that_are_never_answered_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither too many, nor any behind a response that answers none of them."""
    monkeypatch.setattr("kcli.proxy.connection.MOST_AWAITED", 10)

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(12 * len(FETCH))
        writer.write(sized(b"\0\0\0\7first"))
        await reader.read()
        writer.close()

    async def work() -> None:
        notes: list[str] = []
        async with before(listen, notes) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(12 * FETCH)
            assert await reader.readexactly(13) == sized(b"\0\0\0\7first")
            writer.write(FETCH)
            writer.close()
        assert [line.partition(": ")[2] for line in notes] == [
            "more than 10 requests wait for their responses: from here on, its responses pass unread"
        ]

    run(work())


def test_clients_that_have_gone_before_they_are_accepted() -> None:
    """Nothing is said of them, and their place is free again."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def work() -> None:
        notes: list[str] = []
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with Proxy(ClientConfig({"bootstrap.servers": address}), note=notes.append) as proxy:
            for _ in range(20):
                with socket.create_connection(("127.0.0.1", proxy.port)) as gone:
                    gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await asyncio.sleep(0.2)
            while proxy.gate.held:
                await asyncio.sleep(0.01)
            client = Connection(proxy, BrokerRoute((), proxy.config)).client
            proxy.gate.enter()
            transport = GoneTransport()
            client.connection_made(transport)
            assert transport.aborted
            client.connection_lost(None)
            assert (proxy.gate.held, proxy.connections, notes) == (0, set(), [])
        server.close()

    run(work())


class GoneTransport(asyncio.Transport):
    """Of a connection that was broken off before it could be asked for its ends."""

    aborted = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def abort(self) -> None:
        self.aborted = True
