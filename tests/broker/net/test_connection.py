"""What arrives on a socket that is no decent request: others are unharmed, memory does not follow claims."""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
from collections.abc import Iterator, Sequence
from typing import cast

import pytest

from kcli.broker.net.connection import Connection
from kcli.broker.net.response_writer import ResponseWriter
from kcli.broker.net.socket_writer import Outlet, send_through
from kcli.broker.request import Request
from kcli.broker.response import Answer, Piece
from kcli.grammar import frames
from kcli.schemas.apikeys import METADATA
from tests.broker.talk import batch, run, talking, until


def request(api_key: int = METADATA, version: int = 1, body: bytes = b"\xff\xff\xff\xff") -> bytes:
    frame = struct.pack(">hhih", api_key, version, 5, -1) + body
    return struct.pack(">i", len(frame)) + frame


async def raw(bootstrap: str, data: bytes, *, close: bool = False) -> bytes:
    """What comes back for these bytes until the broker closes, or is silent for long."""
    host, port = bootstrap.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    if close:
        writer.write_eof()
    got = b""
    try:
        while chunk := await asyncio.wait_for(reader.read(65536), 10):
            got += chunk
    except (TimeoutError, ConnectionResetError):
        pass
    writer.close()
    return got


GARBAGE = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    bytes(64),
    b"\xff" * 64,
    struct.pack(">i", -1),
    struct.pack(">i", 0x7FFFFFFF),
    struct.pack(">i", 3) + b"abc",
    request(api_key=9999),
    request(version=99),
    request(version=-1),
    request(body=b"\x7f\xff\xff\xff"),
    request(body=b""),
]


@pytest.mark.parametrize("data", GARBAGE)
def test_garbage_ends_its_own_connection_only(data: bytes) -> None:
    async def work() -> None:
        notes: list[str] = []
        async with talking(topic="t", note=notes.append) as talk:
            assert await raw(talk.broker.bootstrap, data) == b""
            assert len(notes) == 1
            assert "closed" in notes[0]
            assert (await talk.produce("t", batch("fine")))["errorCode"] == 0
            assert len(talk.broker.nodes[0].connections) == 1

    run(work())


def test_every_byte_changed_in_a_request() -> None:
    """No byte of a request, set to something else, brings the broker down or makes it answer others wrongly."""

    async def work() -> None:
        good = frames.encode_request(
            {"requestApiKey": 1, "requestApiVersion": 12, "correlationId": 1, "clientId": "c"},
            {
                "maxWaitMs": 0,
                "minBytes": 1,
                "topics": [{"topic": "t", "partitions": [{"partition": 0, "partitionMaxBytes": 9}]}],
            },
        )
        async with talking(topic="t") as talk:
            host, port = talk.broker.bootstrap.split(":")
            for at in range(len(good)):
                for value in (0, 0x7F, 0xFF):
                    data = bytearray(good)
                    data[at] = value
                    with socket.create_connection((host, int(port))) as client:
                        client.sendall(struct.pack(">i", len(data)) + data)
            assert (await talk.produce("t", batch("fine")))["errorCode"] == 0

    run(work())


def test_a_claimed_length_takes_no_memory() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            host, port = talk.broker.bootstrap.split(":")
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            claims = [socket.create_connection((host, int(port))) for _ in range(100)]
            for each in claims:
                each.sendall(struct.pack(">i", 100_000_000) + bytes(1000))
            await asyncio.sleep(0.1)
            assert (await talk.produce("t", batch("fine")))["errorCode"] == 0
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 80_000  # KiB; claimed: 10 GB
            for each in claims:
                each.close()

    run(work())


def test_a_request_in_single_bytes() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            host, port = talk.broker.bootstrap.split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            for byte in request():
                writer.write(bytes([byte]))
                await asyncio.sleep(0.001)
            size = struct.unpack(">i", await reader.readexactly(4))[0]
            answer = await reader.readexactly(size)
            assert struct.unpack(">i", answer[:4])[0] == 5
            assert (await talk.produce("t", batch("fine")))["errorCode"] == 0
            writer.close()

    run(work())


def test_a_client_that_only_closed_its_own_side_gets_its_answers() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            body = frames.encode_request(
                {"requestApiKey": 1, "requestApiVersion": 11, "correlationId": 9, "clientId": "c"},
                {
                    "maxWaitMs": 30_000,
                    "minBytes": 1,
                    "topics": [{"topic": "t", "partitions": [{"partition": 0, "partitionMaxBytes": 9}]}],
                },
            )
            data = request() + struct.pack(">i", len(body)) + body
            got = await raw(talk.broker.bootstrap, data, close=True)
            first = struct.unpack(">i", got[:4])[0]
            assert struct.unpack(">i", got[4 + first + 4 : 4 + first + 8])[0] == 9

    run(work())


def test_a_client_that_reads_nothing_holds_up_nobody() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            for _ in range(16):
                await talk.produce("t", batch("x" * 1_000_000))
            host, port = talk.broker.bootstrap.split(":")
            with socket.create_connection((host, int(port))) as lazy:
                body = frames.encode_request(
                    {"requestApiKey": 1, "requestApiVersion": 11, "correlationId": 9, "clientId": "c"},
                    {
                        "maxWaitMs": 0,
                        "minBytes": 1,
                        "topics": [{"topic": "t", "partitions": [{"partition": 0, "partitionMaxBytes": 50_000_000}]}],
                    },
                )
                lazy.sendall((struct.pack(">i", len(body)) + body) * 20)
                await asyncio.sleep(0.2)
                produced = talk.produce("t", batch("fine"))
                assert (await asyncio.wait_for(produced, 10))["errorCode"] == 0

    run(work())


def test_answers_that_nobody_takes_do_not_pile_up() -> None:
    """A client that sends requests, and reads no answer, is read no more."""

    async def work() -> None:
        async with talking() as talk:
            long = request(body=struct.pack(">ih", 1, 30_000) + b"x" * 30_000)
            reader, writer = await asyncio.open_connection("127.0.0.1", talk.broker.nodes[0].port)
            for _ in range(600):
                writer.write(long)
            greedy = await until(
                lambda: next((each for each in talk.broker.nodes[0].connections if each and each.queue), None)
            )
            await asyncio.sleep(0.3)  # more of them come meanwhile
            assert greedy._transport is not None
            assert greedy._transport.get_write_buffer_size() < 4 << 20
            assert (await talk(METADATA, 1, {"topics": []}))["topics"] == []
            # Whoever reads on gets them all.
            for _ in range(600):
                await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
            writer.close()

    run(work())


def test_complaints_about_clients_are_counted_where_there_are_many() -> None:
    notes: list[str] = []

    async def work() -> None:
        async with talking(note=notes.append) as talk:
            for _ in range(60):
                await raw(talk.broker.bootstrap, struct.pack(">i", -1))

    run(work())
    assert len(notes) == 21
    assert notes[-1] == "more of this within 30 s is counted only"


def test_idle_connections_are_closed() -> None:
    async def work() -> None:
        async with talking() as talk:
            node = talk.broker.nodes[0]
            assert len(node.connections) == 1
            node.close_idle(60)
            await asyncio.sleep(0.02)
            assert len(node.connections) == 1
            node.close_idle(0)
            await until(lambda: not node.connections)

    run(work())


class Recorder:
    """An outlet that keeps what it is given: bytes, and whether more was said to follow."""

    def __init__(self) -> None:
        self.sent: list[tuple[bytes, bool]] = []

    async def send(self, parts: Sequence[bytes], *, more: bool = False) -> None:
        if data := b"".join(parts):
            self.sent.append((data, more))


class Made:
    """Bytes that are made while they are sent."""

    def __init__(self, *chunks: bytes) -> None:
        self.chunks = chunks
        self.size = sum(map(len, chunks))

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.chunks)


@pytest.mark.parametrize(
    "pieces", [(b"head", Made(b"a", b"b")), (b"head", Made(b"a"), b"tail"), (b"head", Made(b"a"), Made(b"b", b"c"))]
)
def test_nothing_follows_the_last_bytes_of_an_answer(pieces: tuple[Piece, ...]) -> None:
    """Old responses end with records. The system holds back what is said to be followed by more, for 200 ms."""
    outlet = Recorder()
    run(send_through(cast("Outlet", outlet), pieces))
    whole = b"".join(each if isinstance(each, bytes) else b"".join(each) for each in pieces)
    assert b"".join(data for data, _ in outlet.sent) == whole
    assert [more for _, more in outlet.sent] == [True] * (len(outlet.sent) - 1) + [False]


def test_answers_of_one_event_are_made_before_the_first_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that hears it early cannot ask again before the other has heard it, too."""
    steps: list[str] = []
    make, send = Connection._frame, ResponseWriter.send_pieces

    def made(self: Connection, request: Request, answer: Answer) -> list[Piece]:
        steps.append("made")
        return make(self, request, answer)

    async def sent(self: ResponseWriter, pieces: Sequence[Piece]) -> None:
        steps.append("sent")
        await send(self, pieces)

    async def work() -> None:
        async with talking(topic="t") as talk, talk.another() as other:
            polls = [each.fetch(12, ("t", 0, 0), wait=60_000) for each in (talk, other)]
            async with talk.another() as writer:
                purgatory = talk.broker.nodes[0].purgatory
                await until(lambda: [len(each) for each in purgatory._watching.values()] == [2])
                monkeypatch.setattr(Connection, "_frame", made)
                monkeypatch.setattr(ResponseWriter, "send_pieces", sent)
                await writer.produce("t", batch("a"))
                await asyncio.gather(*polls)
            answers = steps[steps.index("sent") - 2 :]
            assert answers == ["made", "made", "sent", "sent"]

    run(work())
