import asyncio

import pytest

from kcli.broker.broker import Broker
from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.errors import NetworkError
from kcli.records import build_batch
from kcli.replay.sessions.outcome import Pair, pairs
from kcli.replay.sessions.plan import make_plan
from kcli.replay.sessions.runner import FetchOptions, FetchReplay, replay
from kcli.replay.topic_mapping import TopicNames
from kcli.sessions.draft_exchange import DIALECT
from kcli.sessions.fetch_exchange import Captured
from tests.client.broker import running
from tests.client.fetchable import FetchableBroker
from tests.replay.sessions.made import fetch

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
CAPTURED = [
    fetch(0, {T0: 0, T1: 0}, {T0: 9, T1: 9}, granted=7),
    fetch(1, {T0: 5}, {T0: 9}, session=(7, 1), granted=7),
    fetch(2, {}, {}, session=(7, 2), granted=7),
    fetch(3, {U0: 0}, {U0: 9}, session=(7, 3), granted=7),
    fetch(4, {}, {}, session=(7, 4), granted=7),
]


async def fill(client: Client, topic: str, partition: int) -> None:
    records = build_batch(((1_700_000_000_000, None, b"v", ()) for _ in range(3)), 0)
    data = [{"name": topic, "partitionData": [{"index": partition, "records": records}]}]
    answer = await client.call(0, {"acks": -1, "timeoutMs": 1000, "topicData": data}, high=12)
    assert answer["responses"][0]["partitionResponses"][0]["errorCode"] == 0


def run(captured: list[Captured], nodes: int = 1) -> list[Pair]:
    async def work() -> list[Pair]:
        config = {"auto.create.topics.enable": "true", "num.partitions": "2", "log.retention.ms": "-1"}
        async with Broker(dialect=DIALECT, nodes=nodes, config=config) as broker:
            settings = ClientConfig({"bootstrap.servers": broker.bootstrap})
            async with Client(settings, DIALECT) as client:
                for topic, count in (("t", 2), ("u", 1)):
                    await client.describe_topic(topic, create=True)
                    for index in range(count):
                        leader = client.leader(topic, index)
                        assert leader is not None
                        if nodes == 1:
                            await fill(client, topic, index)
            done = await replay(
                FetchReplay(make_plan(captured), TopicNames(), settings, FetchOptions(scale=None, mode="draft"))
            )
        return list(pairs(done, {}, "none"))

    return asyncio.run(work())


def test_captured_fetches_in_the_draft() -> None:
    (pair,) = run(CAPTURED)
    assert pair.problems == []
    # One full fetch to begin with, and one for the other set of partitions.
    assert pair.live.kinds == {"full": 2, "incremental": 3}
    assert pair.live.granted == 2
    assert pair.live.delivered.keys() == {"t[0]", "t[1]", "u[0]"}
    assert pair.live.errors == {}


def test_several_leaders() -> None:
    (pair,) = run(CAPTURED, nodes=3)
    assert pair.problems == []
    assert pair.live.lost == 0


def test_two_fetchers_of_one_client_do_not_shut_each_other_out() -> None:
    other = [fetch(each, {T0: each}, {T0: 9}, session=(8, each), granted=8, connection="s:1-c:2") for each in range(3)]
    found = run([*CAPTURED, *other])
    assert [pair.problems for pair in found] == [[], []]


def test_a_broker_that_does_not_speak_it() -> None:
    async def work() -> None:
        broker = FetchableBroker({"t": 2, "u": 1})
        async with running(broker):
            await replay(
                FetchReplay(make_plan(CAPTURED), TopicNames(), broker.config(), FetchOptions(scale=None, mode="draft"))
            )

    with pytest.raises(NetworkError, match="does not speak the draft kip-227-draft"):
        asyncio.run(work())
