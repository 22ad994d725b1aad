"""What is said, by numbers."""

from __future__ import annotations

from kcli.pipeline.rows.sayings import Sayings


def test_what_was_said_before_is_read_once() -> None:
    made = Sayings()
    said = b"\0\x0c\0\4", b"\0\1ame"  # Heartbeat v4, behind the correlation id
    asked = [(said[0] + bytes([0, 0, 0, number]) + said[1], bytes(3) + bytes([number, 9])) for number in range(3)]
    news = [made.is_new(12, b"b:1-c:2", request, response) for request, response in asked]
    assert news == [True, False, False]
    assert made.is_new(12, b"b:2-c:2", *asked[0]), "another broker may say otherwise"
    assert made.is_new(12, b"b:1-c:2", asked[0][0], None), "no answer is another saying"
    assert [made.is_new(36, b"b:1-c:2", *asked[0]) for _ in "ab"] == [True, True], "a login is of its connection"
    number, *ends = made.note(b"b:1-c:2", asked[2][0], 5_000, None) or ()
    assert ends == ["b:1-c:2", "b:1", "c:2"] and made.note(b"b:1-c:2", asked[0][0], 6_000, 7_000) is None
    batch = made.take()
    assert batch.column("saying").to_pylist() == [made.number] * 2
    assert batch.column("link").to_pylist() == [number] * 2
    assert batch.column("correlation_id").to_pylist() == [2, 0]
    assert batch.column("completed_ns").to_pylist() == [5_000, 7_000] and made.take() is None


def test_numbers_of_two_processes_are_none_of_each_other() -> None:
    one, other = Sayings(), Sayings()
    assert abs(one.last - other.last) >= 1 << 30 and one.last >= 0 and max(one.last, other.last) < (1 << 63) - (1 << 30)
