"""The client: small requests pipelined on one connection, and fetches of 1 kB records, each beside its peers.

    python benchmarks/bench_client.py [HOST:PORT]      without an address: a 4.4.0 broker of its own

Requests: Metadata of no topic, up to 100 under way, kcli beside aiokafka and kafka-python (their connection classes).
Fetch: one partition of 1 kB records read to its end, kcli's consumer beside librdkafka (confluent-kafka). Both make
a Python value of every record; kcli also as whole batches, checked but not taken apart. Rounds are interleaved, after
one that does not count. "awake": with a process of the lowest priority that keeps a core from falling asleep: on
virtual machines waking one costs as much as a request does, and who uses more of the processor sleeps less.
"""

import asyncio
import contextlib
import logging
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.turns import turn
from kcli.client.calls import call
from kcli.client.cluster import Client
from kcli.client.consumer import Consumer
from kcli.client.properties import ClientConfig
from kcli.client.topics import find_topics
from kcli.records import build_batch, scan

ROUNDS = 5
REQUESTS = 10_000
DEPTH = 100
RECORDS = 300_000
SIZE = 1000
BATCH = 500
TOPIC = "bench"
METADATA, PRODUCE = 3, 0


def config(bootstrap: str, **settings: str) -> ClientConfig:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return ClientConfig({"bootstrap.servers": bootstrap, **given})


# --- requests


def kcli_requests(bootstrap: str) -> float:
    async def work() -> float:
        async with Client(config(bootstrap)) as client:
            session = await client.any_session()
            body = {"topics": [], "allowAutoTopicCreation": False}
            under_way: deque[asyncio.Future[object]] = deque()
            start = time.perf_counter()
            for _ in range(REQUESTS):
                under_way.append(call(session.connection, METADATA, 5, body))  # type: ignore[arg-type]
                if len(under_way) >= DEPTH:
                    await under_way.popleft()
            await asyncio.gather(*under_way)
            return REQUESTS / (time.perf_counter() - start)

    return asyncio.run(work())


def aiokafka_requests(bootstrap: str) -> float:
    from aiokafka.conn import create_conn
    from aiokafka.protocol.metadata import MetadataRequest

    async def work() -> float:
        host, _, port = bootstrap.partition(":")
        conn = await create_conn(host, int(port))
        under_way: deque[asyncio.Future[object]] = deque()
        start = time.perf_counter()
        for _ in range(REQUESTS):
            under_way.append(conn.send(MetadataRequest([])))
            if len(under_way) >= DEPTH:
                await under_way.popleft()
        await asyncio.gather(*under_way)
        rate = REQUESTS / (time.perf_counter() - start)
        conn.close()
        return rate

    return asyncio.run(work())


def kafka_python_requests(bootstrap: str) -> float:
    from kafka.net.manager import KafkaConnectionManager
    from kafka.net.selector import NetworkSelector
    from kafka.protocol.metadata import MetadataRequest

    manager = KafkaConnectionManager(
        NetworkSelector(), bootstrap_servers=bootstrap, max_in_flight_requests_per_connection=10 * DEPTH
    )
    manager.bootstrap(timeout_ms=10_000)

    async def work() -> float:
        conn = manager.get_connection(manager.least_loaded_node())
        await conn
        under_way: deque[object] = deque()
        start = time.perf_counter()
        for _ in range(REQUESTS):
            request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
            request.API_VERSION = 5
            under_way.append(conn.send_request(request))
            if len(under_way) >= DEPTH:
                await under_way.popleft()  # type: ignore[misc]
        while under_way:
            await under_way.popleft()  # type: ignore[misc]
        return REQUESTS / (time.perf_counter() - start)

    try:
        return float(manager.run(work))
    finally:
        manager.close()


# --- fetches


async def fill(bootstrap: str) -> None:
    """RECORDS of SIZE bytes in batches of BATCH, once."""
    async with Client(config(bootstrap)) as client:
        await client.refresh([TOPIC])
        if client.leader(TOPIC, 0) is not None:
            return
        await find_topics(client, {TOPIC: 1}, True, lambda _: None)
        now = round(time.time() * 1000)
        batch = build_batch(((now, None, bytes([at % 251]) * SIZE, ()) for at in range(BATCH)), 0)
        body = {"acks": 1, "timeoutMs": 10_000, "topicData": [{"name": TOPIC, "partitionData": [{"records": batch}]}]}

        async def produce() -> None:
            answer = await client.call(PRODUCE, body, node=1, high=12)
            code = answer["responses"][0]["partitionResponses"][0]["errorCode"]
            assert code == 0, code

        await asyncio.sleep(1)
        for _ in range(RECORDS // BATCH):
            await produce()


def kcli_fetches(bootstrap: str, values: bool) -> float:
    async def work() -> float:
        count = seen = 0
        settings = config(bootstrap, max_partition_fetch_bytes=str(4 << 20))
        async with Client(settings) as client:
            start = time.perf_counter()
            consumer = aiter(Consumer(client, {(TOPIC, 0): 0}))
            async for part in consumer:
                for batch in scan(part.records):
                    assert batch.crc_valid
                    count += batch.count
                    if values:
                        seen += len([record.value for record in batch.records()])
                if part.next_offset >= RECORDS:
                    break
            seconds = time.perf_counter() - start
            await consumer.aclose()  # type: ignore[attr-defined]
        assert count == RECORDS
        assert not values or seen == RECORDS
        return RECORDS * SIZE / seconds / 1e6

    return asyncio.run(work())


def librdkafka_fetches(bootstrap: str) -> float:
    from confluent_kafka import Consumer as Confluent
    from confluent_kafka import TopicPartition

    consumer = Confluent(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "check.crcs": True,
            "max.partition.fetch.bytes": 4 << 20,
            "queued.max.messages.kbytes": 1 << 20,
            "queued.min.messages": 1_000_000,
        }
    )
    start = time.perf_counter()
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    seen = 0
    while seen < RECORDS:
        messages = consumer.consume(10_000, 1.0)
        seen += len([message.value() for message in messages])
    seconds = time.perf_counter() - start
    consumer.close()
    return RECORDS * SIZE / seconds / 1e6


@contextlib.contextmanager
def awake() -> Iterator[None]:
    """Let no core fall asleep."""
    loop = subprocess.Popen([sys.executable, "-c", "import os; os.nice(19)\nwhile True: pass"])
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


def rounds(contenders: dict[str, Callable[[], float]], unit: str, ours: str) -> None:
    """Each in turn, ROUNDS times; medians, and the ratio of ours to each peer in the same round."""
    figures: dict[str, list[float]] = {name: [] for name in contenders}
    for contender in contenders.values():
        contender()
    for _ in range(ROUNDS):
        for name, contender in contenders.items():
            turn()
            figures[name].append(contender())
    for name, values in figures.items():
        ratio = statistics.median(mine / other for mine, other in zip(figures[ours], values, strict=True))
        beside = "" if name == ours else f"   {ours} is {ratio:.2f}x"
        print(
            f"   {name:<28} {statistics.median(values):>10,.0f} {unit}  ({min(values):,.0f}-{max(values):,.0f}){beside}"
        )


@contextlib.contextmanager
def broker(addresses: list[str]) -> Iterator[str]:
    if addresses:
        yield addresses[0]
        return
    from tests.real.lab import Cluster

    with Cluster("4.4.0") as cluster:
        yield cluster.bootstrap


def main(addresses: list[str]) -> None:
    logging.disable(logging.CRITICAL)
    with broker(addresses) as bootstrap:
        asyncio.run(fill(bootstrap))
        requests: dict[str, Callable[[], float]] = {
            "kcli": partial(kcli_requests, bootstrap),
            "aiokafka": partial(aiokafka_requests, bootstrap),
            "kafka-python": partial(kafka_python_requests, bootstrap),
        }
        print(f"requests pipelined on one connection (Metadata v5, {DEPTH} under way):")
        rounds(requests, "/s", "kcli")
        print("the same, awake:")
        with awake():
            rounds(requests, "/s", "kcli")
        print(f"fetch of {RECORDS:,} records of {SIZE} bytes, one partition:")
        rounds(
            {
                "kcli, a value each": lambda: kcli_fetches(bootstrap, True),
                "librdkafka, a value each": lambda: librdkafka_fetches(bootstrap),
                "kcli, checked batches": lambda: kcli_fetches(bootstrap, False),
            },
            "MB/s",
            "kcli, a value each",
        )


if __name__ == "__main__":
    main(sys.argv[1:])
