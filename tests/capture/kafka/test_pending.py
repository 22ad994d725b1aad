"""The queue of requests that wait."""

import pytest

from kcli.capture.kafka.pending import REQUEST_SIZE, Pending, PendingRequests


def pending(number: int, frame: bytes | None = b"abc", *, token: bool = False) -> Pending:
    return Pending(number, 3, 1, 0, frame, token)


def test_requests_are_found_by_their_ids() -> None:
    made = PendingRequests(map(pending, range(5)))
    assert made.size == 5 * (REQUEST_SIZE + 3) and len(made) == 5
    third = made.find(3)
    assert third is not None and made.take(3) is third and made.take(3) is None and made.find(9) is None
    assert [each.correlation_id for each in made] == [0, 1, 2, 4]
    assert made.popleft().correlation_id == 0 and made.first is not None and made.first.correlation_id == 1
    assert made.size == 3 * (REQUEST_SIZE + 3)


def test_of_one_id_the_oldest_is_first() -> None:
    first, second = pending(7), pending(7)
    made = PendingRequests([first, second])
    assert made.take(7) is first and made.take(7) is second and len(made) == made.size == 0
    with pytest.raises(IndexError):
        made.popleft()


def test_those_before_an_answered_one() -> None:
    made = PendingRequests(map(pending, range(5)))
    assert [each.correlation_id for each in made.before(3)] == [0, 1, 2]
    assert made.before(3) == made.before(99) == []
    assert [each.correlation_id for each in made] == [3, 4]


def test_tokens_and_damaged_ones_have_no_frame() -> None:
    made = PendingRequests([pending(0, None, token=True), pending(1, None), pending(2)])
    assert made.odd == 2 and made.find(0) is None
    assert made.popleft().token and made.odd == 1
    made.clear()
    assert (len(made), made.odd, made.size, made.first) == (0, 0, 0, None)
