"""Leaders that move (KIP-951)."""

import asyncio

import pytest

from kcli.client.producing.producer import Producer
from tests.client.producing.work import check_all, numbers, produce
from tests.client.producing.writable import Cluster


@pytest.mark.parametrize("discovery", ["hints", "metadata"])
def test_kip_951_leaders_move_and_nothing_is_lost(discovery: str) -> None:
    cluster = Cluster("t", 6, brokers=3)

    def move(number: int) -> None:
        if number % 40 == 39:
            index = number // 40 % 6
            cluster.move(index, cluster.leaders[index][0] % 3 + 1)

    statistics = produce(cluster, numbers(3000, each=move, key=True), discovery=discovery, batch_size="300")
    check_all(cluster, 3000)
    assert statistics.retries > 5
    assert (statistics.hinted > 5) == (discovery == "hints")


def test_kip_951_a_hint_is_followed_without_backoff_and_metadata_is_asked_for_all_the_same() -> None:
    cluster = Cluster("t", 1, brokers=2)
    slow = {"retry_backoff_ms": "3000", "retry_backoff_max_ms": "3000"}

    async def work(producer: Producer) -> None:
        await numbers(10)(producer)
        await producer.flush()
        cluster.move(0, 2)
        await numbers(10)(producer)
        await producer.flush()
        while sum(key == 3 for broker in cluster.brokers.values() for key, _, _ in broker.requests) < 2:
            await asyncio.sleep(0.01)

    statistics = produce(cluster, work, **slow)
    assert statistics.hinted >= 1
    assert len(cluster.values[0]) == 20
    assert (statistics.client_waits.most or 0) < 1e9
