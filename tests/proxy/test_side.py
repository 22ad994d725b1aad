"""One side of a connection: what it does to the other one."""

import asyncio
from typing import Any

import pytest

from kcli.proxy.side import FaultSink, ProxySide


class Transport(asyncio.Transport):
    """Notes what is asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.waiting = 0

    def __getattribute__(self, name: str) -> Any:
        if name in (
            "pause_reading",
            "resume_reading",
            "write",
            "write_eof",
            "close",
            "abort",
            "set_write_buffer_limits",
        ):
            return lambda *_: self.asked.append(name)
        return super().__getattribute__(name)

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def can_write_eof(self) -> bool:
        return True

    def is_closing(self) -> bool:
        return False


class Connection:
    stopping = False

    def __init__(self) -> None:
        self.happened: list[str] = []

    def made(self, side: ProxySide) -> None:
        self.happened.append("made")

    def ended(self, side: ProxySide) -> None:
        self.happened.append("ended")

    def lost(self, side: ProxySide, error: Exception | None) -> None:
        self.happened.append("lost")


def pair() -> tuple[ProxySide, ProxySide, Connection, list[list[str]]]:
    connection = Connection()
    first, second = (ProxySide(connection, lambda: memoryview(bytearray(8)), lambda count: None) for _ in range(2))
    first.other, second.other = second, first
    transports = [Transport(), Transport()]
    for side, transport in zip((first, second), transports, strict=True):
        side.connection_made(transport)
        transport.asked.clear()
    return first, second, connection, [transport.asked for transport in transports]


def test_what_one_cannot_take_holds_up_the_other() -> None:
    first, _, connection, (_, asked) = pair()
    first.pause_writing()
    first.resume_writing()
    connection.stopping = True
    first.resume_writing()
    assert asked == ["pause_reading", "resume_reading"]


def test_an_end_goes_across_and_two_ends_close() -> None:
    first, second, connection, (one, other) = pair()
    assert first.eof_received()
    assert (one, other) == ([], ["write_eof"])
    assert not second.eof_received()
    assert (one, other) == (["close"], ["write_eof"])
    first.connection_lost(None)
    first.write(b"x")
    first.close()
    assert connection.happened == ["made", "made", "ended", "ended", "lost"]


def test_a_fault_rule_hears_of_the_client() -> None:
    async def work() -> None:
        first, second, _, _ = pair()
        sink = first.faulted()
        first.pause_writing()
        waiting = asyncio.ensure_future(sink.writer.write(b"x"))
        await asyncio.wait([waiting], timeout=0.05)
        assert not waiting.done()
        first.resume_writing()
        await waiting
        first.eof_received()
        assert sink.half_closed.is_set()
        second.over = True
        assert FaultSink(second).half_closed.is_set()

    asyncio.run(work())


def test_it_is_closed_once() -> None:
    """asyncio's TLS transports can't be aborted after a second close."""
    first, _, _, (asked, _) = pair()
    first.close()
    assert first.transport is not None
    first.transport.is_closing = lambda: True  # type: ignore[method-assign]
    first.close()
    first.abort()
    assert asked[-2:] == ["close", "abort"]
    assert asked.count("close") == 1


@pytest.mark.parametrize("waiting", [0, 1])
def test_what_the_transport_still_has_is_not_sent(waiting: int) -> None:
    first, _, _, _ = pair()
    assert isinstance(first.transport, Transport)
    first.transport.waiting = waiting
    assert first.is_drained == (not waiting)


def test_nothing_is_sent_to_who_is_gone() -> None:
    """asyncio prints a line for each piece behind the end."""
    first, _, _, (asked, _) = pair()
    first.write(b"x")
    assert first.transport is not None
    first.transport.is_closing = lambda: True  # type: ignore[method-assign]
    first.write(b"y")
    assert asked == ["write"]
    first.connection_lost(None)
    assert not first.is_drained
