"""The coordinator's assignors: everything is assigned once, evenly, and little moves."""

import random

import pytest

from kcli.broker.groups.consumer.assignors import ASSIGNORS, Assignment, Subscriptions, by_range, uniform

T, U = "t", "u"


def check(members: Subscriptions, counts: dict[str, int], made: Assignment) -> None:
    """Each partition that somebody subscribes to has one owner, who subscribes to it."""
    given = [each for some in made.values() for each in some]
    wanted = {topic for topics in members.values() for topic in topics}
    assert len(given) == len(set(given))
    assert set(given) == {
        (topic, index) for topic, count in counts.items() if topic in wanted for index in range(count)
    }
    assert all(topic in members[member] for member, some in made.items() for topic, _ in some)


def test_ranges() -> None:
    both = frozenset([T, U])
    made = by_range({"a": both, "b": both}, {T: 3, U: 2}, {})
    assert made == {"a": {(T, 0), (T, 1), (U, 0)}, "b": {(T, 2), (U, 1)}}


def test_a_new_member_gets_its_share_and_the_others_keep_theirs() -> None:
    one = frozenset([T])
    first = uniform({"a": one, "b": one}, {T: 6}, {})
    second = uniform({"a": one, "b": one, "c": one}, {T: 6}, first)
    assert {len(each) for each in second.values()} == {2}
    assert second["a"] < first["a"] and second["b"] < first["b"]
    assert uniform({"a": one, "b": one, "c": one}, {T: 6}, second) == second
    assert {len(each) for each in uniform({"a": one, "c": one}, {T: 6}, second).values()} == {3}


@pytest.mark.parametrize("name", ASSIGNORS)
@pytest.mark.parametrize("seed", range(20))
def test_by_chance(name: str, seed: int) -> None:
    chance = random.Random(seed)
    counts = {f"t{at}": chance.randrange(0, 7) for at in range(chance.randrange(1, 6))}
    before: Assignment = {}
    for _ in range(5):
        members = {
            f"m{at}": frozenset(chance.sample(sorted(counts), chance.randrange(0, len(counts) + 1)))
            for at in chance.sample(range(8), chance.randrange(1, 8))
        }
        before = ASSIGNORS[name](members, counts, before)
        check(members, counts, before)


def test_different_subscriptions_are_balanced() -> None:
    made = uniform({"a": frozenset([T]), "b": frozenset([T, U])}, {T: 4, U: 4}, {})
    assert {len(each) for each in made.values()} == {4}
