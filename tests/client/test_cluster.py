import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.errors import BrokerError, NetworkError, UsageError
from tests.client.broker import Body, FakeBroker, running

Work = Callable[[Client, FakeBroker], Coroutine[Any, Any, None]]


def inside(broker: FakeBroker, work: Work, **settings: str) -> None:
    async def run() -> None:
        async with running(broker), Client(broker.config(retry_backoff_ms="1", **settings)) as client:
            await work(client, broker)

    asyncio.run(run())


def test_one_connection_serves_all_calls_at_once() -> None:
    async def work(client: Client, broker: FakeBroker) -> None:
        await asyncio.gather(*(client.call(3, {"topics": None}) for _ in range(50)), client.refresh(None))
        assert broker.connections == 1
        await client.call(3, {"topics": None}, node=1)

    inside(FakeBroker(), work)


def test_a_lost_connection_is_made_again() -> None:
    async def work(client: Client, broker: FakeBroker) -> None:
        broker.answers[2] = lambda *_: None
        with pytest.raises(NetworkError, match="closed the connection instead of answering ListOffsets"):
            await client.call(2, {"replicaId": -1, "topics": []})
        await client.refresh()
        assert broker.connections == 2

    inside(FakeBroker(), work)


def test_retries_go_on_while_there_is_hope() -> None:
    codes = [5, 14, 0]

    async def attempt() -> str:
        code = codes.pop(0)
        if code:
            raise BrokerError(code, "E", "no")
        return "done"

    async def work(client: Client, _broker: FakeBroker) -> None:
        assert await client.retrying(attempt) == "done"
        codes[:] = [17, 0]
        with pytest.raises(BrokerError, match="17"):
            await client.retrying(attempt)
        assert codes == [0]

    inside(FakeBroker(), work)


def test_retries_end_with_their_time() -> None:
    async def fail() -> None:
        raise NetworkError("always")

    async def work(client: Client, _broker: FakeBroker) -> None:
        with pytest.raises(NetworkError, match="always"):
            await client.retrying(fail)

    inside(FakeBroker(), work, default_api_timeout_ms="20")
    inside(FakeBroker(), work, retries="2")


def test_a_topic_is_described_once_it_is_there() -> None:
    broker = FakeBroker()
    asked = 0

    def metadata(version: int, body: Body) -> Body:
        nonlocal asked
        asked += 1
        if asked == 3:
            broker.topics["t"] = 2
        return broker.metadata(version, body)

    broker.answers[3] = metadata

    async def work(client: Client, _broker: FakeBroker) -> None:
        await client.describe_topic("t")
        assert asked == 3
        leader = client.leader("t", 1)
        assert leader is not None
        assert leader.node == 1

    inside(broker, work)


def test_a_broker_nobody_knows() -> None:
    async def work(client: Client, _broker: FakeBroker) -> None:
        with pytest.raises(NetworkError, match=r"has no broker 7 now \(it has \[1\]\)"):
            await client.call(3, {"topics": []}, node=7)

    inside(FakeBroker(), work)


def test_the_next_bootstrap_broker_is_tried() -> None:
    async def run() -> None:
        broker = FakeBroker()
        async with running(broker):
            config = ClientConfig({"bootstrap.servers": f"127.0.0.1:1,127.0.0.1:{broker.port}"})
            async with Client(config) as client:
                assert (await client.refresh()).nodes == {1: ("127.0.0.1", broker.port)}

    asyncio.run(run())


def test_none_that_answers_is_the_first_ones_error() -> None:
    async def run() -> None:
        async with Client(ClientConfig({"bootstrap.servers": "127.0.0.1:1,127.0.0.1:2"})):
            pass

    with pytest.raises(NetworkError, match=r"broker 127.0.0.1:1 refused the connection"):
        asyncio.run(run())


def test_no_bootstrap_at_all() -> None:
    with pytest.raises(UsageError, match="--bootstrap"):
        Client(ClientConfig())


def test_a_login_that_is_over_is_done_again() -> None:
    async def work(client: Client, broker: FakeBroker) -> None:
        (address,) = client.bootstrap
        client._ends[address] = asyncio.get_running_loop().time() - 1
        await client.refresh()
        assert broker.connections == 2
        await client.refresh()
        assert broker.connections == 2

    inside(FakeBroker(), work)


def test_metadata_grows_old() -> None:
    async def work(client: Client, _broker: FakeBroker) -> None:
        assert client.is_stale()
        await client.refresh()
        assert not client.is_stale()

    inside(FakeBroker(), work)


def test_version_0_of_metadata_asks_for_all() -> None:
    broker = FakeBroker()
    broker.topics["t"] = 1
    broker.ranges[3] = type(broker.ranges[3])(0, 0)

    async def work(client: Client, _broker: FakeBroker) -> None:
        await client.refresh(["t"])
        assert client.metadata.topics["t"].partitions == 1

    inside(broker, work)


def test_a_connection_idle_for_long_is_made_anew() -> None:
    async def work(client: Client, broker: FakeBroker) -> None:
        await asyncio.sleep(0.05)
        await client.refresh()
        assert broker.connections == 2

    inside(FakeBroker(), work, connections_max_idle_ms="20")
