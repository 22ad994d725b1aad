"""Slots and turns derived from grants: ids of shard n begin at n times WIDTH."""

from typing import Any

from kcli.broker.rebuilt.session_capacity import FetchKey, SessionCapacity

WIDTH = (2**31 - 1) // 8


class Told:
    """Fetches one after the other, a second each."""

    def __init__(self) -> None:
        self.capacity = SessionCapacity()
        self.places: list[FetchKey] = []

    def fetch(self, session: int, epoch: int, granted: int, error: int = 0, rows: int = 1, early: int = 0) -> FetchKey:
        """early: seconds that it was asked before the last answer."""
        place = FetchKey("s-c", len(self.places), (len(self.places) - early) * 10**9)
        self.places.append(place)
        response: dict[str, Any] = {"errorCode": error, "sessionId": granted, "responses": [{}] * rows}
        self.capacity.take(
            place, place.asked_ns + early * 10**9 + 1, {"sessionId": session, "sessionEpoch": epoch}, response
        )
        return place


def test_as_long_as_everybody_gets_one_nothing_is_known() -> None:
    answer = Told()
    for shard in range(3):
        answer.fetch(0, 0, shard * WIDTH + 5)
    assert answer.capacity.slots is None


def test_nobody_ever_got_one() -> None:
    answer = Told()
    answer.fetch(0, 0, 0)
    assert answer.capacity.slots == 0


def test_nothing_to_fetch_is_no_refusal() -> None:
    answer = Told()
    answer.fetch(0, 0, 0, rows=0)
    assert answer.capacity.slots is None


def test_the_fullest_shard_tells_of_all() -> None:
    answer = Told()
    answer.fetch(0, 0, 5)
    answer.fetch(0, 0, 6)
    answer.fetch(0, 0, WIDTH + 5)
    answer.fetch(0, 0, 0)
    answer.fetch(5, 1, 5)
    answer.fetch(6, 1, 6)
    assert answer.capacity.slots == 16


def test_who_was_evicted_takes_no_slot_any_more() -> None:
    answer = Told()
    answer.fetch(0, 0, 5)
    answer.fetch(5, 1, 5)
    answer.fetch(0, 0, 6)
    answer.fetch(5, 2, 0, error=70)
    assert answer.capacity.slots == 8


def test_whose_turn_it_was() -> None:
    answer = Told()
    early = [answer.fetch(0, 0, 0), answer.fetch(0, 0, 0)]
    first = answer.fetch(0, 0, 4 * WIDTH + 1)
    between = [answer.fetch(0, 0, 0) for _ in range(3)]
    second = answer.fetch(0, 0, 1)
    last = answer.fetch(0, 0, 0)
    turns = answer.capacity.turns
    assert [turns[each] for each in early] == [2, 3]
    assert (turns[first], turns[second], turns[last]) == (4, 0, 1)
    assert [turns[each] for each in between] == [5, 6, 7]


def test_answers_of_the_same_moment_may_have_been_made_in_another_order() -> None:
    answer = Told()
    answer.fetch(0, 0, 4 * WIDTH + 1)
    refused = [answer.fetch(0, 0, 0, early=3) for _ in range(2)]
    # Right after the first: so those two came behind it.
    granted = answer.fetch(0, 0, 5 * WIDTH + 1, early=3)
    turns = answer.capacity.turns
    assert (turns[granted], [turns[each] for each in refused]) == (5, [6, 7])


def test_who_was_refused_found_the_shard_full() -> None:
    """One shard with one slot: what is under way at the same time comes before or behind the refusal."""
    told = Told()
    told.capacity.shards = 1
    granted = told.fetch(0, 0, 5, early=1)
    refused = told.fetch(0, 0, 0, early=2)
    told.fetch(5, 1, 5)
    closed = told.fetch(5, -1, 0, early=1)
    assert told.capacity.slots == 1
    # The grant was answered first: nothing moves. What ends the session was asked before the refusal, and comes later.
    assert told.capacity.granted_at(granted, 10**9) == 10**9
    answered = refused.asked_ns + 2 * 10**9 + 1
    assert told.capacity.taken_in(5, answered - 10, answered + 10, ends=True) == answered + 1
    assert told.capacity.taken_in(5, answered - 10, answered + 10, ends=False) == answered + 1
    last = closed.asked_ns + 10**9
    assert told.capacity.taken_in(5, last, last + 5, ends=True) == last
    assert told.capacity.doubt(0, refused.asked_ns, answered) == (
        "the order of requests that were sent at the same time"
    )
    late = 120 * 10**9
    assert told.capacity.doubt(0, late, late + 5) == "whether a session was just old enough to be evicted"
    assert told.capacity.doubt(0, 2 * late, 2 * late + 5) == ""


def test_who_was_granted_a_slot_had_it_before_somebody_was_refused() -> None:
    told = Told()
    told.capacity.shards = 1
    early = told.fetch(0, 0, 0)
    granted = told.fetch(0, 0, 5, early=3)
    told.fetch(5, 1, 5)
    assert told.capacity.granted_at(granted, 10**9) == early.asked_ns
