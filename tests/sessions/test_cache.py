"""Slots and who gets them."""

import random

import pytest

from kcli.sessions.broker import BrokerSessions
from kcli.sessions.cache import FetchSessionCache
from kcli.sessions.values import FetchRequest, Position, Result

DAY = 24 * 3600 * 1000


def brokers(slots: int, shards: int = 1) -> BrokerSessions:
    return BrokerSessions(FetchSessionCache(slots, shards=shards, rng=random.Random(3)))


def open_session(broker: BrokerSessions, size: int, now: int, replica_id: int = -1) -> int:
    partitions = {("t", index): Position(0) for index in range(size)}
    request = FetchRequest(0, 0, partitions, replica_id=replica_id)
    results = {partition: Result(0, 0, 0) for partition in partitions}
    return broker.begin(request, now).answer(results, now).session_id


def use(broker: BrokerSessions, number: int, now: int) -> int:
    session = broker.cache.get(number)
    assert session is not None
    return broker.begin(FetchRequest(number, session.epoch), now).error


def ids(broker: BrokerSessions) -> set[int]:
    return {session.id for session in broker.cache}


def test_slots_are_spread_over_shards_so_that_few_are_none() -> None:
    assert [len(shard.sessions) for shard in FetchSessionCache(2).shards] == [0] * 8
    assert open_session(brokers(2, shards=8), 1, 0) == 0
    broker = brokers(16, shards=8)
    assert all(open_session(broker, 1, 0) for _ in range(16))
    assert open_session(broker, 1, 0) == 0


def test_a_sessions_id_says_its_shard() -> None:
    broker = brokers(16, shards=8)
    numbers = [open_session(broker, 1, 0) for _ in range(16)]
    assert [number // broker.cache.id_range for number in numbers] == [*range(8)] * 2
    assert all(use(broker, number, 1) == 0 for number in numbers)


def test_who_was_not_used_for_two_minutes_goes_first() -> None:
    """KIP-227: a session that was not used for two minutes makes room for any."""
    broker = brokers(2)
    old, young = open_session(broker, 9, 0), open_session(broker, 1, 0)
    assert open_session(broker, 1, 120_000) == 0
    assert use(broker, young, 100_000) == 0
    new = open_session(broker, 1, 120_001)
    assert new and ids(broker) == {young, new} and old not in ids(broker)
    assert broker.cache.evictions == 1


def test_bigger_sessions_displace_smaller_ones_that_are_old() -> None:
    """KIP-227: a bigger session displaces a smaller one that is old enough."""
    broker = brokers(2)
    big, small = open_session(broker, 5, 0), open_session(broker, 2, 0)
    for now in (60_000, 120_001, 150_000):
        assert use(broker, big, now) == use(broker, small, now) == 0
    assert open_session(broker, 1, 160_000) == 0
    assert open_session(broker, 3, 160_000)
    assert big in ids(broker) and small not in ids(broker)
    assert open_session(broker, 4, 160_000) == 0


@pytest.mark.parametrize("replica_id", [-1, 4])
def test_followers_displace_consumers_at_once(replica_id: int) -> None:
    """KIP-227: privileged sessions, those of followers, displace others."""
    broker = brokers(1)
    consumer = open_session(broker, 50, 0)
    follower = open_session(broker, 1, 1, replica_id)
    assert bool(follower) == (replica_id >= 0)
    assert (consumer in ids(broker)) == (replica_id < 0)
    if follower:
        assert open_session(broker, 99, DAY - 1) and follower not in ids(broker)


def test_consumers_do_not_displace_followers_that_are_in_use() -> None:
    broker = brokers(1)
    follower = open_session(broker, 1, 0, 4)
    for now in range(0, DAY, 60_000):
        use(broker, follower, now)
    assert open_session(broker, 1000, DAY) == 0
    assert open_session(broker, 2, DAY, 5)


def test_a_session_is_filed_by_its_present_size() -> None:
    broker = brokers(1)
    number = open_session(broker, 1, 0)
    more = {("t", index): Position(0) for index in range(10)}
    assert broker.begin(FetchRequest(number, 1, more), 121_000).error == 0
    assert open_session(broker, 5, 121_000) == 0
    assert open_session(broker, 11, 121_000)
