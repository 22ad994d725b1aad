"""What a test has a producer do, and whether all of it arrived."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from kcli.client.cluster import Client
from kcli.client.producing.producer import Producer
from kcli.client.producing.statistics import Statistics
from tests.client.broker import running
from tests.client.producing.writable import Cluster

Work = Callable[[Producer], Awaitable[None]]


def produce(cluster: Cluster, work: Work, *, discovery: str = "hints", **settings: str) -> Statistics:
    """Run a producer at a cluster. settings: with _ for the dots of their names."""

    async def inside() -> Statistics:
        async with AsyncExitStack() as stack:
            for broker in cluster.brokers.values():
                await stack.enter_async_context(running(broker))
            given = {"retry_backoff_ms": "5", "linger_ms": "0", **settings}
            client = await stack.enter_async_context(Client(cluster.brokers[1].config(**given)))
            async with Producer(client, cluster.topic, discovery=discovery) as producer:
                await work(producer)
            return producer.statistics

    return asyncio.run(asyncio.wait_for(inside(), 120))


def numbers(count: int, *, each: Callable[[int], None] | None = None, key: bool = False) -> Work:
    """Send the numbers from 0 on. each: called before each. key: with one of 17 keys."""

    async def work(producer: Producer) -> None:
        for number in range(count):
            if each is not None:
                each(number)
            await producer.send(str(number % 17).encode() if key else None, str(number).encode())
            if not number % 50:
                await asyncio.sleep(0.001)

    return work


def check_all(cluster: Cluster, count: int) -> None:
    """Every number is there once, each partition's in order."""
    found = [[int(value or b"-1") for value in values] for values in cluster.values.values()]
    assert sorted(number for values in found for number in values) == list(range(count))
    assert all(values == sorted(values) for values in found)
