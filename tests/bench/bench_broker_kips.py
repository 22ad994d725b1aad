"""What KIP-1018 and KIP-630 gain, on the embedded broker.

KIP-1018: 1 GiB read back from the remote tier of one partition, 20 ms a remote read, 1 MB and 4 MB a partition.
KIP-630: a snapshot of a million partitions fetched by `kcli snapshot fetch`: MB/s, and memory on both sides.

    python tests/bench/bench_broker_kips.py [--megabytes N] [--partitions N]
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

from kcli.client.address import parse_bootstrap
from kcli.client.calls import call, call_of
from kcli.client.connection import Connection
from kcli.client.offsets import next_offset
from kcli.client.properties import ClientConfig
from kcli.records import build_batch
from tests.broker.processes import served

CREATE_TOPICS, PRODUCE, FETCH, METADATA = 19, 0, 1, 3
DIALECT = "kip-1018"
LATENCY_MS = 20
CONFIGS = {"remote.storage.enable": "true", "local.retention.bytes": "1000000", "segment.bytes": str(64 << 20)}


async def connect(bootstrap: str) -> Connection:
    config = ClientConfig({"bootstrap.servers": bootstrap, "request.timeout.ms": "600000"})
    return await Connection.open(parse_bootstrap([bootstrap])[0], config)


async def fill(connection: Connection, megabytes: int) -> str:
    """A tiered topic with so much in its one partition; its id."""
    rows = [{"name": name, "value": value} for name, value in CONFIGS.items()]
    topic = {"name": "t", "numPartitions": 1, "replicationFactor": 1, "configs": rows}
    made = await call(connection, CREATE_TOPICS, 7, {"topics": [topic], "timeoutMs": 1000})
    value = os.urandom(1000)
    records = build_batch([(1, None, value, ())] * 250)
    body = {"acks": 1, "timeoutMs": 1000}
    for _ in range((megabytes + 64) * 4):
        data = [{"name": "t", "partitionData": [{"index": 0, "records": records}]}]
        answer = await call(connection, PRODUCE, 9, body | {"topicData": data})
        assert answer["responses"][0]["partitionResponses"][0]["errorCode"] == 0
    return str(made["topics"][0]["topicId"])


async def local_start(connection: Connection) -> int:
    """Where the local part of the log begins (KIP-405: timestamp -4)."""
    rows = [{"partitionIndex": 0, "timestamp": -4}]
    answer = await call(connection, 2, 8, {"replicaId": -1, "topics": [{"name": "t", "partitions": rows}]})
    return int(answer["topics"][0]["partitions"][0]["offset"])


async def read_back(connection: Connection, topic_id: str, until: int, remote: int) -> tuple[int, int, int, float]:
    """(requests, bytes, bytes of a fetch of the local part, seconds) to read up to an offset."""
    made = call_of(FETCH, 18, DIALECT)
    offset = requests = size = 0
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
    seconds = time.perf_counter() - start
    row = {"partition": 0, "fetchOffset": until, "partitionMaxBytes": 1 << 20, "remotePartitionMaxBytes": remote}
    body = {"maxWaitMs": 0, "minBytes": 1, "topics": [{"topicId": topic_id, "partitions": [row]}]}
    answer = await call(connection, FETCH, 18, body, dialect=DIALECT)
    local = len(answer["responses"][0]["partitions"][0]["records"])
    return requests, size, local, seconds


async def bench_remote(bootstrap: str, megabytes: int) -> None:
    connection = await connect(bootstrap)
    topic_id = await fill(connection, megabytes)
    print(f"   KIP-1018: {megabytes} MB back from remote storage, {LATENCY_MS} ms a remote read")
    figures = {}
    until = await local_start(connection)
    for remote in (1 << 20, 4 << 20):
        requests, size, local, seconds = await read_back(connection, topic_id, until, remote)
        figures[remote] = requests, seconds
        print(
            f"   {remote >> 20} MB a partition: {requests:6} requests {seconds:7.2f} s {size / 1e6 / seconds:7.0f} MB/s"
            f"   (local reads: {local / 1e6:.2f} MB)"
        )
    one, four = figures.values()
    print(f"   1 MB / 4 MB: {one[0] / four[0]:.2f} times the requests, {one[1] / four[1]:.2f} times as long")
    await connection.close()


def memory(pid: int) -> int:
    """MiB, the most it ever had."""
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0]) >> 10


def bench_snapshot(partitions: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # 90 bytes a record of a partition: one snapshot, once they are all there.
        options = ["--config", f"controller.snapshot.minimum.records={partitions}"]
        with served(*options, data=Path(folder) / "data") as broker:
            start = time.perf_counter()
            asyncio.run(make_many(broker.bootstrap, partitions))
            made = time.perf_counter() - start
            before = memory(broker.process.pid)
            out = Path(folder) / "out"
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
                f"   fetched and verified: {size / 1e6:.0f} MB in {seconds:.2f} s, {size / 1e6 / seconds:.0f} MB/s; "
                f"kcli {most} MiB, broker {memory(broker.process.pid) - before} MiB more than before"
            )


def resident(pid: int) -> int:
    try:
        return memory(pid)
    except (OSError, IndexError):
        return 0


async def make_many(bootstrap: str, partitions: int) -> None:
    connection = await connect(bootstrap)
    most = 100_000
    shape = {"numPartitions": min(most, partitions), "replicationFactor": 1}
    topics = [shape | {"name": f"t{at}"} for at in range(-(-partitions // most))]
    for topic in topics:
        await call(connection, CREATE_TOPICS, 7, {"topics": [topic], "timeoutMs": 600_000})
    await call(connection, CREATE_TOPICS, 7, {"topics": [topics[0] | {"name": "last"}], "timeoutMs": 600_000})
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
