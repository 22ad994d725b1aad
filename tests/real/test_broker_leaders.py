"""KIP-951 on an embedded cluster: Java clients follow fifty leader moves without losing or doubling a record."""

import random
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

from kcli.broker import Broker
from kcli.broker.embedded import embedded_broker
from kcli.broker.partition import Partition
from tests.processes import ended
from tests.real.jvm import java
from tests.real.maven import compiled, jars

MOVES, RECORDS = 50, 100_000
SECONDS = 100  # generous, for a machine that is busy


def test_java_follows_fifty_moves(tmp_path: Path) -> None:
    """KIP-951: Java 4.4, an idempotent producer and a consumer, through fifty moves on the embedded cluster."""
    path = jars("kafka-clients", "4.4.0")
    classes = [compiled("JavaClient.java", path), *path]
    chance = random.Random(3)
    with embedded_broker(nodes=3, config={"num.partitions": "3"}) as server:
        server.call(lambda broker: broker.create_topic("t", 3, replication=3))
        address = f"bootstrap.servers={server.bootstrap_servers}"
        settings = [address, "acks=all", "enable.idempotence=true", "linger.ms=0", "batch.size=400"]
        producing = java(classes, "JavaClient", "produce", "t", "0", str(RECORDS), *settings)
        group = ["group.id=g", "auto.offset.reset=earliest"]
        consuming = java(classes, "JavaClient", "consume", "t", str(RECORDS), str(SECONDS), address, *group)
        # Files, not pipes: a consumer that waits for its reader does not consume.
        outputs = [tmp_path / "sent", tmp_path / "got"]
        with ExitStack() as stack:
            processes = [
                stack.enter_context(ended(subprocess.Popen(words, stdout=stack.enter_context(path.open("wb")))))
                for words, path in zip((producing, consuming), outputs, strict=True)
            ]
            while not server.call(lambda broker: sum(each.end_offset for each in partitions(broker))):
                assert processes[0].poll() is None
                time.sleep(0.01)
            for _ in range(MOVES):
                server.call(lambda broker: move(broker, chance))
                time.sleep(0.05)
        epochs = server.call(lambda broker: [epochs_of(each) for each in partitions(broker)])
    sent, got = (path.read_text().splitlines() for path in outputs)
    assert sum(epochs) > MOVES // 3, f"records in {epochs} epochs of {MOVES} moves"
    assert not [line for line in sent if line.startswith("failed")]
    assert len(sent) == RECORDS
    numbers = [int(line.split()[2].rstrip("x")) for line in got]
    assert sorted(numbers) == list(range(RECORDS))


def epochs_of(partition: Partition) -> int:
    """In how many leader epochs records were written."""
    return len(partition.made_log().epochs.entries)


def partitions(broker: Broker) -> list[Partition]:
    return broker.topics.by_name["t"].partitions


def move(broker: Broker, chance: random.Random) -> None:
    partition = chance.choice(partitions(broker))
    broker.move_leader(partition, chance.choice([node for node in broker.node_ids if node != partition.leader]))
