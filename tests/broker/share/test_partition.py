"""A shared partition: who has which record, until when, and how often."""

import pytest

from kcli.broker.clock import Clock
from kcli.broker.share.partition import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledgement,
    BatchRange,
    ShareLimits,
    SharePartition,
)
from kcli.records.acceptance import RefusedError
from tests.broker.talk import run

LIMITS = ShareLimits(lock=30, deliveries=2, in_flight=100)
BATCHES = [BatchRange(0, 4), BatchRange(5, 9)]


class Shared:
    """A partition of ten records in two batches."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.woken = 0
        self.partition = SharePartition(0, self.clock, self.wake)

    def wake(self) -> None:
        self.woken += 1

    def acquire(self, member: str = "m", most: int = 500, *, strict: bool = False) -> list[tuple[int, int, int]]:
        return [(*each,) for each in self.partition.acquire(member, BATCHES, most, LIMITS, strict=strict)]

    def say(self, first: int, last: int, *types: int, member: str = "m") -> str:
        try:
            self.partition.acknowledge(member, [Acknowledgement(first, last, types)], LIMITS)
        except RefusedError as refused:
            return refused.error
        return ""


def test_records_are_one_members_until_it_says_what_of_them() -> None:
    async def work() -> None:
        s = Shared()
        assert s.acquire(most=3) == [(0, 4, 1)]  # a batch is taken whole
        assert s.acquire("n") == [(5, 9, 1)] and s.acquire() == []
        assert s.say(0, 4, ACCEPT, RELEASE, REJECT, GAP, ACCEPT) == ""
        assert (s.partition.start, s.partition.next_offset, s.woken) == (1, 1, 1)
        assert s.acquire("n") == [(1, 1, 2)]
        assert s.say(1, 9, ACCEPT) == "INVALID_RECORD_STATE"
        assert s.say(1, 1, ACCEPT, member="n") == "" and s.partition.start == 5
        assert s.say(5, 9, ACCEPT, member="n") == "" and s.partition.start == s.partition.end == 10
        assert not s.partition.records
        s.clock.close()

    run(work())


def test_strict_limits_are_held() -> None:
    async def work() -> None:
        s = Shared()
        assert s.acquire(most=3, strict=True) == [(0, 2, 1)]
        assert s.acquire("n", most=3, strict=True) == [(3, 5, 1)]
        s.clock.close()

    run(work())


def test_locks_end_and_are_renewed_and_too_many_deliveries_are_the_last() -> None:
    async def work() -> None:
        s = Shared()
        s.acquire()
        s.clock.advance(20)
        assert s.say(0, 0, RENEW) == ""
        s.clock.advance(11)
        assert s.say(1, 1, ACCEPT) == "INVALID_RECORD_STATE" and s.woken
        assert s.acquire("n") == [(1, 9, 2)]
        assert s.say(0, 0, ACCEPT) == ""
        s.clock.advance(31)
        assert s.acquire() == [] and s.partition.start == 10
        s.clock.close()

    run(work())


def test_archived_records_are_nobodys_and_those_that_a_member_has_stay() -> None:
    async def work() -> None:
        s = Shared()
        s.acquire(most=2, strict=True)
        s.partition.archive([BatchRange(0, 4), BatchRange(7, 8)], LIMITS)
        assert s.acquire("n") == [(5, 6, 1), (9, 9, 1)]
        assert s.say(0, 1, ACCEPT) == "" and s.partition.start == 5
        few = ShareLimits(in_flight=10)
        s.partition.archive([BatchRange(10, 99)], few)
        assert s.partition.end == 15  # no more than may be in flight
        s.clock.close()

    run(work())


def test_a_member_that_goes_has_delivered_nothing() -> None:
    async def work() -> None:
        s = Shared()
        s.acquire()
        s.partition.release_all("m")
        assert s.acquire("n") == [(0, 9, 1)]
        s.clock.close()

    run(work())


def test_deleted_records_are_nobodys() -> None:
    async def work() -> None:
        s = Shared()
        s.acquire()
        s.partition.begin_at(7)
        assert s.say(0, 6, ACCEPT) == "" and s.say(7, 9, ACCEPT) == ""
        assert s.partition.start == 10
        s.partition.begin_at(20)
        assert (s.partition.start, s.partition.end) == (20, 20)
        s.clock.close()

    run(work())


@pytest.mark.parametrize(
    ("first", "last", "types", "error"),
    [
        (4, 3, (ACCEPT,), "INVALID_REQUEST"),
        (0, 4, (ACCEPT, ACCEPT), "INVALID_REQUEST"),
        (0, 0, (9,), "INVALID_REQUEST"),
        (0, 0, (), "INVALID_REQUEST"),
        (0, 1 << 62, (ACCEPT,), "INVALID_RECORD_STATE"),
        (20, 20, (ACCEPT,), "INVALID_RECORD_STATE"),
    ],
)
def test_odd_acknowledgements(first: int, last: int, types: tuple[int, ...], error: str) -> None:
    async def work() -> None:
        s = Shared()
        s.acquire()
        assert s.say(first, last, *types) == error
        s.clock.close()

    run(work())
