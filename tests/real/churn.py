"""A quorum that comes to no rest, and what kcli says of its folders meanwhile: `make churn`.

    python -m tests.real.churn [MINUTES [SEED [RELEASE]]]      60 minutes of 4.4.0 by default

Three nodes, of which one at a time is stopped in good order, killed, or frozen until another leads; topics and configs
come and go; segments and snapshots are small, and the retention removes them. `kcli snapshot verify --replay` and
`drift` go over the folders again and again. Every answer but 0 is printed, with what was going on, and leads to exit
code 1.

No topic that has configs is removed: nodes drift when they replay that (docs/explanation/kafka-metadata-drift.md).
"""

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from tests.real.lab import Cluster

__all__ = ["main"]

NODES = 3
CONFIG = {
    "metadata.log.max.record.bytes.between.snapshots": 2000,
    "metadata.log.max.snapshot.interval.ms": 5000,
    "metadata.log.segment.ms": 4000,
    "metadata.max.retention.ms": 20_000,
    "metadata.max.retention.bytes": 30_000,
    "controller.quorum.fetch.timeout.ms": 1500,
    "broker.session.timeout.ms": 4000,
}
COMMANDS = (("verify", "--replay"), ("drift",))
SHOWN = 40  # lines of an answer


class Churn:
    """What is done to a quorum, in two threads, until `over`. doing: what was begun last; done: how often."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster, self.seed = cluster, seed
        self.over = threading.Event()
        self.doing = "nothing yet"
        self.done: Counter[str] = Counter()

    def run(self, step: Callable[[random.Random], str], seed: int) -> threading.Thread:
        """Do one step after the other; a command that fails while a node is away is no more than counted."""

        def turns() -> None:
            chance = random.Random(seed)
            while not self.over.is_set():
                try:
                    self.done[step(chance)] += 1
                except (AssertionError, subprocess.SubprocessError):
                    self.done["failed"] += 1

        thread = threading.Thread(target=turns)
        thread.start()
        return thread

    def trouble(self, chance: random.Random) -> str:
        """Take a node away for a while."""
        node, away = chance.choice(self.cluster.node_ids), chance.uniform(0.5, 8)
        kind = chance.choice(("stop", "kill", "freeze"))
        self.doing = f"{kind} node {node} for {away:.1f} s"
        if kind == "freeze":
            self.cluster.pause(node)
            self.over.wait(away)
            self.cluster.resume(node)
        else:
            (self.cluster.stop if kind == "stop" else self.cluster.kill)(node)
            self.over.wait(away)
            self.cluster.start(node)
        self.doing = f"nothing, after: {self.doing}"
        self.over.wait(chance.uniform(1, 6))
        return kind

    def change(self, chance: random.Random) -> str:
        """Change something in the metadata."""
        where = ("--bootstrap-server", self.cluster.bootstrap)
        topic = f"topic-{chance.randrange(30)}"
        kind = chance.choice(("create", "create", "delete", "config", "quota"))
        if kind == "create":
            size = ("--partitions", f"{chance.randrange(1, 20)}", "--replication-factor", f"{chance.randrange(1, 4)}")
            self.cluster.run("TopicCommand", *where, "--create", "--if-not-exists", "--topic", topic, *size)
        elif kind == "delete":
            self.cluster.run("TopicCommand", *where, "--delete", "--if-exists", "--topic", topic)
        else:
            entity = ("topics", "kept") if kind == "config" else ("clients", f"client-{chance.randrange(5)}")
            name = "retention.ms" if kind == "config" else "request_percentage"
            change = ("--add-config", f"{name}={chance.randrange(1, 90)}") if chance.random() < 0.7 else ()
            change = change or ("--delete-config", name)
            self.cluster.run(
                "ConfigCommand", *where, "--alter", "--entity-type", entity[0], "--entity-name", entity[1], *change
            )
        return kind


def look(cluster: Cluster, command: tuple[str, ...], churn: Churn) -> int:
    """Run a command of kcli over the folders; its exit code."""
    began, before = time.time(), churn.doing
    line = [sys.executable, "-m", "kcli.cli", "snapshot", *command, *map(str, cluster.log_dirs)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        print(f"{time.strftime('%H:%M:%S')}  {' '.join(command)}: {done.returncode} after {time.time() - began:.1f} s")
        print(f"    meanwhile: {before}; {churn.doing}")
        for text in (done.stdout + done.stderr).splitlines()[-SHOWN:]:
            print(f"    {text}")
        sys.stdout.flush()
    return done.returncode


def main(arguments: list[str]) -> int:
    minutes = float(arguments[0]) if arguments else 60
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    release = arguments[2] if len(arguments) > 2 else "4.4.0"
    codes: Counter[str] = Counter()
    with Cluster(release, nodes=NODES, config=CONFIG, heap="256m") as cluster:
        cluster.topics("--create", "--topic", "kept", "--partitions", "3", "--replication-factor", "3")
        churn = Churn(cluster, seed)
        threads = [churn.run(churn.trouble, seed), churn.run(churn.change, seed + 1)]
        until = time.monotonic() + 60 * minutes
        try:
            while time.monotonic() < until and all(each.is_alive() for each in threads):
                for command in COMMANDS:
                    codes[f"{' '.join(command)}: {look(cluster, command, churn)}"] += 1
        finally:
            churn.over.set()
            for thread in threads:
                thread.join()
        files = [
            sorted(each.name for each in (folder / "__cluster_metadata-0").iterdir()) for folder in cluster.log_dirs
        ]
    print(f"{release}, seed {seed}: {dict(churn.done)}; files at the end: {[len(each) for each in files]}")
    print(f"answers: {dict(codes)}")
    return 0 if all(each.endswith(": 0") for each in codes) else 1


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1:]))
