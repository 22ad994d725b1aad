"""Ranges of offsets: what is next in one, and what is left of them."""

from hypothesis import given
from hypothesis import strategies as st

from kcli.broker.partition import OffsetRanges

Pairs = list[tuple[int, int]]
PAIRS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)), max_size=6)


def made(lengths: Pairs) -> tuple[OffsetRanges, set[int]]:
    ranges, at = OffsetRanges(), 0
    offsets: set[int] = set()
    for gap, length in lengths:
        ranges.append(at + gap, at + gap + length)
        offsets.update(range(at + gap, at + gap + length))
        at += gap + length
    return ranges, offsets


@given(PAIRS, st.lists(st.tuples(st.integers(0, 120), st.integers(0, 30)), max_size=4))
def test_they_hold_what_was_added_but_for_what_was_removed(lengths: Pairs, removed: Pairs) -> None:
    ranges, offsets = made(lengths)
    for first, length in removed:
        ranges.remove(first, first + length)
        offsets.difference_update(range(first, first + length))
    assert {each for first, end in ranges for each in range(first, end)} == offsets
    assert bool(ranges) == bool(offsets)
    for at in range(200):
        assert ranges.next_from(at) == min((each for each in offsets if each >= at), default=None)
