"""KIP-951: a producer while the leaders of all partitions move, with hints and with metadata, interleaved.

    python tests/bench/bench_leader_discovery.py [real|embedded]...      default: both

real: Apache Kafka 4.4.0, three nodes. embedded: kcli's own broker, a process of three nodes, where a leader
moves at once.
A topic of 100 partitions; all its leaders move twice in each run (every partition's replicas turn by one, then the
preferred ones are elected). Figures of each run: p99.9 of produce latency, and the part that the client causes: from a
leader error's arrival to the retry's leaving.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from kcli.client.cluster import Client
from kcli.client.producing.producer import DISCOVERIES, Producer
from kcli.client.producing.statistics import Statistics
from kcli.client.properties import ClientConfig

ROUNDS = 5
PARTITIONS = 100
SECONDS = 9.0
RATE = 1500
SIZE = 1000
ALTER_REASSIGNMENTS, ELECT_LEADERS, CREATE_TOPICS = 45, 43, 19
NODES = (1, 2, 3)


async def make_topic(client: Client, topic: str) -> None:
    assignments = [{"partitionIndex": at, "brokerIds": replicas(at, 0)} for at in range(PARTITIONS)]
    made = {"name": topic, "numPartitions": -1, "replicationFactor": -1, "assignments": assignments, "configs": []}
    answer = await client.call(CREATE_TOPICS, {"topics": [made], "timeoutMs": 30_000})
    assert answer["topics"][0]["errorCode"] == 0, answer
    await client.describe_topic(topic)


def replicas(partition: int, turn: int) -> list[int]:
    return [NODES[(partition + turn + at) % len(NODES)] for at in range(len(NODES))]


async def move_leaders(client: Client, topic: str, turn: int) -> None:
    """The same replicas in another order, so that no data moves; then the first of each leads."""
    parts = [{"partitionIndex": at, "replicas": replicas(at, turn)} for at in range(PARTITIONS)]
    body = {"timeoutMs": 30_000, "topics": [{"name": topic, "partitions": parts}]}
    answer = await client.call(ALTER_REASSIGNMENTS, body)
    assert answer["errorCode"] == 0, answer
    elected = [{"topic": topic, "partitions": list(range(PARTITIONS))}]
    answer = await client.call(ELECT_LEADERS, {"electionType": 0, "topicPartitions": elected, "timeoutMs": 30_000})
    assert answer["errorCode"] == 0, answer


async def run(bootstrap: str, topic: str, discovery: str) -> Statistics:
    config = ClientConfig({"bootstrap.servers": bootstrap, "batch.size": "16384"})
    async with Client(config) as admin, Client(config) as client:
        await make_topic(admin, topic)
        async with Producer(client, topic, discovery=discovery) as producer:
            loop = asyncio.get_running_loop()
            start, sent, moved = loop.time(), 0, 0
            moving: list[asyncio.Task[None]] = []
            while (now := loop.time() - start) < SECONDS:
                if moved < 2 and now > SECONDS * (moved + 1) / 3:
                    moved += 1
                    moving.append(asyncio.create_task(move_leaders(admin, topic, moved)))
                while sent < now * RATE:
                    await producer.send(None, bytes(SIZE), sent % PARTITIONS)
                    sent += 1
                await asyncio.sleep(0.001)
            await asyncio.gather(*moving)
        assert producer.statistics.records == sent
        return producer.statistics


def measure(name: str, bootstrap: str) -> None:
    latencies: dict[str, list[float]] = {each: [] for each in DISCOVERIES}
    waits: dict[str, list[float]] = {each: [] for each in DISCOVERIES}
    for number in range(ROUNDS):
        for discovery in DISCOVERIES:
            done = asyncio.run(run(bootstrap, f"moving-{discovery}-{number}-{time.time_ns()}", discovery))
            latencies[discovery].append(done.latencies.percentile(0.999) or 0.0)
            waits[discovery].append(done.client_waits.percentile(0.5) or 0.0)
            print(
                f"   {discovery:<9} p99.9 {latencies[discovery][-1]:8.1f} ms   client's part p50"
                f" {waits[discovery][-1]:7.2f} ms, p99 {done.client_waits.percentile(0.99) or 0:7.2f} ms"
                f"   {done.retries} retries, {done.hinted} by hint"
            )
    for what, figures in (("p99.9 of produce latency", latencies), ("client's part (p50)", waits)):
        old, new = (statistics.median(figures[each]) for each in ("metadata", "hints"))
        print(f"{name}: {what}: metadata {old:,.1f} ms, hints {new:,.2f} ms: {100 * (new - old) / old:+.1f} %")


@contextlib.contextmanager
def clusters(kind: str) -> Iterator[str]:
    if kind == "real":
        from tests.real.lab import Cluster

        with Cluster("4.4.0", 3, config={"min.insync.replicas": 1, "auto.leader.rebalance.enable": "false"}) as cluster:
            yield cluster.bootstrap
        return
    command = [sys.executable, "-m", "kcli.cli", "broker", "serve", "--nodes", "3", "--port", "0", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip().partition("=")[2]
        finally:
            server.terminate()


def main(kinds: list[str]) -> None:
    for kind in kinds or ["embedded", "real"]:
        with clusters(kind) as bootstrap:
            print(f"{kind}: {PARTITIONS} partitions, all leaders moved twice, {RATE} records/s of {SIZE} bytes")
            measure(kind, bootstrap)


if __name__ == "__main__":
    main(sys.argv[1:])
