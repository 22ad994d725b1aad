"""An outlet, on a pair of sockets with small buffers."""

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kcli.broker.net.socket_writer import Outlet
from kcli.broker.storage.file_pool import LogFile
from kcli.broker.storage.segment import Slice
from tests.broker.talk import run

SIZE = 3 << 20


@contextmanager
def pair() -> Iterator[tuple[Outlet, socket.socket]]:
    """The outlet, and the client's end."""
    ours, theirs = socket.socketpair()
    for each in (ours, theirs):
        each.setblocking(False)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
    outlet = Outlet(asyncio.get_running_loop(), ours.fileno())
    try:
        yield outlet, theirs
    finally:
        outlet.close()
        ours.close()
        theirs.close()


async def receive(client: socket.socket, size: int) -> bytes:
    made = bytearray()
    while len(made) < size:
        made += await asyncio.get_running_loop().sock_recv(client, 1 << 16)
        await asyncio.sleep(0)
    return bytes(made)


@pytest.fixture
def piece(tmp_path: Path) -> Slice:
    path = tmp_path / "0.log"
    path.write_bytes(os.urandom(SIZE + 300))
    return Slice(LogFile(path), 100, SIZE)


def test_bytes_and_files_arrive_in_order_however_slowly_they_are_taken(piece: Slice) -> None:
    async def work() -> None:
        with pair() as (outlet, client):

            async def send() -> None:
                await outlet.send([b"", b"head", bytes(SIZE)], more=True)
                assert await outlet.send_file(piece) == SIZE
                await outlet.send([b"tail"] * 200)

            sending = asyncio.create_task(send())
            whole = b"head" + bytes(SIZE) + piece.read() + b"tail" * 200
            assert await receive(client, len(whole)) == whole
            await sending

    run(work())


def test_a_file_that_ends_early(piece: Slice) -> None:
    async def work() -> None:
        with pair() as (outlet, client):
            sending = asyncio.create_task(outlet.send_file(Slice(piece.file, SIZE, 1000)))
            assert len(await receive(client, 300)) == 300
            assert await sending == 300

    run(work())


@pytest.mark.parametrize("ends", ["client", "here"])
def test_a_connection_that_ends_meanwhile(piece: Slice, ends: str) -> None:
    async def work() -> None:
        for file in (False, True):
            with pair() as (outlet, client):
                sending = asyncio.create_task(outlet.send_file(piece) if file else outlet.send([bytes(SIZE)]))
                await asyncio.sleep(0.01)
                assert not sending.done()
                (client if ends == "client" else outlet).close()
                with pytest.raises(ConnectionError):
                    await sending

    run(work())


def test_others_have_their_turn(piece: Slice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a client that takes everything at once."""
    monkeypatch.setattr("kcli.broker.net.socket_writer.SHARE", 1 << 20)
    monkeypatch.setattr("os.sendfile", lambda out, file, position, size: min(size, 1 << 18))
    turns = 0

    async def work() -> None:
        nonlocal turns
        with pair() as (outlet, _):
            sending = asyncio.create_task(outlet.send_file(piece))
            while not sending.done():
                await asyncio.sleep(0)
                turns += 1
            assert await sending == SIZE

    run(work())
    assert 3 <= turns <= 5
