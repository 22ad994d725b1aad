"""The producer against real brokers: what it writes Kafka finds sound, and moving leaders lose and double nothing."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from benchmarks.moves import move_leaders, replicas
from kcli.client.cluster import Client
from kcli.client.consumer import Consumer
from kcli.client.producing.producer import Producer
from kcli.client.properties import ClientConfig
from kcli.records import scan
from tests.inside import kcli
from tests.real.lab import Cluster

PARTITIONS = 100
RECORDS = 4000


@pytest.fixture(params=["kafka_44", "kafka_39"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    made: Cluster = request.getfixturevalue(request.param)
    return made


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_kafka_finds_what_is_written_sound(cluster: Cluster, codec: str) -> None:
    topic = f"produced-{codec}"
    words = ["produce", topic, "--bootstrap", cluster.bootstrap]
    words += ["--key-separator", "=", "--compression", codec, "--config", "batch.size=2000", "--format", "json"]
    lines = "".join(f"key{number % 7}=value {number} of it\n" for number in range(500))
    done = kcli(*words, stdin=lines)
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)
    assert (row["records"], row["retries"]) == (500, 0)
    dump = cluster.dump_log(*cluster.log_dir(topic).glob("*.log"))
    batches = [line for line in dump.splitlines() if line.startswith("baseOffset:")]
    assert len(batches) > 3
    for line in batches:
        assert f"compresscodec: {codec}" in line
        assert "isvalid: true" in line
        assert "producerId: -1" not in line
        assert "producerEpoch: 0" in line
    sequences = [int(found) for line in batches for found in re.findall(r"baseSequence: (\d+)", line)]
    assert sequences == [int(found) for line in batches for found in re.findall(r"baseOffset: (\d+)", line)]
    assert [int(found) for found in re.findall(r"payload: value (\d+) of it", dump)] == list(range(500))


@pytest.mark.parametrize("acks", ["0", "1"])
def test_fewer_acks(kafka_44: Cluster, acks: str) -> None:
    topic = f"produced-acks-{acks}"
    done = kcli(
        "produce",
        topic,
        "--bootstrap",
        kafka_44.bootstrap,
        "--num-records",
        "2000",
        "--record-size",
        "50",
        "--acks",
        acks,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2000 records sent, ")
    assert len(asyncio.run(read(kafka_44.bootstrap, topic, 1, 2000))[0]) == 2000


async def read(bootstrap: str, topic: str, partitions: int, enough: int) -> dict[int, list[bytes]]:
    """Values by partition, until there are so many."""
    values: dict[int, list[bytes]] = {index: [] for index in range(partitions)}
    async with asyncio.timeout(60), Client(ClientConfig({"bootstrap.servers": bootstrap})) as client:
        consumer = aiter(Consumer(client, {(topic, index): 0 for index in range(partitions)}))
        async for part in consumer:
            batches = scan(part.records)
            values[part.partition] += [record.value or b"" for batch in batches for record in batch.records()]
            if sum(map(len, values.values())) >= enough:
                break
        await consumer.aclose()  # type: ignore[attr-defined]
    return values


def test_kip_951_leaders_move_and_nothing_is_lost_or_doubled(three_44: Cluster) -> None:
    async def produce(discovery: str) -> tuple[int, int]:
        topic = f"moving-{discovery}"
        config = ClientConfig({"bootstrap.servers": three_44.bootstrap})
        async with Client(config) as admin, Client(config) as client:
            assignments = [{"partitionIndex": at, "brokerIds": replicas(at, 0)} for at in range(PARTITIONS)]
            made = {"name": topic, "numPartitions": -1, "replicationFactor": -1, "assignments": assignments}
            answer = await admin.call(19, {"topics": [{**made, "configs": []}], "timeoutMs": 30_000})
            assert answer["topics"][0]["errorCode"] == 0
            await admin.describe_topic(topic)
            async with Producer(client, topic, discovery=discovery) as producer:
                moving: list[asyncio.Task[None]] = []
                for number in range(RECORDS):
                    if number % (RECORDS // 3) == RECORDS // 6:
                        moving.append(asyncio.create_task(move_leaders(admin, topic, len(moving) + 1)))
                    await producer.send(None, str(number).encode(), number % PARTITIONS)
                    if not number % 8:
                        await asyncio.sleep(0.01)
                await asyncio.gather(*moving)
        assert producer.statistics.records == RECORDS
        values = await read(three_44.bootstrap, topic, PARTITIONS, RECORDS)
        for index, found in values.items():
            assert [int(value) for value in found] == list(range(index, RECORDS, PARTITIONS))
        return producer.statistics.retries, producer.statistics.hinted

    retries, hinted = asyncio.run(produce("hints"))
    assert retries >= hinted > 0
    retries, hinted = asyncio.run(produce("metadata"))
    assert retries > 0
    assert hinted == 0
