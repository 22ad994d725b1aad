"""Pairs of captured and live ids: what is learnt is used, what is not known stays or means unknown."""

import pytest

from kcli.replay.topic_mapping import LiveTopics, TopicNames
from kcli.replay.traffic.identities import Identities, Scope

ID, OTHER = "AAAAAAAAAAAAAAAAAAAAZQ", "AAAAAAAAAAAAAAAAAAAAZg"
PLACE = Scope(group="g", member="m", topic="t", partition=1, producer=7)


def identities(suffix: str = "", **mapping: str) -> Identities:
    names = TopicNames()
    names.names[ID] = "orders"
    topics = LiveTopics(names, mapping)
    topics.put("orders", OTHER)
    topics.put("sales", "AAAAAAAAAAAAAAAAAAAAaA")
    return Identities(topics, suffix)


def test_topics_have_live_names_and_ids() -> None:
    assert identities().live("topic id", ID, Scope()) == OTHER
    assert identities(orders="sales").live("topic id", ID, Scope()) == "AAAAAAAAAAAAAAAAAAAAaA"
    assert identities(orders="sales").live("topic", "orders", Scope()) == "sales"
    assert identities().live("topic id", "AAAAAAAAAAAAAAAAAAAAAA", Scope()) == "AAAAAAAAAAAAAAAAAAAAAA"


@pytest.mark.parametrize(("kind", "scope", "live"), [
    ("group", Scope(), "g-2"), ("transaction", Scope(), "g-2"), ("coordinator", Scope(kind=1), "g-2"),
    ("coordinator", Scope(kind=2), "g"), ("resource", Scope(kind=3), "g"),
])  # fmt: skip
def test_another_client_has_groups_of_its_own(kind: str, scope: Scope, live: str) -> None:
    assert identities("-2").live(kind, "g", scope) == live


@pytest.mark.parametrize(
    ("kind", "captured", "live"),
    [("member", "m-1", "m-9"), ("producer", 7, 900), ("producer epoch", 0, 3), ("generation", 4, 1),
     ("leader epoch", 12, 0)],
)  # fmt: skip
def test_what_an_answer_gave_is_used(kind: str, captured: object, live: object) -> None:
    ids = identities()
    ids.learn(kind, captured, live, PLACE)
    assert ids.live(kind, captured, PLACE) == live


def test_what_is_not_known_stays_but_a_leader_epoch_means_unknown() -> None:
    ids = identities()
    assert [ids.live(kind, 5, PLACE) for kind in ("producer", "generation", "offset")] == [5] * 3
    assert ids.live("leader epoch", 5, PLACE) == -1
    assert ids.live("replica", 2, PLACE) == -1
    ids.cluster, ids.nodes = "live", {1: 101}
    assert ids.live("cluster", "captured", PLACE) == "live"
    assert ids.live("resource", "1", Scope(kind=4)) == "101"


def test_an_epoch_that_no_answer_gave_is_the_one_before() -> None:
    ids = identities()
    ids.learn("producer epoch", 0, 5, PLACE)
    assert [ids.live("producer epoch", epoch, PLACE) for epoch in (-1, 0, 3)] == [-1, 5, 5]


def test_a_generation_of_a_member_is_also_one_of_its_group() -> None:
    ids = identities()
    ids.learn("generation", 4, 9, PLACE)
    assert ids.live("generation", 4, PLACE._replace(member="other")) == 9
    assert ids.live("generation", 4, PLACE._replace(group="other")) == 4


def test_offsets_shift_as_the_nearest_known_one() -> None:
    ids = identities()
    for captured, live in ((100, 0), (110, 10), (120, 50)):
        ids.learn("offset", captured, live, PLACE)
    assert [ids.live("offset", offset, PLACE) for offset in (90, 100, 115, 121, -2)] == [0, 0, 15, 51, -2]
    assert len(ids.shifts["t", 1]) == 2
