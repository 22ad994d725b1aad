import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kcli.client.cluster import Client
from kcli.errors import BrokerError, NetworkError
from kcli.replay.sessions.plan import make_plan
from kcli.replay.sessions.target import Target, find_target
from kcli.replay.topic_mapping import TopicNames
from tests.client.broker import Body, running
from tests.client.fetchable import FetchableBroker
from tests.replay.sessions.made import fetch

PLAN = make_plan([fetch(0, {("t", 1): 0, ("u", 0): 0}, {("t", 1): 0, ("u", 0): 0})])


def found(broker: FetchableBroker, check: Callable[[Target], None] = lambda _: None, **options: Any) -> list[str]:
    reported: list[str] = []

    async def work() -> None:
        async with running(broker), Client(broker.config(retry_backoff_ms="1", default_api_timeout_ms="200")) as client:
            check(await find_target(client, PLAN, TopicNames(), {}, notify=reported.append, **options))

    asyncio.run(work())
    return reported


def test_names_ids_leaders_and_bounds() -> None:
    broker = FetchableBroker({"t": 2, "u": 1})
    broker.logs["t", 1] = 4, 9

    def check(target: Target) -> None:
        assert target.names == {"t": "t", "u": "u"}
        assert target.bounds == {("t", 1): (4, 9), ("u", 0): (0, 10)}
        assert target.live_key(("t", 1), 12) == ("t", 1)
        assert target.live_key(("t", 1), 13) == (broker.id_of("t"), 1)
        assert target.leader(("u", 0)) == 1
        with pytest.raises(NetworkError, match=r"t\[9\] has no leader now"):
            target.leader(("t", 9))

    assert found(broker, check) == []


def test_an_id_that_nothing_names_is_said() -> None:
    plan = make_plan([fetch(0, {("abcdefghijklmnopqrstuv", 0): 0}, {("abcdefghijklmnopqrstuv", 0): 0})])
    reported: list[str] = []

    async def work() -> None:
        broker = FetchableBroker({})
        async with running(broker), Client(broker.config()) as client:
            await find_target(client, plan, TopicNames(), {}, notify=reported.append)

    asyncio.run(work())
    assert "nothing in the capture names topic id abcdefghijklmnopqrstuv" in reported[0]
    assert "made topic abcdefghijklmnopqrstuv with 1 partition:" in reported[1]


def test_a_topic_that_can_not_be_made() -> None:
    broker = FetchableBroker({"u": 1})
    broker.answers[19] = lambda *_: {"topics": [{"name": "t", "errorCode": 29, "errorMessage": "not you"}]}
    with pytest.raises(BrokerError, match=r"topic t can't be made: not you: TOPIC_AUTHORIZATION_FAILED \(29\)"):
        found(broker)


def test_a_leader_that_is_not_ready_is_asked_again() -> None:
    broker = FetchableBroker({"t": 2, "u": 1})
    answer, codes = broker.list_offsets, [6, 6, 0]

    def not_yet(version: int, body: Body) -> Body:
        made = answer(version, body)
        if codes and (code := codes.pop(0)):
            made["topics"][0]["partitions"][0]["errorCode"] = code
        return made

    broker.answers[2] = not_yet
    assert found(broker) == []
    assert codes == []
    broker.answers[2] = lambda version, body: {
        "topics": [{"name": "t", "partitions": [{"partitionIndex": 1, "errorCode": 29}]}]
    }
    with pytest.raises(BrokerError, match=r"offsets of t\[1\]: TOPIC_AUTHORIZATION_FAILED"):
        found(broker)


def test_a_cluster_without_topic_ids_can_not_serve_fetches_by_id() -> None:
    broker = FetchableBroker({"t": 2, "u": 1})
    broker.ranges[3] = type(broker.ranges[3])(0, 9)

    def check(target: Target) -> None:
        with pytest.raises(NetworkError, match="topic t has no id on the cluster"):
            target.live_key(("t", 1), 13)

    found(broker, check)
