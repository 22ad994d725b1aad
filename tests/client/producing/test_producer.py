"""What a producer does with records, and when it raises."""

import pytest

from kcli.client.producing.producer import Producer
from kcli.errors import InputError, NetworkError, UsageError
from tests.client.producing.work import check_all, numbers, produce
from tests.client.producing.writable import Cluster


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
