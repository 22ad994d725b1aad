"""Connections that come when no more fit: they wait, nothing spins, and they are served once others end."""

import asyncio
import errno
import resource
import socket
from typing import cast

import pytest

from kcli.broker.net.listening import FEWEST, Gate, Listener, most_connections
from kcli.schemas.apikeys import METADATA
from tests.broker.talk import connected, run, talking, until


class Greeter(asyncio.Protocol):
    """Sends a byte to who connects, and stays until the other side ends."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.Transport", transport).write(b"!")

    def connection_lost(self, error: Exception | None) -> None:
        self.gate.leave()


def listening(gate: Gate) -> Listener:
    return Listener(gate, lambda: Greeter(gate), "127.0.0.1", 0)


def test_who_does_not_fit_waits_for_somebody_to_end() -> None:
    notes: list[str] = []

    async def work() -> None:
        gate = Gate(2, notes.append)
        listener = listening(gate)
        links = [await asyncio.open_connection("127.0.0.1", listener.port) for _ in range(5)]
        greetings = [asyncio.ensure_future(reader.readexactly(1)) for reader, _ in links]
        await until(lambda: sum(each.done() for each in greetings) == 2)
        await asyncio.sleep(0.1)
        assert (sum(each.done() for each in greetings), gate.held) == (2, 2)
        for served, (_, writer) in zip(greetings, links, strict=True):
            await served
            writer.close()
        while gate.held:
            await asyncio.sleep(0)
        listener.close()

    run(work())
    assert set(notes) == {"2 connections are open: further ones wait until one ends"}


class Exhausted:
    """A listening socket of a process that may open no more files."""

    def __init__(self, code: int) -> None:
        self.code, self.calls = code, 0

    def accept(self) -> None:
        self.calls += 1
        raise OSError(self.code, "no")


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_where_files_ran_out_it_tries_again_later(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.broker.net.listening.RETRY_SECONDS", 0.01)

    async def work() -> None:
        gate = Gate(5, print)
        listener = listening(gate)
        exhausted = Exhausted(code)
        listener._accept(cast("socket.socket", exhausted))
        assert (exhausted.calls, gate.held) == (1, 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        assert await reader.readexactly(1) == b"!"
        writer.close()
        listener.close()

    run(work())


def test_what_files_leave_is_for_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    for granted, files, most in ((400, 100, 236), (100, 64, FEWEST), (resource.RLIM_INFINITY, 64, 1 << 31)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, granted=granted: (granted, granted))
        assert most_connections(files) == most


def test_a_port_that_is_taken() -> None:
    async def work() -> None:
        gate = Gate(5, print)
        listener = listening(gate)
        with pytest.raises(OSError, match="in use"):
            Listener(gate, lambda: Greeter(gate), "127.0.0.1", listener.port)
        listener.close()

    run(work())


def test_a_broker_serves_on_when_its_gate_was_full() -> None:
    async def work() -> None:
        async with talking() as talk:
            talk.broker.gate.limit = 2
            async with connected(talk.broker) as other:
                late = asyncio.ensure_future(asyncio.open_connection("127.0.0.1", talk.broker.nodes[0].port))
                reader, writer = await late
                writer.write(b"\0\0\0\x0e\0\3\0\1\0\0\0\7\xff\xff\0\0\0\0")
                await asyncio.sleep(0.1)
                assert not reader._buffer  # type: ignore[attr-defined]
                assert (await other(METADATA, 1, {"topics": []}))["topics"] == []
            answer = await asyncio.wait_for(reader.readexactly(8), 10)
            assert answer[4:] == b"\0\0\0\7"
            writer.close()

    run(work())
