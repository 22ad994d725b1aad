"""What KIP-1018 and KIP-630 gain, on the embedded broker.

KIP-1018: 1 GiB read back from the remote tier of one partition, 20 ms a remote read, 1 MB and 4 MB a partition; and the
largest share of a local partition in such a fetch, beside what raising max.partition.fetch.bytes makes of it.
KIP-630: a snapshot of a million partitions fetched by `kcli snapshot fetch`: MB/s, and memory on both sides.

    python -m benchmarks.bench_broker_kips [--megabytes N] [--partitions N]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.turns import peak_memory, turn
from kcli.client.address import parse_bootstrap
from kcli.client.calls import call, call_of
from kcli.client.connection import BrokerConnection
from kcli.client.offsets import next_offset
from kcli.client.properties import ClientConfig
from kcli.records import build_batch
from tests.broker.processes import served

CREATE_TOPICS, PRODUCE, FETCH, METADATA = 19, 0, 1, 3
DIALECT = "kip-1018"
LATENCY_MS = 20
# The KIP's consumer: 64 partitions, 16 of them led by one broker.
LOCAL = 15
MOST_AT_ONCE = 10_000  # partitions that a request may make
CONFIGS = {"remote.storage.enable": "true", "local.retention.bytes": "1000000", "segment.bytes": str(64 << 20)}


async def connect(bootstrap: str) -> BrokerConnection:
    config = ClientConfig({"bootstrap.servers": bootstrap, "request.timeout.ms": "600000"})
    return await BrokerConnection.open(parse_bootstrap([bootstrap])[0], config)


async def make(connection: BrokerConnection, name: str, partitions: int, configs: dict[str, str]) -> str:
    """The id of a new topic."""
    rows = [{"name": name, "value": value} for name, value in configs.items()]
    topic = {"name": name, "numPartitions": partitions, "replicationFactor": 1, "configs": rows}
    made = await call(connection, CREATE_TOPICS, 7, {"topics": [topic], "timeoutMs": 1000})
    return str(made["topics"][0]["topicId"])


async def fill(connection: BrokerConnection, name: str, partition: int, megabytes: int) -> None:
    records = build_batch([(1, None, os.urandom(1000), ())] * 250)
    data = [{"name": name, "partitionData": [{"index": partition, "records": records}]}]
    for _ in range(megabytes * 4):
        answer = await call(connection, PRODUCE, 9, {"acks": 1, "timeoutMs": 1000, "topicData": data})
        assert answer["responses"][0]["partitionResponses"][0]["errorCode"] == 0


async def local_start(connection: BrokerConnection) -> int:
    """Where the local part of the log begins (KIP-405: timestamp -4)."""
    rows = [{"partitionIndex": 0, "timestamp": -4}]
    answer = await call(connection, 2, 8, {"replicaId": -1, "topics": [{"name": "t", "partitions": rows}]})
    return int(answer["topics"][0]["partitions"][0]["offset"])


async def read_back(connection: BrokerConnection, topic_id: str, until: int, remote: int) -> tuple[int, int, float]:
    """(requests, bytes, seconds) to read up to an offset."""
    made = call_of(FETCH, 18, DIALECT)
    offset = requests = size = 0
    turn()
    start = time.perf_counter()
    while offset < until:
        row = {"partition": 0, "fetchOffset": offset, "partitionMaxBytes": 1 << 20, "remotePartitionMaxBytes": remote}
        body: dict[str, Any] = {"maxWaitMs": 0, "minBytes": 1, "topics": [{"topicId": topic_id, "partitions": [row]}]}
        correlation = connection.next_correlation()
        frame = made.encode(correlation, "bench", body)
        answer = made.decode(await connection.exchange(frame, correlation, "fetch"))
        records = answer["responses"][0]["partitions"][0]["records"]
        offset = next_offset(records, offset)
        requests += 1
        size += len(records)
    return requests, size, time.perf_counter() - start


async def shares(connection: BrokerConnection, tiered: str, local: str, most: int, remote: int) -> tuple[int, int]:
    """(bytes of the remote partition, the largest share of a local one) in one fetch of both."""

    def topic(topic_id: str, partitions: int) -> dict[str, Any]:
        limits = {"fetchOffset": 0, "partitionMaxBytes": most, "remotePartitionMaxBytes": remote}
        return {"topicId": topic_id, "partitions": [{"partition": index, **limits} for index in range(partitions)]}

    body = {"maxWaitMs": 0, "minBytes": 1, "maxBytes": 50 << 20, "topics": [topic(tiered, 1), topic(local, LOCAL)]}
    answer = await call(connection, FETCH, 18, body, dialect=DIALECT)
    sizes = [[len(each["records"]) for each in one["partitions"]] for one in answer["responses"]]
    return sizes[0][0], max(sizes[1])


async def bench_remote(bootstrap: str, megabytes: int) -> None:
    connection = await connect(bootstrap)
    topic_id = await make(connection, "t", 1, CONFIGS)
    await fill(connection, "t", 0, megabytes + 64)
    local_id = await make(connection, "local", LOCAL, {})
    for index in range(LOCAL):
        await fill(connection, "local", index, 5)
    print(f"   KIP-1018: {megabytes} MB back from remote storage, {LATENCY_MS} ms a remote read")
    figures = {}
    until = await local_start(connection)
    for remote in (1 << 20, 4 << 20):
        requests, size, seconds = await read_back(connection, topic_id, until, remote)
        figures[remote] = requests, seconds
        print(
            f"   {remote >> 20} MB a partition: {requests:6} requests {seconds:8.3f} s {size / 1e6 / seconds:7.0f} MB/s"
        )
    one, four = figures.values()
    print(f"   1 MB / 4 MB: {one[0] / four[0]:.2f} times the requests, {one[1] / four[1]:.2f} times as long")
    print(f"   a fetch of 50 MB, one partition remote and {LOCAL} local:")
    for what, most, remote in (
        ("max.partition.fetch.bytes=1 MB, remote.max.partition.fetch.bytes=4 MB", 1 << 20, 4 << 20),
        ("max.partition.fetch.bytes=4 MB", 4 << 20, 4 << 20),
    ):
        far, near = await shares(connection, topic_id, local_id, most, remote)
        print(f"   {what}: remote {far / (1 << 20):.2f} MB, largest local share {near / (1 << 20):.2f} MB")
    await connection.close()


def bench_snapshot(partitions: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # 90 bytes a record of a partition: one snapshot, once they are all there.
        options = ["--config", f"controller.snapshot.minimum.records={partitions}"]
        with served(*options, data=Path(folder) / "data") as broker:
            start = time.perf_counter()
            asyncio.run(make_many(broker.bootstrap, partitions))
            made = time.perf_counter() - start
            before = peak_memory(broker.process.pid)
            out = Path(folder) / "out"
            turn()
            command = [sys.executable, "-m", "kcli.cli", "snapshot", "fetch", "--bootstrap", broker.bootstrap]
            start = time.perf_counter()
            client = subprocess.Popen([*command, "-o", str(out), "--quiet"], stdout=subprocess.DEVNULL)
            most = 0
            while client.poll() is None:
                most = max(most, resident(client.pid))
                time.sleep(0.01)
            seconds = time.perf_counter() - start
            assert client.returncode == 0
            size = sum(path.stat().st_size for path in out.glob("*.checkpoint"))
            print(f"   KIP-630: {partitions:,} partitions made, and their snapshot, in {made:.1f} s")
            print(
                f"   fetched and verified: {size / 1e6:.0f} MB in {seconds:.3f} s, {size / 1e6 / seconds:.0f} MB/s; "
                f"kcli {most} MiB, broker {peak_memory(broker.process.pid) - before} MiB more than before"
            )


def resident(pid: int) -> int:
    try:
        return peak_memory(pid)
    except (OSError, IndexError):
        return 0


async def make_many(bootstrap: str, partitions: int) -> None:
    connection = await connect(bootstrap)
    shape = {"numPartitions": min(MOST_AT_ONCE, partitions), "replicationFactor": 1}
    names = [*(f"t{at}" for at in range(-(-partitions // MOST_AT_ONCE))), "last"]
    for name in names:
        answer = await call(connection, CREATE_TOPICS, 7, {"topics": [shape | {"name": name}], "timeoutMs": 600_000})
        assert answer["topics"][0]["errorCode"] == 0, answer["topics"][0]["errorMessage"]
    await connection.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--megabytes", type=int, default=1024)
    options.add_argument("--partitions", type=int, default=1_000_000)
    given = options.parse_args()
    with served("--schema", DIALECT, "--config", f"remote.read.latency.ms={LATENCY_MS}") as broker:
        asyncio.run(bench_remote(broker.bootstrap, given.megabytes))
    bench_snapshot(given.partitions)


if __name__ == "__main__":
    main()
