import asyncio
import gc
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from kcli.client import framing
from kcli.client.address import Address
from kcli.client.connection import BrokerConnection
from kcli.client.properties import ClientConfig
from kcli.errors import InputError, NetworkError
from tests.client.fake import Talk, framed, hang, read_frame, server

T = TypeVar("T")


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(framed(await read_frame(reader)))


def frame(correlation: int, rest: bytes = b"") -> bytes:
    return correlation.to_bytes(4, "big") + rest


def go(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


async def connected(talk: Talk, **settings: str) -> Any:
    async with server(talk) as port:
        config = ClientConfig({name.replace("_", "."): value for name, value in settings.items()})
        connection = await BrokerConnection.open(Address("127.0.0.1", port), config)
        try:
            return await connection.exchange(frame(7, b"ask"), 7, "Ask v1")
        finally:
            await connection.close()


def test_requests_are_pipelined_and_answers_come_in_order() -> None:
    async def work() -> None:
        async with server(echo) as port:
            connection = await BrokerConnection.open(Address("127.0.0.1", port), ClientConfig())
            ids = [connection.next_correlation() for _ in range(500)]
            futures = [connection.exchange(frame(each, bytes(each)), each, "Ask") for each in ids]
            assert connection.waiting == 500
            answers = await asyncio.gather(*futures)
            assert answers == [frame(each, bytes(each)) for each in ids]
            assert connection.waiting == 0
            await connection.close()

    go(work())


def test_a_connection_is_closed_though_the_broker_reads_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async def deaf(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert isinstance(writer.transport, asyncio.Transport)
        writer.transport.pause_reading()
        await over.wait()

    async def work() -> None:
        async with server(deaf) as port:
            connection = await BrokerConnection.open(Address("127.0.0.1", port), ClientConfig({}))
            protocol = connection._protocol
            protocol.send_raw(bytes(64 << 20))
            assert protocol._transport is not None
            held = protocol._transport.get_extra_info("socket")
            await connection.close()
            assert held.fileno() == -1
            over.set()

    over = asyncio.Event()
    monkeypatch.setattr(framing, "CLOSING", 0.05)
    go(work())


def test_a_closed_connection_leaves_nothing_to_the_collector() -> None:
    """Thousands of them, as a load test opens, would keep a buffer each until cycles are looked for."""

    async def work() -> object:
        async with server(echo) as port:
            connection = await BrokerConnection.open(Address("127.0.0.1", port), ClientConfig({}))
            await connection.exchange(frame(7), 7, "Ask v1")
            seen = weakref.ref(connection)
            await connection.close()
            await asyncio.sleep(0.01)
            del connection
            return seen()

    gc.disable()
    try:
        assert go(work()) is None
    finally:
        gc.enable()


def test_read_makes_the_value_and_its_errors_name_the_broker() -> None:
    def refuse(_frame: object) -> None:
        raise InputError("topics[0]: broken")

    async def work() -> None:
        async with server(echo) as port:
            connection = await BrokerConnection.open(Address("127.0.0.1", port), ClientConfig())
            assert await connection.exchange(frame(1, b"abc"), 1, "Ask", read=len) == 7
            with pytest.raises(NetworkError, match=rf"broker 127.0.0.1:{port}: topics\[0\]: broken"):
                await connection.exchange(frame(2), 2, "Ask", read=refuse)
            assert await connection.exchange(frame(3), 3, "Ask") == frame(3)
            await connection.close()

    go(work())


async def end(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await read_frame(reader)


async def answer_another(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_frame(reader)
    writer.write(framed(frame(8)))
    await hang(reader, writer)


async def answer_short(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_frame(reader)
    writer.write(framed(b"ab"))
    await hang(reader, writer)


async def speak_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(4)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")


async def speak_first(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(framed(frame(7)) * 2)
    await hang(reader, writer)


async def cut_short(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_frame(reader)
    writer.write(framed(frame(7, bytes(1000)))[:500])


@pytest.mark.parametrize(
    ("talk", "words"),
    [
        (end, "closed the connection instead of answering Ask v1 .security.protocol is PLAINTEXT"),
        (cut_short, "closed the connection instead of answering Ask v1"),
        (answer_another, "answered Ask v1 with correlation id 8, not 7"),
        (answer_short, r"has 2 bytes \(4 or more expected\)"),
        (speak_http, "it answers in HTTP"),
        (hang, "no response to Ask v1 within 0.05 s .request.timeout.ms"),
    ],
)
def test_a_broker_that_misbehaves_is_one_clear_line(talk: Talk, words: str) -> None:
    with pytest.raises(NetworkError, match=words) as caught:
        go(connected(talk, request_timeout_ms="50"))
    assert "broker 127.0.0.1:" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 4


def test_bytes_that_nobody_asked_for_end_it() -> None:
    async def work() -> None:
        async with server(speak_first) as port:
            connection = await BrokerConnection.open(Address("127.0.0.1", port), ClientConfig())
            for _ in range(100):
                await asyncio.sleep(0.005)
                if connection.error:
                    break
            assert "that answer no request" in str(connection.error)
            with pytest.raises(NetworkError, match="answer no request"):
                await connection.exchange(frame(7), 7, "Ask")
            with pytest.raises(NetworkError, match="answer no request"):
                connection.send_only(frame(7))

    go(work())


def test_all_that_wait_fail_together_and_later_ones_at_once() -> None:
    async def work() -> None:
        async with server(end) as port:
            connection = await BrokerConnection.open(Address("127.0.0.1", port), ClientConfig())
            futures = [connection.exchange(frame(each), each, f"Ask {each}") for each in range(3)]
            results = await asyncio.gather(*futures, return_exceptions=True)
            assert len({str(each) for each in results}) == 1
            assert all(isinstance(each, NetworkError) for each in results)

    go(work())


def test_an_answer_whose_asker_has_gone_is_dropped() -> None:
    async def work() -> None:
        async with server(echo) as port:
            connection = await BrokerConnection.open(Address("127.0.0.1", port), ClientConfig())
            connection.exchange(frame(1), 1, "Ask").cancel()
            assert await connection.exchange(frame(2), 2, "Ask") == frame(2)
            await connection.close()

    go(work())


def test_correlation_ids_start_again_after_the_largest() -> None:
    async def work() -> None:
        connection = BrokerConnection(Address("h", 1), ClientConfig())
        connection._correlation = 0x7FFF_FFFF
        assert [connection.next_correlation(), connection.next_correlation()] == [0x7FFF_FFFF, 0]

    go(work())
