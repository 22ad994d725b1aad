import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest

from kcli.client.cluster import Client
from kcli.client.routing import ask_leader, moved_partitions, partitions_of
from kcli.errors import UsageError
from tests.client.broker import running
from tests.client.producing.writable import Cluster

LIST = {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0}]}]}
REFUSED = {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "errorCode": 6}]}]}
DONE = {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "errorCode": 0}]}]}


def ask(
    cluster: Cluster, answers: list[Mapping[str, Any] | None], body: Mapping[str, Any] = LIST, api_key: int = 2
) -> list[int]:
    """The nodes that were asked, in turn."""
    asked: list[int] = []

    async def answer(node: int) -> Mapping[str, Any] | None:
        asked.append(node)
        return answers.pop(0) if answers else DONE

    async def work() -> None:
        async with AsyncExitStack() as stack:
            for broker in cluster.brokers.values():
                await stack.enter_async_context(running(broker))
            config = cluster.brokers[1].config(retry_backoff_ms="1")
            client = await stack.enter_async_context(Client(config))
            await ask_leader(client, api_key, body, answer)

    asyncio.run(work())
    return asked


@pytest.mark.parametrize(
    ("api_key", "body"),
    [
        (0, {"topicData": [{"name": "t", "partitionData": [{"index": 3}, {"index": 4}]}]}),
        (1, {"topics": [{"topic": "t", "partitions": [{"partition": 3}, {"partition": 4}]}]}),
        (1, {"topics": [{"topicId": "t", "partitions": [{"partition": 3}, {"partition": 4}]}]}),
        (2, {"topics": [{"name": "t", "partitions": [{"partitionIndex": 3}, {"partitionIndex": 4}]}]}),
    ],
)
def test_partitions_of_requests(api_key: int, body: dict[str, Any]) -> None:
    assert partitions_of(api_key, body) == [("t", 3), ("t", 4)]


def test_partitions_that_moved() -> None:
    hint = {"leaderId": 2, "leaderEpoch": 3}
    part = {"index": 1, "errorCode": 6, "currentLeader": hint}
    fine = {"index": 2, "errorCode": 0}
    response = {"responses": [{"name": "t", "partitionResponses": [part, fine]}]}
    assert moved_partitions(0, response) == [("t", 1, hint)]
    assert moved_partitions(2, REFUSED) == [("t", 0, {})]


def test_the_leader_is_asked() -> None:
    cluster = Cluster("t", 2, brokers=2)
    cluster.move(0, 2)
    assert ask(cluster, []) == [2]
    assert ask(cluster, [None]) == [2]


def test_kip_951_a_hint_is_followed_at_once() -> None:
    cluster = Cluster("t", 1, brokers=3)
    part = {"index": 0, "errorCode": 6, "currentLeader": {"leaderId": 3, "leaderEpoch": 1}}
    moved = {"responses": [{"name": "t", "partitionResponses": [part]}]}
    body = {"topicData": [{"name": "t", "partitionData": [{"index": 0}]}]}
    assert ask(cluster, [moved], body, 0)[:2] == [1, 3]
    assert sum(key == 3 for broker in cluster.brokers.values() for key, _, _ in broker.requests) == 1


def test_without_a_hint_metadata_is_asked() -> None:
    """KIP-951: without a hint the old way: metadata first."""
    cluster = Cluster("t", 1, brokers=2)
    assert ask(cluster, [REFUSED]) == [1, 1]
    assert sum(key == 3 for broker in cluster.brokers.values() for key, _, _ in broker.requests) == 2
    # Not for ever.
    assert len(ask(Cluster("t", 1), [REFUSED] * 99)) == 10


def test_what_has_no_single_leader() -> None:
    cluster = Cluster("t", 2, brokers=2)
    cluster.move(1, 2)
    both = {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0}, {"partitionIndex": 1}]}]}
    with pytest.raises(UsageError, match=r"not 1 of t\[0\], 2 of t\[1\]"):
        ask(cluster, [], both)
    with pytest.raises(UsageError, match="not no partition at all"):
        ask(cluster, [], {"topics": []})
    with pytest.raises(UsageError, match="topic t has no partition 9"):
        ask(cluster, [], {"topics": [{"name": "t", "partitions": [{"partitionIndex": 9}]}]})
    with pytest.raises(UsageError, match="for Produce, Fetch and ListOffsets"):
        ask(cluster, [], LIST, 3)
