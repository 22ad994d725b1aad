from typing import Any

import pytest

from kcli.client.metadata import Leader, MetadataCache

ENDPOINTS = [{"nodeId": 9, "host": "nine", "port": 9, "rack": None}]


def response(
    leader: int = 1, epoch: int = 5, topic_id: str = "aaaaaaaaaaaaaaaaaaaaaQ", error: int = 0
) -> dict[str, Any]:
    partitions = [{"errorCode": 0, "partitionIndex": 0, "leaderId": leader, "leaderEpoch": epoch}]
    return {
        "clusterId": "c",
        "controllerId": 2,
        "brokers": [{"nodeId": 1, "host": "one", "port": 1}, {"nodeId": 2, "host": "two", "port": 2}],
        "topics": [{"name": "t", "topicId": topic_id, "errorCode": error, "partitions": [] if error else partitions}],
    }


@pytest.fixture
def cache() -> MetadataCache:
    made = MetadataCache()
    made.update(response())
    return made


def test_a_response_is_taken_in(cache: MetadataCache) -> None:
    assert cache.nodes == {1: ("one", 1), 2: ("two", 2)}
    assert cache.leader("t", 0) == Leader(1, 5)
    assert (cache.topic_id("t"), cache.names) == ("aaaaaaaaaaaaaaaaaaaaaQ", {"aaaaaaaaaaaaaaaaaaaaaQ": "t"})
    assert (cache.controller, cache.cluster_id, cache.topics["t"].partitions) == (2, "c", 1)
    assert cache.leader("t", 1) is None
    assert cache.leader("other", 0) is None


def test_late_metadata_does_not_undo_a_newer_leader(cache: MetadataCache) -> None:
    cache.update(response(leader=2, epoch=4))
    assert cache.leader("t", 0) == Leader(1, 5)
    cache.update(response(leader=2, epoch=6))
    assert cache.leader("t", 0) == Leader(2, 6)


def test_old_metadata_without_epochs_counts_always(cache: MetadataCache) -> None:
    cache.update(response(leader=2, epoch=-1))
    assert cache.leader("t", 0) == Leader(2, -1)


def test_a_leader_that_is_gone_is_forgotten(cache: MetadataCache) -> None:
    cache.update(response(leader=-1, epoch=6))
    assert cache.leader("t", 0) is None


def test_a_topic_made_anew_starts_with_any_epoch(cache: MetadataCache) -> None:
    cache.update(response(leader=2, epoch=0, topic_id="bbbbbbbbbbbbbbbbbbbbbQ"))
    assert cache.leader("t", 0) == Leader(2, 0)


def test_a_topic_in_error_keeps_its_leaders(cache: MetadataCache) -> None:
    cache.update(response(error=5))
    assert (cache.topics["t"].error, cache.leader("t", 0)) == (5, Leader(1, 5))


@pytest.mark.parametrize(
    ("hint", "endpoints", "taken"),
    [
        ({"leaderId": 2, "leaderEpoch": 6}, [], True),
        ({"leaderId": 9, "leaderEpoch": 6}, ENDPOINTS, True),
        ({"leaderId": 9, "leaderEpoch": 6}, [], False),  # a node nobody knows
        ({"leaderId": 2, "leaderEpoch": 5}, [], False),  # the epoch that is known
        ({"leaderId": 2, "leaderEpoch": 4}, [], False),  # stale
        ({"leaderId": -1, "leaderEpoch": 6}, [], False),  # the broker does not know either
        ({"leaderId": 2, "leaderEpoch": -1}, [], False),
        ({}, [], False),
    ],
)
def test_kip_951_a_hint_counts_when_its_epoch_is_newer(
    cache: MetadataCache, hint: dict[str, int], endpoints: list[dict[str, Any]], taken: bool
) -> None:
    assert cache.take_hint("t", 0, hint, endpoints) is taken
    assert cache.leader("t", 0) == (Leader(hint["leaderId"], hint["leaderEpoch"]) if taken else Leader(1, 5))
    assert (9 in cache.nodes) == (taken and hint["leaderId"] == 9)


def test_kip_951_a_hint_for_a_topic_nobody_asked_about_is_left(cache: MetadataCache) -> None:
    assert not cache.take_hint("u", 0, {"leaderId": 2, "leaderEpoch": 6})
