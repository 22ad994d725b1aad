import pytest

from kcli.client.topics import Bounds
from kcli.replay.sessions.positions import Positions
from tests.replay.sessions.made import fetch

T0, T1 = ("t", 0), ("t", 1)
BOUNDS = {T0: Bounds(10, 50), T1: Bounds(0, 5)}


def offsets(positions: Positions, *asked: dict[tuple[str, int], int]) -> list[dict[tuple[str, int], int]]:
    return [{key: offset for key, offset, _ in positions.asked(fetch(0, each, each))} for each in asked]


def test_captured_offsets_are_kept_or_clamped() -> None:
    positions = Positions("captured", BOUNDS)
    assert offsets(positions, {T0: 20, T1: 5}, {T0: 3}, {T0: 99}) == [{T0: 20, T1: 5}, {T0: 10}, {T0: 50}]
    assert positions.clamped == {T0}
    assert positions.carried(T1) == 5


def test_what_was_out_of_range_stays_so() -> None:
    positions = Positions("captured", BOUNDS)
    captured = fetch(0, {T0: 999}, {T0: 0}, part_error=1)
    assert list(positions.asked(captured)) == [(T0, 999, 100)]
    assert not positions.clamped


def test_relative_offsets_move_as_far_as_captured() -> None:
    positions = Positions("relative", BOUNDS)
    assert offsets(positions, {T0: 1000}, {T0: 1007}, {T0: 5000}) == [{T0: 10}, {T0: 17}, {T0: 50}]


@pytest.mark.parametrize(("mode", "start"), [("earliest", 10), ("latest", 50)])
def test_positions_that_follow_the_live_records(mode: str, start: int) -> None:
    positions = Positions(mode, BOUNDS)
    assert offsets(positions, {T0: 1000}, {T0: 1007}) == [{T0: start}, {T0: start}]
    positions.move(T0, 60)
    assert (offsets(positions, {T0: 1}), positions.current(T0)) == ([{T0: 60}], 60)


def test_a_partition_without_a_captured_position_starts_at_the_end() -> None:
    assert Positions("captured", BOUNDS).carried(T0) == 50
    assert Positions("earliest", BOUNDS).carried(T0) == 10
