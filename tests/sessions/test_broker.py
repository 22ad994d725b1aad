"""What the broker machine looks at and tells; histories of loss and repetition are in test_histories."""

import random

import pytest

from kcli.sessions.broker import BrokerSessions
from kcli.sessions.cache import FetchSessionCache
from kcli.sessions.rules import Action
from kcli.sessions.values import FetchRequest, FetchResponse, Partition, Position, Result

A, B, C = (("t", index) for index in range(3))
QUIET = Result(5, 5, 0)


def opened(*partitions: Partition, result: Result = QUIET) -> tuple[BrokerSessions, int]:
    broker = BrokerSessions(FetchSessionCache(8, rng=random.Random(1)))
    request = FetchRequest(0, 0, {partition: Position(5) for partition in partitions})
    response = broker.begin(request, 0).answer(dict.fromkeys(partitions, result), 0)
    assert list(response.partitions) == list(partitions)
    return broker, response.session_id


def fetch(broker: BrokerSessions, request: FetchRequest, now: int = 0, **results: Result) -> FetchResponse:
    begun = broker.begin(request, now)
    looked = {partition: results.get(f"p{partition[1]}", QUIET) for partition, _ in begun.candidates()}
    return begun.answer(looked, now)


def test_a_session_that_rests_costs_nothing() -> None:
    """KIP-227: the cost of a fetch follows what changed, not the partitions that exist."""
    broker, number = opened(A, B, C)
    begun = broker.begin(FetchRequest(number, 1), 0)
    assert list(begun.candidates()) == []
    assert begun.answer({}, 0) == FetchResponse(0, number)


def test_what_was_marked_or_moved_is_looked_at_and_told_when_it_is_news() -> None:
    broker, number = opened(A, B, C)
    broker.mark(C)
    begun = broker.begin(FetchRequest(number, 1, {A: Position(6)}), 0)
    assert sorted(begun.candidates()) == [(A, Position(6)), (C, Position(5))]
    response = begun.answer({A: QUIET, C: Result(6, 6, 0)}, 0)
    assert response.partitions == {C: Result(6, 6, 0)}


def test_partitions_that_delivered_go_to_the_back() -> None:
    """KIP-227: the order rotates, so that no partition starves."""
    full = Result(9, 9, 0, records_size=10)
    broker, number = opened(A, B, C, result=full)
    order = [partition for partition, _ in broker.begin(FetchRequest(number, 1), 0).candidates()]
    assert order == [A, B, C]
    begun = broker.begin(FetchRequest(number, 2), 0)
    begun.answer({A: full, B: Result(9, 9, 0, more=True)}, 0)
    order = [partition for partition, _ in broker.begin(FetchRequest(number, 3), 0).candidates()]
    assert order == [B, C, A]


def test_an_error_is_told_each_time_and_its_end_too() -> None:
    broker, number = opened(A, B)
    broker.mark(A)
    wrong = Result(5, 5, 0, error=6)
    for epoch in (1, 2, 3):
        assert fetch(broker, FetchRequest(number, epoch), p0=wrong).partitions == {A: wrong}
    assert fetch(broker, FetchRequest(number, 4)).partitions == {A: QUIET}
    assert fetch(broker, FetchRequest(number, 5)).partitions == {}


def test_forgotten_partitions_are_told_no_more() -> None:
    """KIP-227: forgotten_topics takes partitions out of a session."""
    broker, number = opened(A, B)
    broker.mark(A)
    response = fetch(broker, FetchRequest(number, 1, forgotten=(A,)), p0=Result(9, 9, 0, records_size=1))
    assert response == FetchResponse(0, number)
    assert broker.mark(A) == ()


def test_the_last_partition_takes_the_session_with_it() -> None:
    broker, number = opened(A)
    response = fetch(broker, FetchRequest(number, 1, forgotten=(A,)))
    assert response == FetchResponse() and len(broker.cache) == 0


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (FetchRequest(4711, 1), 70),
        (FetchRequest(2**31 - 1, 1), 70),
        (FetchRequest(-5, 1), 70),
        (FetchRequest(0, 1), 70),
    ],
)
def test_sessions_that_are_not_there(request_: FetchRequest, code: int) -> None:
    broker, _ = opened(A)
    assert fetch(broker, request_) == FetchResponse(code)


def test_wrong_epochs_and_names_are_refused_and_change_nothing() -> None:
    """KIP-227: a wrong epoch is 71, topics named by the other means 106; the session stays as it was."""
    broker, number = opened(A)
    assert fetch(broker, FetchRequest(number, 2, {B: Position(0)})).error == 71
    assert fetch(broker, FetchRequest(number, 1, {B: Position(0)}, topic_ids=False)).error == 106
    session = broker.cache.get(number)
    assert session is not None and set(session.partitions) == {A} and session.epoch == 1


def test_a_full_fetch_closes_the_session_it_names() -> None:
    broker, number = opened(A)
    begun = broker.begin(FetchRequest(number, 0, {B: Position(0)}), 0)
    assert begun.action is Action.REPLACE
    response = begun.answer({B: QUIET}, 0)
    assert broker.cache.get(number) is None and response.session_id not in (0, number)
    assert fetch(broker, FetchRequest(response.session_id, -1)).session_id == 0
    assert len(broker.cache) == 0


def test_a_fetch_that_waited_while_its_session_went_on_is_refused() -> None:
    broker, number = opened(A)
    waiting = broker.begin(FetchRequest(number, 1), 0)
    fetch(broker, FetchRequest(number, 2))
    assert waiting.answer({}, 0) == FetchResponse(71, number)


def test_throttled_answers_tell_nothing_and_lose_nothing() -> None:
    broker, number = opened(A)
    broker.mark(A)
    news = Result(6, 6, 0)
    assert broker.begin(FetchRequest(number, 1), 0).answer({A: news}, 0, throttle_ms=9) == FetchResponse(
        0, number, {}, 9
    )
    assert fetch(broker, FetchRequest(number, 2), p0=news).partitions == {A: news}
    assert broker.begin(FetchRequest(0, 0, {A: Position(0)}), 0).answer({A: news}, 0, throttle_ms=9).session_id == 0
