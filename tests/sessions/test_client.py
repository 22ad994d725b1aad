"""What the client machine sends, and what it makes of answers; loss and repetition are in test_histories."""

import pytest

from kcli.sessions.client import ClientSession
from kcli.sessions.rules import Came, SessionState
from kcli.sessions.values import FetchRequest, FetchResponse, Partition, Position, Result

A, B, C = (("t", index) for index in range(3))


def reported(*partitions: Partition) -> dict[Partition, Result]:
    return {partition: Result(0, 0, 0) for partition in partitions}


def live(*partitions: Partition) -> ClientSession:
    """A session 7 that was granted over these."""
    session = ClientSession()
    for partition in partitions:
        session.want(partition, Position(0))
    request = session.build()
    assert session.accept(request, FetchResponse(0, 7, reported(*partitions))).came is Came.GRANTED
    return session


def test_the_first_fetch_says_everything() -> None:
    session = ClientSession(replica_id=3)
    session.want(A, Position(5))
    request = session.build()
    assert request == FetchRequest(0, 0, {A: Position(5)}, (), True, 3)


def test_an_incremental_fetch_says_what_changed() -> None:
    session = live(A, B)
    session.want(A, Position(9))
    session.want(C, Position(1))
    session.forget(B)
    assert session.build() == FetchRequest(7, 1, {A: Position(9), C: Position(1)}, (B,))


def test_what_changed_and_changed_back_is_not_said() -> None:
    session = live(A, B)
    session.want(A, Position(9))
    session.want(A, Position(0))
    session.want(C, Position(1))
    session.forget(C)
    session.forget(B)
    session.want(B, Position(0))
    assert session.build() == FetchRequest(7, 1)


def test_epochs_count_answers() -> None:
    """KIP-227: each response accepted adds one to the epoch."""
    session = live(A)
    for epoch in (1, 2, 3):
        request = session.build()
        assert (request.session_id, request.epoch) == (7, epoch)
        assert session.accept(request, FetchResponse(0, 7)).usable


@pytest.mark.parametrize(
    ("response", "came", "session_id"),
    [
        (FetchResponse(70), Came.NOT_FOUND, 0),
        (FetchResponse(71), Came.FAILED, 7),
        (FetchResponse(106), Came.FAILED, 7),
        (FetchResponse(0, 0), Came.ENDED, 0),
        (FetchResponse(0, 8), Came.MALFORMED, 8),
        (FetchResponse(0, 7, {("t", 99): Result()}), Came.MALFORMED, 7),
    ],
)
def test_after_any_doubt_a_full_fetch_follows(response: FetchResponse, came: Came, session_id: int) -> None:
    session = live(A, B)
    session.want(A, Position(3))
    request = session.build()
    assert session.accept(request, response).came is came
    again = session.build()
    assert (again.session_id, again.epoch) == (session_id, 0)
    assert again.partitions == {A: Position(3), B: Position(0)}


def test_a_full_answer_with_a_partition_missing_is_not_used_and_its_session_closed() -> None:
    session = ClientSession()
    session.want(A, Position(0))
    session.want(B, Position(0))
    request = session.build()
    accepted = session.accept(request, FetchResponse(0, 9, reported(A)))
    assert not accepted.usable and "without 1" in accepted.problem
    assert (session.build().session_id, session.state) == (9, SessionState.REOPENING)


def test_a_broker_without_a_slot_is_asked_again() -> None:
    session = ClientSession()
    session.want(A, Position(0))
    for _ in range(3):
        request = session.build()
        assert (request.session_id, request.epoch) == (0, 0)
        assert session.accept(request, FetchResponse(0, 0, reported(A))).usable


def test_patience_is_no_fault() -> None:
    session = ClientSession()
    session.want(A, Position(0))
    accepted = session.accept(session.build(), FetchResponse(throttle_ms=20))
    assert accepted.came is Came.THROTTLED and not accepted.usable


def test_one_fetch_at_a_time() -> None:
    session = live(A)
    session.build()
    with pytest.raises(RuntimeError, match="under way"):
        session.build()


def test_an_answer_that_nobody_waits_for_changes_nothing() -> None:
    session = live(A)
    stale = session.build()
    session.lose(stale)
    request = session.build()
    assert not session.accept(stale, FetchResponse(0, 7)).usable
    assert (request.session_id, request.epoch, session.state) == (7, 0, SessionState.REOPENING)


def test_closing() -> None:
    session = live(A)
    session.close()
    request = session.build()
    assert (request.session_id, request.epoch, dict(request.partitions)) == (7, -1, {})
    session.accept(request, FetchResponse())
    after = session.build()
    assert (after.session_id, after.epoch, dict(after.partitions)) == (0, -1, {A: Position(0)})


def test_closing_while_a_fetch_is_under_way() -> None:
    session = live(A)
    request = session.build()
    session.close()
    session.accept(request, FetchResponse(0, 7))
    assert session.build() == FetchRequest(7, -1)


def test_names_instead_of_ids_take_a_new_session() -> None:
    session = live(A)
    request = session.build(topic_ids=False)
    assert (request.session_id, request.epoch, request.topic_ids) == (7, 0, False)
