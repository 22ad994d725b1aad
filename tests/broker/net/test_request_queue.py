"""Requests that wait: in order, counted, and bounded."""

import struct

import pytest

from kcli.broker.net.memory_quota import SMALL
from kcli.broker.net.read_buffers import ReadBuffers
from kcli.broker.net.receiving import TooLongError
from kcli.broker.net.request_queue import MOST, MOST_BYTES, RequestQueue


def receive(queue: RequestQueue, data: bytes) -> None:
    while data:
        view = queue.buffer()
        size = min(len(view), len(data))
        view[:size] = data[:size]
        queue.receive(size)
        data = data[size:]


def queue_of(limit: int = 1 << 30) -> RequestQueue:
    return RequestQueue(ReadBuffers(), limit)


def frame(size: int) -> bytes:
    return struct.pack(">i", size) + b"x" * size


def test_requests_come_out_in_order() -> None:
    queue = queue_of()
    receive(queue, frame(1) + frame(2) + frame(3)[:5])
    assert len(queue) == 2 and [len(queue.take()) for _ in range(2)] == [1, 2]
    receive(queue, frame(3)[5:])
    assert len(queue.take()) == 3 and not queue and queue.held == 0


def test_little_is_not_counted() -> None:
    queue = queue_of()
    receive(queue, frame(SMALL // 2))
    assert queue.held == 0
    receive(queue, frame(SMALL))
    assert queue.held >= SMALL + SMALL // 2
    queue.take(), queue.take()
    assert queue.held == 0


@pytest.mark.parametrize(("size", "count"), [(1, MOST + 1), (MOST_BYTES // 2 + 1, 2)])
def test_reading_stops_where_much_waits(size: int, count: int) -> None:
    queue = queue_of()
    full: list[bool] = []
    for _ in range(count):
        receive(queue, frame(size))
        full.append(queue.is_full)
    assert full == [False] * (count - 1) + [True]
    queue.take(), queue.take()
    assert queue.has_room


def test_a_length_beyond_the_limit_is_refused() -> None:
    with pytest.raises(TooLongError, match="0 to 100 expected"):
        receive(queue_of(100), frame(101))
