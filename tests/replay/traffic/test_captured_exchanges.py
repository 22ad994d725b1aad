"""Exchanges in the order of their requests, out of a stream in the order of their answers."""

from kcli.replay.traffic.captured_exchanges import in_order
from kcli.schemas.apikeys import HEARTBEAT
from tests.replay.traffic.made import exchange

BODY = {"groupId": "g", "generationId": 1, "memberId": "m"}


def made(at: int, took: int) -> object:
    return exchange(HEARTBEAT, 0, BODY, {"errorCode": 0}, at=at, took=took)


def times(items: list[object], memory: int = 1 << 20, window: float = 60.0) -> list[int]:
    return [each.request_ns // 1_000_000 - 1_000 for each in in_order(items, memory, window)]


def test_a_long_one_comes_where_its_request_was() -> None:
    assert times([made(10, 1), made(20, 1), made(0, 500), object()]) == [0, 10, 20]


def test_what_is_held_is_bounded_by_time_and_by_bytes() -> None:
    items = [made(at, 1) for at in range(0, 5_000, 1_000)]
    assert times([*items, made(-900, 6_000)], window=2.0) == [0, 1_000, 2_000, -900, 3_000, 4_000]
    assert times([made(20, 1), made(0, 30), made(1, 40)], memory=1) == [20, 0, 1]
