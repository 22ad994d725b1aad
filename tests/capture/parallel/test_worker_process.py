"""What goes between a process and one that helps it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kcli.capture.parallel import worker_process as helpers
from kcli.capture.parallel.worker_process import AHEAD, Desk, Helper, StoppedError, WorkerOutput
from kcli.errors import InputError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="one process does all here")
ROOM = 1 << 16


class Order:
    """What a desk asks of a LineOrder. large: of text, beyond which there is no room."""

    exceeded = False

    def __init__(self, large: int = 1000) -> None:
        self.large = large
        self.parts = (b"", b"", b"")
        self.room = memoryview(b"")

    def open(self, room: Any) -> None:
        self.room = memoryview(room)

    def close(self) -> tuple[int, ...] | None:
        data = b"".join(self.parts)
        if len(data) > self.large:
            return None
        self.room[: len(data)] = data
        return tuple(map(len, self.parts))

    def take(self, give: Callable[..., None]) -> None:
        give(*(memoryview(part) for part in self.parts))


def echo(desk: Desk) -> None:
    """Hand over the segments as text, how many there were as marks, and the names."""
    order: Any = Order()
    count = 0
    for stretch in desk.stretches(order):
        count += 1
        order.parts = bytes(stretch.segments), b"%d" % count, stretch.names
        order.exceeded = stretch.last
        desk.put(order)
    desk.give(count)


@pytest.fixture
def start() -> Iterator[Callable[[Callable[[Desk], None]], Helper]]:
    """Starts helpers, which are stopped in the end."""
    started: list[Helper] = []

    def start(work: Callable[[Desk], None]) -> Helper:
        started.append(Helper(work, ROOM))
        return started[-1]

    yield start
    for helper in started:
        helper.stop()


Start = Callable[[Callable[[Desk], None]], Helper]


def deal(helper: Helper, data: bytes, names: bytes = b"", *, last: bool = False) -> None:
    memoryview(helper.room)[: len(data)] = data
    helper.deal(len(data), names, last=last)


def taken(part: WorkerOutput) -> tuple[Any, ...]:
    assert part.spent > 0
    return (*map(bytes, part[:3]), part.exceeded)


def test_stretches_go_and_come_in_order(start: Start) -> None:
    helper = start(echo)
    for number in range(AHEAD):
        deal(helper, b"s%d" % number, b"names" * number)
    for number in range(AHEAD, 10):
        assert taken(helper.take()) == (
            b"s%d" % (number - AHEAD),
            b"%d" % (number - AHEAD + 1),
            b"names" * min(number - AHEAD, 3),
            False,
        )
        helper.let_go()
        deal(helper, b"s%d" % number, b"names" * 3, last=number == 9)
    for number in range(10 - AHEAD, 10):
        assert taken(helper.take())[::3] == (b"s%d" % number, number == 9)
        helper.let_go()
    assert helper.result(whole=True) == 10 and helper.result(whole=True) is None


def test_what_is_large_waits_until_all_before_it_is_taken(start: Start) -> None:
    helper = start(echo)
    for size in (10, 2000, 20, 3000):
        deal(helper, b"x" * size, last=size == 3000)
    for size in (10, 2000, 20, 3000):
        text, *_, exceeded = taken(helper.take())
        assert text == b"x" * size and exceeded is (size == 3000)
        filed = os.fstat(helper.file.fileno()).st_size
        assert filed == (size + 1 if size >= 2000 else 0) or size == 20  # then it may not yet be let go
        helper.let_go()
    assert helper.result(whole=True) == 4


def test_names_without_room_are_refused(start: Start) -> None:
    helper = start(echo)
    with pytest.raises(ValueError, match="different"):
        helper.deal(ROOM - 3, b"name", last=False)


def test_it_stops_wherever_it_is(start: Start) -> None:
    def work(desk: Desk) -> None:
        order: Any = Order(large=0)
        order.parts = b"x", b"", b""
        with pytest.raises(StoppedError):
            for _ in desk.stretches(order):
                desk.put(order)  # the second one waits
        desk.give("so far")

    idle, waiting = start(work), start(work)
    for _ in range(2):
        deal(waiting, b"")
    assert idle.result(whole=False) == waiting.result(whole=False) == "so far"


def test_who_has_ended_is_said(start: Start) -> None:
    helper = start(lambda desk: None)
    os.waitid(os.P_PID, helper.pid, os.WEXITED | os.WNOWAIT)
    for ask in (helper.take, lambda: helper.result(whole=True), lambda: deal(helper, b"")):
        with pytest.raises(InputError, match="a process ended before its work was done"):
            ask()
    helper.let_go()  # it may have made all


def test_it_ends_without_the_first_process() -> None:
    """Nobody is left who could write to it."""
    helper = Helper(echo, ROOM)
    os.close(helper.messages)
    assert os.waitpid(helper.pid, 0)[1] != 0
    for pipe in (helper.sizes, helper.results):
        os.close(pipe)
    helper.file.close()


def test_rooms_are_as_many_as_may_be_under_way() -> None:
    assert [len(room) for room in helpers.rooms_of(5000)] == [5000] * AHEAD
    part = helpers.part_of(b"textmarksnames...", (4, 5, 5), 7, exceeded=True)
    assert taken(part) == (b"text", b"marks", b"names", True)
