"""kill -9 while producing with acks=all: nothing that was acknowledged is lost, and Kafka's tools read what is left."""

import random
import threading
import time
from pathlib import Path

import pytest

from tests.broker.processes import Served, served
from tests.real.jvm import run_java
from tests.real.maven import command

confluent_kafka = pytest.importorskip("confluent_kafka")

ROUNDS = 20
PARTITIONS = 3


class Acknowledged:
    """What the broker said was written: (partition, offset) to value."""

    def __init__(self) -> None:
        self.values: dict[tuple[int, int], bytes] = {}
        self.twice: list[tuple[int, int]] = []

    def __call__(self, error: object, message: object) -> None:
        if error is None:
            place = (message.partition(), message.offset())  # type: ignore[attr-defined]
            value = message.value()  # type: ignore[attr-defined]
            if self.values.setdefault(place, value) != value:
                self.twice.append(place)


def produce(bootstrap: str, start: int, done: Acknowledged, stop: threading.Event) -> int:
    """Produce until told to stop; the next number."""
    settings = {
        "bootstrap.servers": bootstrap,
        "acks": "all",
        "linger.ms": 1,
        "message.timeout.ms": 300,
        "log_level": 0,
    }
    producer = confluent_kafka.Producer(settings)
    number = start
    while not stop.is_set():
        with_room(producer, number, done)
        number += 1
        if number % 50 == 0:
            producer.poll(0.001)
    producer.flush(1)
    return number


def with_room(producer: object, number: int, done: Acknowledged) -> None:
    while True:
        try:
            producer.produce("t", b"%d" % number, partition=number % PARTITIONS, on_delivery=done)  # type: ignore[attr-defined]
            return
        except BufferError:
            producer.poll(0.01)  # type: ignore[attr-defined]


def consume(bootstrap: str, count: int) -> dict[tuple[int, int], bytes]:
    settings = {"bootstrap.servers": bootstrap, "group.id": "check", "enable.partition.eof": True}
    consumer = confluent_kafka.Consumer(settings)
    consumer.assign([confluent_kafka.TopicPartition("t", at, 0) for at in range(PARTITIONS)])
    found: dict[tuple[int, int], bytes] = {}
    ended = 0
    until = time.monotonic() + 120
    while ended < PARTITIONS and time.monotonic() < until:
        for message in consumer.consume(1000, 0.2):
            if message.error() is not None:
                ended += 1
            else:
                found[message.partition(), message.offset()] = message.value()
    consumer.close()
    assert ended == PARTITIONS, f"read {len(found)} of {count}"
    return found


def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    chance = random.Random(5)
    data = tmp_path / "data"
    done = Acknowledged()
    number = 0
    for _ in range(ROUNDS):
        with served("--topic", f"t:{PARTITIONS}", "--config", "log.segment.bytes=200000", data=data) as broker:
            stop = threading.Event()
            killer = threading.Timer(chance.uniform(0.4, 0.8), kill, (broker, stop))
            before = len(done.values)
            killer.start()
            number = produce(broker.bootstrap, number, done, stop)
            killer.join()
            assert len(done.values) > before
    assert not done.twice
    with served(data=data) as broker:
        found = consume(broker.bootstrap, len(done.values))
        assert broker.stop() == 0
    assert {place: found.get(place) for place in done.values} == done.values
    check_files(data, "4.4.0")


def kill(broker: Served, stop: threading.Event) -> None:
    broker.kill()
    stop.set()


def check_files(data: Path, version: str) -> None:
    """kafka-dump-log finds nothing wrong, in logs and indexes."""
    jars, main = command(version, "DumpLogSegments")
    files = sorted(data.glob("t-*/*.log")) + sorted(data.glob("t-*/*.*index"))
    assert len(files) > 9
    ran = run_java(jars, main, "--deep-iteration", "--files", ",".join(map(str, files)), timeout=120)
    text = ran.stdout.decode() + ran.stderr.decode()
    assert ran.returncode == 0, text[-2000:]
    assert "isvalid: true" in text
    for trouble in ("isvalid: false", "Found", "mismatch", "Exception", "corrupt"):
        assert trouble not in text, text[text.index(trouble) - 200 :][:600]
