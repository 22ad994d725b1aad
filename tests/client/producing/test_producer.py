import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from kcli.client.cluster import Client
from kcli.client.producing.producer import Producer
from kcli.client.producing.statistics import Statistics
from kcli.errors import BrokerError, InputError, NetworkError, UsageError
from tests.client.broker import Body, running
from tests.client.producing.writable import Cluster

Work = Callable[[Producer], Awaitable[None]]


def produce(cluster: Cluster, work: Work, *, discovery: str = "hints", **settings: str) -> Statistics:
    async def inside() -> Statistics:
        async with AsyncExitStack() as stack:
            for broker in cluster.brokers.values():
                await stack.enter_async_context(running(broker))
            given = {"retry_backoff_ms": "5", "linger_ms": "0", **settings}
            client = await stack.enter_async_context(Client(cluster.brokers[1].config(**given)))
            async with Producer(client, cluster.topic, discovery=discovery) as producer:
                await work(producer)
            return producer.statistics

    return asyncio.run(asyncio.wait_for(inside(), 20))


def numbers(count: int, *, each: Callable[[int], None] | None = None, key: bool = False) -> Work:
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


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_arrive_once_and_in_order(codec: str) -> None:
    cluster = Cluster("t", 4)
    statistics = produce(cluster, numbers(1000, key=True), compression_type=codec, batch_size="500")
    check_all(cluster, 1000)
    assert (statistics.records, statistics.retries, statistics.failed) == (1000, 0, 0)
    assert statistics.latencies.count == 1000


def test_a_partition_of_choice_and_nulls() -> None:
    cluster = Cluster("t", 4)

    async def work(producer: Producer) -> None:
        await producer.send(b"k", None, 3)

    produce(cluster, work)
    assert cluster.values == {0: [], 1: [], 2: [], 3: [None]}


def test_keyless_records_take_turns_by_batch() -> None:
    cluster = Cluster("t", 3)
    produce(cluster, numbers(600), batch_size="300", linger_ms="50")
    check_all(cluster, 600)
    assert all(len(values) > 100 for values in cluster.values.values())


def test_keyless_records_take_turns_when_each_is_a_batch_of_its_own() -> None:
    """KIP-794: a slow producer fills no batch, and still writes to all partitions."""
    cluster = Cluster("t", 3)

    async def work(producer: Producer) -> None:
        for number in range(30):
            await producer.send(None, str(number).encode() * 60)
            await producer.flush()

    produce(cluster, work, batch_size="500", linger_ms="0")
    assert all(len(values) > 5 for values in cluster.values.values())


def test_without_idempotence() -> None:
    cluster = Cluster("t", 1)
    produce(cluster, numbers(100), enable_idempotence="false")
    assert sorted(map(int, filter(None, cluster.values[0]))) == list(range(100))
    assert not any(key == 22 for key, _, _ in cluster.brokers[1].requests)


def test_no_acks_no_answers() -> None:
    cluster = Cluster("t", 1)
    take = cluster.brokers[1].produce

    async def work(producer: Producer) -> None:
        await numbers(200)(producer)
        await producer.flush()
        while len(cluster.values[0]) < 200:
            await asyncio.sleep(0.01)

    def unanswered(version: int, body: Body) -> Body:
        take(version, body)
        return {"responses": []}

    cluster.brokers[1].answers[0] = unanswered
    cluster.brokers[1].silent = {0}
    statistics = produce(cluster, work, acks="0")
    check_all(cluster, 200)
    assert statistics.records == 200


@pytest.mark.parametrize("seed", range(3))
def test_errors_that_heal_lose_and_double_nothing(seed: int) -> None:
    cluster = Cluster("t", 2)
    errors = cluster.brokers[1].errors
    statistics = produce(
        cluster,
        numbers(
            2000, each=lambda number: errors.append([0, 7, 0, 19, 0][(number + seed) % 5]) if number % 7 == 0 else None
        ),
        batch_size="400",
    )
    check_all(cluster, 2000)
    assert statistics.retries > 3


def test_an_answer_that_was_lost_is_a_duplicate_and_counts() -> None:
    cluster = Cluster("t", 1)
    broker, count = cluster.brokers[1], 0
    take = broker.produce

    def lose_one(version: int, body: Body) -> Body | None:
        nonlocal count
        count += 1
        made = take(version, body)
        return None if count == 2 else made

    broker.answers[0] = lose_one
    statistics = produce(cluster, numbers(300), batch_size="400")
    check_all(cluster, 300)
    assert statistics.retries >= 1


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


def test_a_hint_that_is_not_newer_backs_off() -> None:
    """KIP-951: a hint with an epoch that is not newer changes nothing: the old way, with backoff."""
    cluster = Cluster("t", 1)
    broker = cluster.brokers[1]
    take, count = broker.produce, 0

    def stale(version: int, body: Body) -> Body:
        nonlocal count
        count += 1
        if count > 1:
            return take(version, body)
        part = {"index": 0, "errorCode": 6, "currentLeader": {"leaderId": 1, "leaderEpoch": 0}}
        return {"responses": [{"name": "t", "partitionResponses": [part]}]}

    broker.answers[0] = stale
    statistics = produce(cluster, numbers(5), retry_backoff_ms="100", retry_backoff_max_ms="100")
    assert (statistics.retries, statistics.hinted) == (1, 0)
    assert statistics.latencies.most >= 75e6


def test_an_error_that_does_not_heal_is_raised() -> None:
    cluster = Cluster("t", 1)
    cluster.brokers[1].errors.append(10)
    with pytest.raises(BrokerError, match=r"t\[0\]: MESSAGE_TOO_LARGE \(10\)"):
        produce(cluster, numbers(5))
    cluster.brokers[1].errors += [7] * 1000
    with pytest.raises(NetworkError, match=r"not delivered within 0.1 s \(delivery.timeout.ms\)"):
        produce(cluster, numbers(5), delivery_timeout_ms="100")
    with pytest.raises(NetworkError, match=r"t\[0\]: refused 3 times"):
        produce(cluster, numbers(5), retries="2")


def test_memory_is_bounded() -> None:
    cluster = Cluster("t", 1)
    most = 0

    async def work(producer: Producer) -> None:
        nonlocal most
        for number in range(2000):
            await producer.send(None, str(number).encode().rjust(100, b"0"))
            most = max(most, producer.accumulator.bytes)

    produce(cluster, work, buffer_memory="10000", batch_size="1000")
    check_all(cluster, 2000)
    assert most <= 10_000 + 200


def test_idempotence_that_can_not_be() -> None:
    with pytest.raises(UsageError, match=r"enable.idempotence needs acks=all"):
        produce(Cluster("t", 1), numbers(1), acks="1", enable_idempotence="true")
    statistics = produce(Cluster("t", 1), numbers(10), acks="1")
    assert statistics.records == 10


def test_a_buffer_that_stays_full_and_a_record_that_is_too_large() -> None:
    cluster = Cluster("t", 1)
    cluster.brokers[1].silent = {0}
    with pytest.raises(NetworkError, match=r"buffer.memory stayed full for 0.05 s \(max.block.ms\)"):
        produce(cluster, numbers(1000), buffer_memory="1000", max_block_ms="50")

    async def too_large(producer: Producer) -> None:
        await producer.send(None, bytes(101))

    with pytest.raises(InputError, match=r"a record of 101 bytes is more than max.request.size"):
        produce(Cluster("t", 1), too_large, max_request_size="100")


def test_a_broker_that_refuses_only_the_very_first_batch_does_not_get_the_second_before_it() -> None:
    cluster = Cluster("t", 1)
    cluster.brokers[1].errors += [6]
    produce(cluster, numbers(100), batch_size="100")
    check_all(cluster, 100)
