"""The time captured, its parts and its pauses."""

from kcli.capture.captured_time import CapturedTime

S = 10**9
# Ten seconds of each of three files, the second behind a pause of a minute, the third of an hour.
TIME = CapturedTime(0, 3690 * S, [(10 * S, 70 * S), (80 * S, 3680 * S)])


def test_pauses_do_not_count() -> None:
    assert TIME.seconds() == 30 and [*TIME.stretches()] == [(0, 10 * S), (70 * S, 80 * S), (3680 * S, 3690 * S)]
    assert [*TIME.delays()] == [(70 * S, 60 * S), (3680 * S, 3660 * S)]
    assert CapturedTime().seconds() == 0 and not [*CapturedTime().stretches()]


def test_a_part_of_it_begins_and_ends_anywhere() -> None:
    assert TIME.within(5 * S, 75 * S).seconds() == 10
    assert TIME.within(until=4 * S).seconds() == 4 and TIME.within(since=79 * S).seconds() == 11
    assert TIME.within(20 * S, 30 * S).seconds() == 0  # in a pause
    for since, until in ((4000 * S, None), (None, -1), (9 * S, 8 * S)):
        assert TIME.within(since, until) == CapturedTime()


def test_files_at_once_or_one_after_another() -> None:
    spans = [(70 * S, 75 * S), (0, 10 * S), (3 * S, 5 * S), (3680 * S, 3690 * S), (74 * S, 80 * S)]
    assert CapturedTime.of_files(spans) == TIME and CapturedTime.of_files([]) == CapturedTime()
