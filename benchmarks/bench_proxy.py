"""What `kcli proxy` costs: librdkafka's throughput and the latency of single requests, direct and through it.

    python -m benchmarks.bench_proxy [--kafka] [--rounds N]

--kafka: before a real Kafka 4.4 (from Maven), not before the embedded broker. Beside it, what only copies bytes: some
lines of asyncio, and socat where it is installed.
"""

import argparse
import asyncio
import contextlib
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.client_speeds import Librdkafka
from benchmarks.turns import turn
from kcli.client.address import parse_address
from kcli.client.calls import call_of
from kcli.client.connection import BrokerConnection
from kcli.client.properties import ClientConfig
from kcli.records import build_batch
from tests.broker.processes import served
from tests.proxy.processes import proxied

TOPICS, PARTITIONS, RECORDS = 4, 4, 20_000
REQUESTS_A_SECOND, SECONDS = 500, 4
PRODUCE = 0


class Server(NamedTuple):
    """Where clients connect to, and the process between them and the broker; 0: there is none."""

    bootstrap: str
    process: int

    def used(self) -> float:
        """Seconds of a processor that the process has used."""
        if not self.process:
            return 0.0
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def bench_throughput(servers: dict[str, Server], rounds: int) -> None:
    print(f"   librdkafka, 1 kB records in {TOPICS * PARTITIONS} partitions, by turns, median of {rounds} (MB/s)")
    figures: dict[tuple[str, str], list[float]] = {}
    client = Librdkafka()
    for run in range(rounds + 1):
        for name, (bootstrap, _) in servers.items():
            turn()
            topics = [f"speed-{name}-{run}-{at}".replace(" ", "-") for at in range(TOPICS)]
            for what, work in (("produce", client.produce), ("consume", client.consume)):
                speed = work(bootstrap, topics, RECORDS)
                if run:
                    figures.setdefault((what, name), []).append(speed)
    medians = {place: statistics.median(found) for place, found in figures.items()}
    for (what, name), speed in sorted(medians.items()):
        print(f"   {what:8} {name:15} {speed:8.0f}   {speed / medians[what, 'direct']:5.2f} of direct", flush=True)


def bench_latency(servers: dict[str, Server], topic: str, rounds: int) -> None:
    print(
        f"   one connection, {REQUESTS_A_SECOND} Produce requests of 1 kB a second, {SECONDS} s, best of {rounds} (ms);"
        " processor time of what is between, for each (us)"
    )
    best: dict[str, tuple[float, float]] = {}
    least = dict.fromkeys(servers, float("inf"))
    for _ in range(rounds):
        for name, server in servers.items():
            turn()
            before = server.used()
            found = sorted(asyncio.run(paced(server.bootstrap, topic)))
            least[name] = min(least[name], (server.used() - before) / len(found) * 1e6)
            p50, p99 = (found[int(len(found) * share)] * 1000 for share in (0.5, 0.99))
            best[name] = min(best.get(name, (p50, p99)), (p50, p99), key=lambda each: each[1])
    for name, (p50, p99) in best.items():
        added = p99 - best["direct"][1]
        print(
            f"   {name:15} p50 {p50:6.2f}   p99 {p99:6.2f}   added to p99 {added:6.2f}   processor {least[name]:4.0f}",
            flush=True,
        )


async def paced(bootstrap: str, topic: str) -> list[float]:
    """Seconds that each request took."""
    connection = await BrokerConnection.open(parse_address(bootstrap), ClientConfig({}))
    made = call_of(PRODUCE, 9)
    rows = [{"index": 0, "records": build_batch([(1, None, bytes(1000), ())])}]
    body = {"acks": 1, "timeoutMs": 1000, "topicData": [{"name": topic, "partitionData": rows}]}
    took: list[float] = []
    start = time.monotonic()
    for number in range(REQUESTS_A_SECOND * SECONDS):
        await asyncio.sleep(max(0.0, start + number / REQUESTS_A_SECOND - time.monotonic()))
        correlation = connection.next_correlation()
        frame = made.encode(correlation, "bench", body)
        asked = time.perf_counter()
        await connection.exchange(frame, correlation, made.name)
        took.append(time.perf_counter() - asked)
    await connection.close()
    return took


RELAY = """
import asyncio, sys
from kcli.client.address import parse_address

async def relay(reader, writer):
    other_reader, other_writer = await asyncio.open_connection(*parse_address(sys.argv[1]))
    await asyncio.gather(copy(reader, other_writer), copy(other_reader, writer))

async def copy(reader, writer):
    while data := await reader.read(1 << 18):
        writer.write(data)
        await writer.drain()
    writer.close()

async def main():
    server = await asyncio.start_server(relay, "127.0.0.1", int(sys.argv[2]))
    await server.serve_forever()

asyncio.run(main())
"""


@contextlib.contextmanager
def relayed(name: str, bootstrap: str) -> Iterator[Server]:
    """Before a broker, what copies bytes and does nothing else: socat, or the few lines of asyncio above."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-c", RELAY, bootstrap, str(port)]
    if name == "socat":
        command = ["socat", f"TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr,nodelay", f"TCP:{bootstrap},nodelay"]
    process = subprocess.Popen(command)
    time.sleep(2)
    try:
        yield Server(f"127.0.0.1:{port}", process.pid)
    finally:
        process.terminate()
        process.wait()


def bench(bootstrap: str, rounds: int) -> None:
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        servers = {"direct": Server(bootstrap, 0)}
        saved = Path(folder) / "out.pcapng"
        for name, options in (
            ("proxy", []),
            ("proxy -o OUT", ["-o", str(saved)]),
            ("proxy with rows", ["--format", "table"]),
        ):
            made = stack.enter_context(proxied("--bootstrap", bootstrap, *options, stdout=subprocess.DEVNULL))
            servers[name] = Server(made.bootstrap, made.process.pid)
        bench_throughput(servers, 3 * rounds)
        for name in ("socat", "asyncio"):
            if name == "asyncio" or shutil.which(name):
                servers[name] = stack.enter_context(relayed(name, bootstrap))
        Librdkafka().produce(bootstrap, ["latency"], 4)
        bench_latency(servers, "latency", rounds)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kafka", action="store_true")
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    if not given.kafka:
        with served("--config", f"num.partitions={PARTITIONS}") as broker:
            bench(broker.bootstrap, given.rounds)
        return
    from tests.real.lab import Cluster

    with Cluster("4.4.0", config={"num.partitions": PARTITIONS}, heap="1g") as cluster:
        bench(cluster.bootstrap, given.rounds)


if __name__ == "__main__":
    main()
