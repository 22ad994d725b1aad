"""KIP-283 through the wire: what an old client reads a second, by the size of the chunks that are converted.

    python benchmarks/bench_conversion_wire.py [--megabytes N] [--rounds N]

12 partitions with records of 1 kB in batches of 16 kB, on the embedded broker. Fetch v3 (magic 1), 1 MB a partition and
50 MB a fetch, reads all of it over and over, each time in chunks of another size; beside it Fetch v12, which needs no
conversion, and Kafka's consumer of 0.10.2.2. Medians of the rounds, which are interleaved.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.turns import peak_memory, turn
from kcli.client.address import parse_bootstrap
from kcli.client.calls import call
from kcli.client.connection import BrokerConnection
from kcli.client.properties import ClientConfig
from kcli.records import build_batch
from tests.broker.processes import Served, served
from tests.broker.talk import fetch_body, parts
from tests.real.jvm import run_java
from tests.real.maven import compiled, jars

PARTITIONS, IN_BATCH, SIZE = 12, 16, 1000
CHUNKS = [16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20]
CHUNK_CONFIG = "message.downconversion.chunk.bytes"
PRODUCE, FETCH = 0, 1
OLD, NEW = 3, 12


async def connect(bootstrap: str) -> BrokerConnection:
    config = ClientConfig({"bootstrap.servers": bootstrap, "request.timeout.ms": "60000"})
    return await BrokerConnection.open(parse_bootstrap([bootstrap])[0], config)


async def fill(bootstrap: str, megabytes: int) -> int:
    """So many MB in the topic, in all; how many records."""
    connection = await connect(bootstrap)
    value = bytes(32 + at % 64 for at in range(SIZE))
    records = build_batch([(1_700_000_000_000, None, value, ())] * IN_BATCH)
    data = [{"index": index, "records": records} for index in range(PARTITIONS)]
    body = {"acks": 1, "timeoutMs": 1000, "topicData": [{"name": "t", "partitionData": data}]}
    turns = megabytes * 1_000_000 // (PARTITIONS * IN_BATCH * SIZE)
    for _ in range(turns):
        answer = await call(connection, PRODUCE, 8, body)
        assert not any(each["errorCode"] for each in answer["responses"][0]["partitionResponses"])
    await connection.close()
    return turns * PARTITIONS * IN_BATCH


async def read_all(connection: BrokerConnection, version: int, until: int) -> tuple[int, float]:
    """(bytes, seconds) to read each partition up to an offset."""
    offsets = dict.fromkeys(range(PARTITIONS), 0)
    size = 0
    turn()
    start = time.perf_counter()
    while offsets:
        body = fetch_body(version, *(("t", index, at) for index, at in offsets.items()), max_bytes=50 << 20)
        answer: dict[str, Any] = await call(connection, FETCH, version, body)
        for (_, index), row in parts(answer).items():
            assert row["errorCode"] == 0, row["errorCode"]
            size += len(row["records"])
            # Who was served goes to the back, as clients do it, so that all are read alike.
            at = max(offsets.pop(index), next_offset(row["records"], 1 if version == OLD else IN_BATCH))
            if at < until:
                offsets[index] = at
    return size, time.perf_counter() - start


def next_offset(records: bytes, each: int) -> int:
    """Behind the last whole batch or message of a field; all have the same size and `each` records."""
    if not records:
        return 0
    size = int.from_bytes(records[8:12], "big") + 12
    return int.from_bytes(records[:8], "big") + len(records) // size * each


def bench(data: Path, megabytes: int, rounds: int) -> int:
    """The records that were read; the chunk's size is a broker's from its start on."""
    with served("--topic", f"t:{PARTITIONS}", data=data) as broker:
        count = asyncio.run(fill(broker.bootstrap, megabytes))
    print(f"   {count:,} records of {SIZE} bytes in {PARTITIONS} partitions, magic 2 to 1 through the wire", flush=True)
    figures: dict[str, list[float]] = {}
    for _ in range(rounds):
        for chunk in CHUNKS:
            with served("--config", f"{CHUNK_CONFIG}={chunk}", data=data) as broker:
                figures.setdefault(f"{chunk >> 10} kB", []).append(asyncio.run(rate(broker, OLD, count)))
                if chunk == CHUNKS[-1]:
                    figures.setdefault("not converted", []).append(asyncio.run(rate(broker, NEW, count)))
    best = max(statistics.median(rates) for name, rates in figures.items() if name.endswith("kB"))
    for name, rates in figures.items():
        each = statistics.median(rates)
        print(f"   {name:>14} {each:8.0f} MB/s  {each / best:5.2f} of the best chunk")
    return count


async def rate(broker: Served, version: int, count: int) -> float:
    """MB/s of fetches of that version, of a broker that has read nothing yet or all of it."""
    connection = await connect(broker.bootstrap)
    size, seconds = await read_all(connection, version, count // PARTITIONS)
    await connection.close()
    return size / 1e6 / seconds


def bench_java(broker: Served, count: int) -> None:
    path = jars("kafka-clients", "0.10.2.2")
    settings = [f"bootstrap.servers={broker.bootstrap}", "group.id=g", "auto.offset.reset=earliest"]
    classes = [compiled("JavaClient.java", path), *path]
    done = run_java(classes, "JavaClient", "time", "t", str(count), "120", *settings)
    records, size, milliseconds = map(int, done.stdout.split())
    assert (records, size) == (count, count * SIZE), done.stderr[-1000:]
    print(f"   Java 0.10.2.2 reads it in chunks of 128 kB at {size / 1e3 / milliseconds:.0f} MB/s")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--megabytes", type=int, default=512)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="kcli-bench-") as folder:
        count = bench(Path(folder), given.megabytes, given.rounds)
        with served(data=Path(folder)) as broker:
            bench_java(broker, count)
            print(f"   the broker had {peak_memory(broker.process.pid)} MiB at most")


if __name__ == "__main__":
    main()
