"""Records as rows: offsets, times, transactions, and what is cut or damaged."""

import random
from typing import Any

import pytest

from kcli.records.builder import build_batch, build_marker
from kcli.records.rows import SeenOffsets, field_rows

TIME = 1_700_000_000_000


def batch(offset: int, count: int, **options: Any) -> bytes:
    made: list[Any] = [(TIME + number, b"k", b"v%d" % number, []) for number in range(count)]
    return bytes(build_batch(made, base_offset=offset, **options))


def offsets(data: bytes, **options: Any) -> list[Any]:
    return [row["offset"] for row in field_rows(memoryview(data), [], **options)]


def test_offsets_of_what_was_fetched_and_produced() -> None:
    data = batch(7, 3) + batch(10, 2)
    assert offsets(data) == [7, 8, 9, 10, 11]
    assert offsets(data, produced=True) == [None] * 5
    assert offsets(data, produced=True, base_offset=100) == [100, 101, 102, 103, 104]


def test_the_brokers_time_stands_for_the_producers() -> None:
    rows = list(field_rows(memoryview(batch(0, 2)), [], append_time=5))
    assert [row["timestamp"] for row in rows] == [5, 5] and [row["value"] for row in rows] == ["v0", "v1"]


def test_the_last_batch_of_a_fetch_may_be_cut() -> None:
    problems: list[str] = []
    whole, cut = batch(0, 2), batch(2, 50)[:-9]
    rows = list(field_rows(memoryview(whole + cut), problems))
    assert [row["offset"] for row in rows] == [0, 1] and problems == []
    inside = bytearray(batch(2, 50))
    inside[100:100] = batch(77, 1)  # what looks like a batch in the one that is cut
    assert [row["offset"] for row in field_rows(memoryview(whole + inside[: len(cut)]), problems)] == [0, 1]
    assert problems == []


def test_damage_is_said() -> None:
    problems: list[str] = []
    wrong = bytearray(batch(0, 2))
    wrong[-2] ^= 1  # in the last value
    assert len(list(field_rows(memoryview(bytes(wrong) + batch(2, 1)), problems))) == 3
    assert problems == ["a batch has a wrong checksum"]
    problems.clear()
    assert list(field_rows(memoryview(b"\0" * 8 + b"\0\0\0\x14" + b"\x09" * 20), problems)) == []
    assert len(problems) == 1 and "magic 9" in problems[0]


def test_aborted_transactions() -> None:
    first = batch(0, 2, producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    plain = batch(2, 1)
    marker = bytes(build_marker(False, TIME, 3, 5, 0, 0))
    second = batch(4, 1, producer_id=5, producer_epoch=0, base_sequence=2, transactional=True)
    rows = list(field_rows(memoryview(first + plain + marker + second), [], aborted=[(0, 5)]))
    assert [row.get("aborted", False) for row in rows] == [True, True, False, False, False]
    assert [row["_control"]["type"] for row in rows if "_control" in row] == ["ABORT"]


def test_offsets_are_new_once() -> None:
    rng = random.Random(3)
    seen, known = SeenOffsets(), set[tuple[str, int]]()
    for _ in range(3000):
        place = rng.choice("ab"), rng.randrange(400)
        assert seen.add(*place) is (place not in known)
        known.add(place)
    assert all(len(starts) < 60 for starts in seen.starts.values())


@pytest.mark.parametrize("most", [0, 2])
def test_ranges_are_bounded(most: int) -> None:
    seen = SeenOffsets(most)
    assert all(seen.add("p", offset) for offset in (0, 10, 20, 30))
    assert sum(map(len, seen.starts.values())) == most
