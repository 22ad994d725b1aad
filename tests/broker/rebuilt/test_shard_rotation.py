"""Whose turn it was: shards by the ids of those who got a session, and by when the others were answered."""

import random

from hypothesis import given
from hypothesis import strategies as st

from kcli.broker.rebuilt.session_capacity import Attempt, turns

MS = 10**6


def test_nobody_asked() -> None:
    assert turns([], 8) == []


def test_answers_that_overtook_each_other() -> None:
    """As in a capture of a busy broker: shard 7 was answered before 5 and 1, and three were refused between."""
    ends = [("-", 338), (1, 338.5), ("-", 339), (4, 339.1), ("-", 339.2), (7, 348), (5, 348.1), (0, 588), ("-", 589)]
    attempts = [Attempt(10 * MS, int(at * MS), shard if isinstance(shard, int) else None) for shard, at in ends]
    attempts[-2:] = [attempts[-2]._replace(asked_ns=400 * MS), attempts[-1]._replace(asked_ns=400 * MS)]
    assert turns(attempts, 8) == [2, 1, 3, 4, 6, 7, 5, 0, 1]


def test_one_shard_has_every_turn() -> None:
    assert turns([Attempt(0, 1, 0), Attempt(2, 3, None)], 1) == [0, 0]


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(0, 7))
def test_who_got_a_session_is_in_its_shard_and_nobody_asks_twice(seed: int, count: int, start: int) -> None:
    rng = random.Random(seed)
    made = []
    for number in range(count):
        asked = number * 10 * MS
        shard = (start + number) % 8 if rng.random() < 0.5 else None
        made.append((Attempt(asked, asked + rng.randrange(1, 35) * MS, shard), (start + number) % 8))
    made.sort(key=lambda each: each[0].answered_ns)
    found = turns([attempt for attempt, _ in made], 8)
    assert all(
        shard == attempt.shard for shard, (attempt, _) in zip(found, made, strict=True) if attempt.shard is not None
    )
    assert all(0 <= shard < 8 for shard in found)
