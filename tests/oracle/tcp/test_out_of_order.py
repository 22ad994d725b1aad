"""Segments that wait come out in the order of their bytes."""

import random

import pytest

from kcli.grammar.files.network import ACK, FIN
from tests.oracle.tcp.out_of_order import SEGMENT_SIZE, FlowSegment, Held
from tests.oracle.tcp.reassembly import ahead


def segment(seq: int, data: bytes = b"x", flags: int = ACK, length: int | None = None) -> FlowSegment:
    return FlowSegment(0, 0, seq % (1 << 32), 0, flags, data, len(data) if length is None else length)


@pytest.mark.parametrize("start", [1000, (1 << 32) - 50])
@pytest.mark.parametrize("seed", range(5))
def test_segments_come_out_in_order(start: int, seed: int) -> None:
    made, places = Held(), list(range(100))
    random.Random(seed).shuffle(places)
    assert sum(made.put(segment(start + place)) for place in places) == made.size == 100 * (SEGMENT_SIZE + 1)
    taken = []
    while made:
        first = made.first
        assert made.take() is first
        taken.append(ahead(first.seq, start))
    assert taken == list(range(100)) and made.size == 0


def test_those_of_one_place_come_out_as_they_came() -> None:
    made = Held()
    for data in (b"a", b"ab", b"abc"):
        made.put(segment(5, data))
    assert [made.take().data for _ in range(3)] == [b"a", b"ab", b"abc"]


def test_what_the_last_one_of_a_place_has_is_covered() -> None:
    made = Held()
    assert not made.covers(segment(5))
    made.put(segment(5, b"abc"))
    assert made.covers(segment(5, b"ab")) and not made.covers(segment(5, b"abcd"))
    assert not made.covers(segment(5, b"ab", FIN)) and not made.covers(segment(5, b"ab", length=9))
    made.take()
    assert not made.covers(segment(5))


def test_the_first_may_stop_waiting_for_the_other_direction() -> None:
    made = Held()
    made.put(segment(7))
    made.forget_ack()
    assert made.first.flags == 0 and made.take().flags == 0
    made.put(segment(8))
    made.clear()
    assert not made and made.size == 0
