"""Which brokers a fetcher is connected to."""

import asyncio

import pytest

from kcli.errors import NetworkError
from kcli.replay.sessions.outcome import pairs
from kcli.replay.sessions.plan import make_plan
from kcli.replay.sessions.runner import FetchOptions, FetchReplay, replay
from kcli.replay.topic_mapping import TopicNames
from tests.client.broker import running
from tests.client.fetchable import FetchableBroker
from tests.replay.sessions.made import fetch

T0, T1 = ("t", 0), ("t", 1)


def test_a_session_without_partitions_is_fetched_from_some_broker() -> None:
    captured = [fetch(0, granted=7), fetch(1, session=(7, 1), granted=7)]

    async def work(broker: FetchableBroker) -> None:
        async with running(broker):
            plan = make_plan(captured)
            (pair, *_) = pairs(
                await replay(FetchReplay(plan, TopicNames(), broker.config(), FetchOptions(scale=None))), {}, "none"
            )
        assert not pair.live.errors and [key for key, _, _ in broker.requests].count(1) == 2

    asyncio.run(work(FetchableBroker({"t": 1})))


def test_a_cluster_without_a_broker_is_said() -> None:
    broker = FetchableBroker({"t": 1})
    broker.answers[3] = lambda version, body: {**FetchableBroker.metadata(broker, version, body), "brokers": []}

    async def work() -> None:
        async with running(broker):
            await replay(
                FetchReplay(make_plan([fetch(0, granted=7)]), TopicNames(), broker.config(), FetchOptions(scale=None))
            )

    with pytest.raises(NetworkError, match="the cluster names no broker"):
        asyncio.run(work())
