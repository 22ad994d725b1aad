"""The interpreted twins by themselves; tests/core/sessions holds the compiled ones against them."""

from kcli.sessions.offsets import SESSIONLESS
from tests.oracle.sessions.statistics import Counts, HighWatermarks, PartitionState, Timeline

ASKED = (5, 0, 1 << 20, -1, -1)


def test_a_seat_is_behind_when_it_was_told_of_records() -> None:
    seat = PartitionState(ASKED, True)
    assert not seat.is_behind(0)
    seat.note((0, 9, 7, 0, 0, -1, False), 1)
    assert seat.is_behind(0) and seat.is_behind(1)
    seat.note((0, 9, 5, 0, 0, -1, False), 2)
    assert seat.is_behind(0) and not seat.is_behind(1)
    seat.note((0, 9, 9, 0, 0, 3, False), 3)
    assert not seat.is_behind(0)
    seat.note((6, 9, 9, 0, 0, -1, False), 4)
    assert not seat.is_behind(0) and seat.high == -1


def test_an_error_makes_the_same_offsets_news_again() -> None:
    seat = PartitionState(ASKED, True)
    reported = (0, 9, 9, 0, 0, -1, False)
    seat.note(reported, 1)
    assert not seat.is_news(reported)
    seat.note((6, 9, 9, 0, 0, -1, False), 2)
    assert seat.is_news(reported)


def test_a_strip_never_has_more_than_forty_cells() -> None:
    strip = Timeline()
    for second in range(10_000):
        strip.add(second * 10**9, 3, second == 0)
    assert len(strip.bytes) <= 40 and sum(strip.bytes) == 30_000
    assert strip.full[0] == 1 and sum(strip.full) == 1


def test_marks_are_kept_of_topics_that_more_than_one_has() -> None:
    marks = HighWatermarks()
    key = ("orders", 1)
    marks.learn_all("b:1", [(key, (0, 5, 5, 0, 0, -1, False))], False, 7, 100)
    assert marks.moved_past("b:1", key, False, 4, 200) is None
    marks.learn_all("b:1", [(key, (0, 6, 6, 0, 0, -1, False))], False, SESSIONLESS, 110)
    assert marks.moved_past("b:1", key, False, 4, 200) == 6
    assert marks.moved_past("b:1", key, False, 6, 200) is None
    assert marks.moved_past("b:1", key, False, 4, 110) is None
    marks.learn_all("b:1", [(key, (0, 2, 2, 0, 0, -1, False))], False, 7, 120)
    assert marks.moved_past("b:1", key, False, 4, 200) is None


def test_counts_hold_seats() -> None:
    counts = Counts()
    counts.fill(
        [(("a", 0), ASKED), (("a", 0), ASKED), (("a", 1), ASKED)], [(("a", 1), (0, 9, 9, 0, 4, -1, False))], 0, False
    )
    assert counts.size == 2 and counts.late == 1
    assert counts.silent(9) == ([("a", 0)], 1)
    assert counts.leave(("a", 0)) is not None and counts.leave(("a", 0)) is None
    counts.clear()
    assert counts.size == 0
