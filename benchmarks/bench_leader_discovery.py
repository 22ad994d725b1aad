"""KIP-951: producers while the leaders of all partitions move twice, with hints and without, interleaved.

    python benchmarks/bench_leader_discovery.py [embedded] [real] [--rounds N] [--keep FILE]

embedded: kcli's own broker, a process of three nodes, where a leader moves at once. real: Apache Kafka 4.4.0, three
nodes. The clients, each a process of its own, one after the other in each round: kcli's producer with hints and with
metadata discovery, Kafka's own of 4.4.0 (which follows hints) and of 3.6.2 (which asks). 100 partitions, a
steady rate, acks=all, idempotent, linger.ms=0, logs in memory; what is sent before the measured time is not counted.

Two figures of each run: p99.9 of produce latency, and the part that the client causes: from a leader's refusal to the
retry's leaving for the new one, read from a capture of the wire (tcpdump; without it from kcli's own clock). --keep:
a file of runs, to which these are added; the medians are those of all of them.
"""

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.moves import make_topic, move_leaders, waits_in
from benchmarks.turns import turn
from kcli.client.address import parse_bootstrap
from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from tests.broker.processes import served
from tests.real.jvm import java
from tests.real.maven import compiled, jars
from tests.real.wire import capturing

PARTITIONS, SIZE = 100, 1000
# What two cores bear with the whole cluster on them: of three Java brokers, each record written three times, less.
RATES = {"embedded": 5000, "real": 250}
WARM, SECONDS = 3, 9
CLIENTS = ("kcli metadata", "kcli hints", "java 3.6.2", "java 4.4.0")
PAIRS = (("kcli metadata", "kcli hints"), ("java 3.6.2", "java 4.4.0"))
TOPIC = "moving"
ROOM = 4 << 30
# Followers ask a new leader again soon, not after a second: with acks=all that would be most of the latency.
KAFKA = {"min.insync.replicas": 1, "auto.leader.rebalance.enable": "false", "replica.fetch.backoff.ms": 50}
SETTINGS = ("acks=all", "enable.idempotence=true", "linger.ms=0", "batch.size=16384")


def command(client: str, bootstrap: str, rate: int) -> list[str]:
    kind, _, how = client.partition(" ")
    numbers = [str(each) for each in (PARTITIONS, rate, SIZE, WARM, SECONDS)]
    arguments = [TOPIC, *numbers, f"bootstrap.servers={bootstrap}", *SETTINGS]
    if kind == "kcli":
        return [sys.executable, "-m", "benchmarks.paced", how, *arguments]
    path = jars("kafka-clients", how)
    return java([compiled("PacedProducer.java", path), *path], "PacedProducer", *arguments)


class Cluster:
    """rate: records a second; turn: how often the leaders have moved."""

    def __init__(self, bootstrap: str, rate: int) -> None:
        self.bootstrap, self.rate = bootstrap, rate
        self.turn = 0

    async def run(self, client: str) -> dict[str, Any]:
        """One client's producer at work while leaders move after a third and two thirds of its time."""
        admin = Client(ClientConfig({"bootstrap.servers": self.bootstrap}))
        async with admin:
            with subprocess.Popen(
                command(client, self.bootstrap, self.rate), stdout=subprocess.PIPE, text=True
            ) as process:
                assert process.stdout is not None
                if process.stdout.readline() != "measuring\n":
                    raise SystemExit(f"{client} has ended")
                for _ in range(2):
                    time.sleep(SECONDS / 3)
                    self.turn += 1
                    await move_leaders(admin, TOPIC, self.turn, PARTITIONS)
                row: dict[str, Any] = json.loads(process.stdout.readline())
        assert row["failed"] == 0, row
        return row

    def measure(self, client: str, folder: Path) -> dict[str, Any]:
        capture = folder / "run.pcap"
        ports = [each.port for each in parse_bootstrap(self.bootstrap.split(","))]
        with capturing(ports, capture) as able:
            row = asyncio.run(self.run(client))
        if able:
            waits = waits_in(capture)
            row |= {"own": row.get("wait"), "waits": len(waits), "wait": statistics.median(waits) if waits else None}
            capture.unlink()
        return row


@contextlib.contextmanager
def clusters(kind: str) -> Iterator[str]:
    if kind == "embedded":
        with served("--nodes", "3") as broker:
            yield broker.bootstrap
        return
    from tests.real.lab import Cluster as Kafka

    with Kafka("4.4.0", 3, config=KAFKA) as kafka:
        yield kafka.bootstrap


async def prepare(bootstrap: str) -> None:
    async with Client(ClientConfig({"bootstrap.servers": bootstrap})) as admin:
        await make_topic(admin, TOPIC, PARTITIONS)


def bench(kind: str, rounds: int, clients: list[str]) -> Iterator[dict[str, Any]]:
    with clusters(kind) as bootstrap, tempfile.TemporaryDirectory() as folder:
        asyncio.run(prepare(bootstrap))
        cluster = Cluster(bootstrap, RATES[kind])
        asyncio.run(cluster.run(clients[-1]))  # what is not compiled or opened yet counts for nobody
        for _ in range(rounds):
            for client in clients:
                turn()
                row = cluster.measure(client, Path(folder))
                print(
                    f"   {client:<13} p50 {row['p50']:7.2f}  p99 {row['p99']:8.2f}  p99.9 {row['p99.9']:8.2f} ms   "
                    f"client's part {shown(row.get('wait'))} ms ({row.get('waits', 0)} partitions)",
                    flush=True,
                )
                yield {"kind": kind, "client": client, **row}


def shown(figure: float | None) -> str:
    return "      -" if figure is None else f"{figure:7.2f}"


def conclude(kind: str, rows: list[dict[str, Any]]) -> None:
    for old, new in PAIRS:
        both = {name: [row for row in rows if row["client"] == name] for name in (old, new)}
        if not all(both.values()):
            continue
        for figure, what in (("p99.9", "p99.9 of produce latency"), ("wait", "client's part, median")):
            answer = [[row[figure] for row in both[name] if row.get(figure) is not None] for name in (old, new)]
            if all(answer):
                before, after = (statistics.median(each) for each in answer)
                print(
                    f"{kind}: {what}: {old} {before:,.2f} ms, {new} {after:,.2f} ms: "
                    f"{100 * (after - before) / before:+.1f} % (medians of {len(answer[0])} and {len(answer[1])} runs)"
                )


def keep_logs_in_memory() -> None:
    """Temporary folders where there is no disk to wait for, if it has room."""
    memory = Path("/dev/shm")
    if memory.is_dir() and shutil.disk_usage(memory).free > ROOM:
        os.environ["TMPDIR"] = str(memory)
        tempfile.tempdir = None


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("kinds", nargs="*", choices=["embedded", "real", []], metavar="embedded|real")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--client", action="append", choices=CLIENTS, help="only this one; may be repeated")
    options.add_argument("--keep", type=Path, help="runs of earlier calls; these are added to it")
    given = options.parse_args()
    keep_logs_in_memory()
    for kind in given.kinds or ["embedded", "real"]:
        print(f"{kind}: {PARTITIONS} partitions, all leaders moved twice, {RATES[kind]} records/s of {SIZE} bytes")
        rows = []
        for row in bench(kind, given.rounds, given.client or list(CLIENTS)):
            rows.append(row)
            if given.keep:
                with given.keep.open("a") as out:
                    out.write(json.dumps(row) + "\n")
        if given.keep:
            rows = [json.loads(line) for line in given.keep.read_text().splitlines()]
        conclude(kind, [row for row in rows if row["kind"] == kind])


if __name__ == "__main__":
    main()
