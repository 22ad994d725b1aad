"""Clients that others wrote, against `kcli broker serve`: produce with each codec, consume all in a group, equal."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kcli.schemas.field_codes import CODECS
from tests.broker.processes import Served, served
from tests.greeting import greeting, newer_metadata, rewritten_metadata
from tests.real.commands import commands
from tests.real.maven import command, compiled, jars

# What kafka-python and aiokafka leave behind when they close is their own affair.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

COUNT = 500
TAIL = "x" * 20
WANTED = {f"{number}{TAIL}" for number in range(COUNT)}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("broker")
    with served("--config", "num.partitions=3", data=data) as made:
        made.data = data  # type: ignore[attr-defined]
        yield made


def java_client(version: str, *arguments: str, program: str = "JavaClient", **settings: str) -> list[str]:
    """The lines that one of our little Java programs prints with this release's clients."""
    path = jars("kafka-clients", version)
    options = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
    done = commands([compiled(f"{program}.java", path), *path]).run(program, *arguments, *options)
    assert done.code == 0, done.stderr.decode()[-3000:]
    return done.stdout.decode().splitlines()


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["0.10.2.2", "4.4.0"])
def test_java(broker: Served, version: str, codec: str) -> None:
    if version.startswith("0.10") and codec == "zstd":
        pytest.skip("0.10 has no zstd")
    topic = f"java-{version}-{codec}"
    settings = {"bootstrap_servers": broker.bootstrap, "acks": "all", "compression_type": codec}
    sent = java_client(version, "produce", topic, "0", str(COUNT), **settings)
    assert not [line for line in sent if line.startswith("failed")]
    settings = {"bootstrap_servers": broker.bootstrap, "group_id": topic, "auto_offset_reset": "earliest"}
    got = java_client(version, "consume", topic, str(COUNT), "30", **settings)
    assert sorted(line.split()[2] for line in got) == sorted(WANTED)
    places = {tuple(line.split()[:2]): line.split()[2] for line in sent}
    assert {tuple(line.split()[:2]): line.split()[2].removesuffix(TAIL) for line in got} == places


@pytest.mark.parametrize("draft", [newer_metadata, rewritten_metadata])
@pytest.mark.parametrize("version", ["0.10.2.2", "4.4.0"])
def test_java_beside_a_draft(version: str, draft: Callable[[Path], str], tmp_path: Path) -> None:
    """Java's client takes no notice of a draft that only adds; one that rewrites Metadata v13 is not offered to it."""
    dialect = draft(tmp_path)
    greeting(tmp_path)
    with served("--dialect", dialect) as broker:
        java_client(version, "produce", "t", "0", str(COUNT), bootstrap_servers=broker.bootstrap, acks="all")
        settings = {"bootstrap_servers": broker.bootstrap, "group_id": "g", "auto_offset_reset": "earliest"}
        got = java_client(version, "consume", "t", str(COUNT), "30", **settings)
    assert {line.split()[2] for line in got} == WANTED


@pytest.mark.parametrize("version", ["2.8.2", "4.4.0"])
def test_java_in_transactions(broker: Served, version: str) -> None:
    """Committed and aborted ones, and offsets that are part of one."""
    topic = f"transactions-{version}"
    for _ in range(2):  # the second producer fences the first
        arguments = topic, str(COUNT), "30"
        got = java_client(version, *arguments, program="JavaTransactions", bootstrap_servers=broker.bootstrap)
        assert got == [str(COUNT)]
    settings = {"bootstrap_servers": broker.bootstrap, "group_id": "all", "auto_offset_reset": "earliest"}
    settings["isolation_level"] = "read_committed"
    got = java_client(version, "consume", f"{topic}-out", str(2 * COUNT), "30", **settings)
    assert [line.split()[2] for line in got] == ["committed"] * (2 * COUNT)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_old_java_reads_what_new_java_wrote(broker: Served, codec: str) -> None:
    """KIP-283: magic 2 in the log, magic 1 for a consumer of 0.10."""
    topic = f"down-{codec}"
    settings = {"bootstrap_servers": broker.bootstrap, "compression_type": codec}
    java_client("4.4.0", "produce", topic, "0", str(COUNT), **settings)
    settings = {"bootstrap_servers": broker.bootstrap, "group_id": topic, "auto_offset_reset": "earliest"}
    got = java_client("0.10.2.2", "consume", topic, str(COUNT), "30", **settings)
    assert {line.split()[2] for line in got} == WANTED
    assert len(got) == COUNT


@pytest.mark.parametrize("codec", CODECS)
def test_kcat(broker: Served, codec: str) -> None:
    if shutil.which("kcat") is None:
        pytest.skip("kcat is not installed")
    topic = f"kcat-{codec}"
    text = "".join(f"{value}\n" for value in sorted(WANTED)).encode()
    kcat = ["kcat", "-b", broker.bootstrap, "-q"]
    subprocess.run([*kcat, "-P", "-t", topic, "-z", codec], input=text, check=True, timeout=120)
    plain = subprocess.run([*kcat, "-C", "-t", topic, "-e"], capture_output=True, check=True, timeout=120)
    assert set(plain.stdout.decode().split()) == WANTED
    grouped = subprocess.run(
        [*kcat, "-G", topic, topic, "-c", str(COUNT), "-X", "auto.offset.reset=earliest"],
        capture_output=True,
        check=True,
        timeout=120,
    )
    assert set(grouped.stdout.decode().split()) == WANTED


def test_kcat_pinned_to_old_brokers(broker: Served) -> None:
    if shutil.which("kcat") is None:
        pytest.skip("kcat is not installed")
    for number, version in enumerate(("0.8.2", "0.9.0", "0.10.0")):
        topic = f"pinned-{number}"
        old = ["-X", "api.version.request=false", "-X", f"broker.version.fallback={version}"]
        kcat = ["kcat", "-b", broker.bootstrap, "-q", *old]
        text = "".join(f"{value}\n" for value in sorted(WANTED)).encode()
        subprocess.run([*kcat, "-P", "-t", topic, "-z", "gzip"], input=text, check=True, timeout=120)
        got = subprocess.run([*kcat, "-C", "-t", topic, "-e"], capture_output=True, check=True, timeout=120)
        assert set(got.stdout.decode().split()) == WANTED


@pytest.mark.parametrize("codec", CODECS)
def test_confluent_kafka(broker: Served, codec: str) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    topic = f"confluent-{codec}"
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": broker.bootstrap, "compression.type": codec, "enable.idempotence": True}
    )
    for value in WANTED:
        producer.produce(topic, value)
    assert producer.flush(120) == 0
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": topic, "auto.offset.reset": "earliest"}
    consumer = confluent_kafka.Consumer(settings)
    consumer.subscribe([topic])
    got: list[str] = []
    until = time.monotonic() + 120
    while len(got) < COUNT and time.monotonic() < until:
        got += [each.value().decode() for each in consumer.consume(500, 0.5) if each.error() is None]
    consumer.close()
    assert sorted(got) == sorted(WANTED)


@pytest.mark.parametrize("codec", CODECS)
def test_kafka_python(broker: Served, codec: str) -> None:
    kafka = pytest.importorskip("kafka")
    if codec == "snappy":
        pytest.importorskip("snappy")
    topic = f"python-{codec}"
    producer = kafka.KafkaProducer(
        bootstrap_servers=broker.bootstrap, compression_type=None if codec == "none" else codec, acks="all"
    )
    for value in WANTED:
        producer.send(topic, value.encode())
    producer.flush(120)
    producer.close()
    consumer = kafka.KafkaConsumer(
        topic,
        bootstrap_servers=broker.bootstrap,
        group_id=topic,
        auto_offset_reset="earliest",
        consumer_timeout_ms=20_000,
    )
    got = []
    for message in consumer:
        got.append(message.value.decode())
        if len(got) == COUNT:
            break
    consumer.close()
    assert sorted(got) == sorted(WANTED)


@pytest.mark.parametrize("codec", CODECS)
def test_aiokafka(broker: Served, codec: str) -> None:
    aiokafka = pytest.importorskip("aiokafka")
    topic = f"aio-{codec}"

    async def work() -> list[str]:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap,
            compression_type=None if codec == "none" else codec,
            enable_idempotence=True,
        )
        await producer.start()
        await asyncio.gather(*[await producer.send(topic, value.encode()) for value in WANTED])
        await producer.stop()
        consumer = aiokafka.AIOKafkaConsumer(
            topic, bootstrap_servers=broker.bootstrap, group_id=topic, auto_offset_reset="earliest"
        )
        await consumer.start()
        got = [(await asyncio.wait_for(consumer.getone(), 120)).value.decode() for _ in range(COUNT)]
        await consumer.stop()
        return got

    assert sorted(asyncio.run(work())) == sorted(WANTED)


def test_two_members_share_a_topic_and_one_takes_over(broker: Served) -> None:
    """A rebalance as librdkafka's clients see it: partitions are split, then all go to who is left."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(300):
        producer.produce("shared", b"%d" % number, partition=number % 3 if number > 2 else -1)
    producer.flush(10)
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "sharing",
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 300,
    }
    one, two = (confluent_kafka.Consumer(settings) for _ in range(2))
    for each in (one, two):
        each.subscribe(["shared"])

    def settle(wanted: set[int], *members: object) -> None:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            for each in members:
                each.poll(0.1)  # type: ignore[attr-defined]
            if {len(each.assignment()) for each in members} == wanted:  # type: ignore[attr-defined]
                return
        raise AssertionError([each.assignment() for each in members])  # type: ignore[attr-defined]

    settle({1, 2}, one, two)
    two.close()
    settle({3}, one)
    one.close()


def test_kafkas_own_command_line(broker: Served) -> None:
    """kafka-topics, kafka-configs and kafka-consumer-groups of 4.4."""

    def run(name: str, *arguments: str) -> str:
        path, main = command("4.4.0", name)
        done = commands(path).run(main, "--bootstrap-server", broker.bootstrap, *arguments)
        assert done.code == 0, (done.stdout + done.stderr).decode()[-3000:]
        return done.stdout.decode()

    run("TopicCommand", "--create", "--topic", "cli", "--partitions", "4", "--config", "retention.ms=5000")
    answer = run("TopicCommand", "--describe", "--topic", "cli")
    assert "PartitionCount: 4" in answer
    assert "retention.ms=5000" in answer
    run("TopicCommand", "--alter", "--topic", "cli", "--partitions", "6")
    assert "PartitionCount: 6" in run("TopicCommand", "--describe", "--topic", "cli")
    run("ConfigCommand", "--alter", "--entity-type", "topics", "--entity-name", "cli", "--add-config", "segment.ms=9")
    assert "segment.ms=9" in run("ConfigCommand", "--describe", "--entity-type", "topics", "--entity-name", "cli")
    run("TopicCommand", "--delete", "--topic", "cli")
    assert "cli" not in run("TopicCommand", "--list").split()


def test_the_files_pass_kafkas_dump_log_and_kclis_verify(tmp_path: Path) -> None:
    """Segments with every codec and magic, rolled often, with indexes."""
    data = tmp_path / "data"
    with served("--config", "log.segment.bytes=20000", data=data) as broker:
        for codec in CODECS:
            settings = {"bootstrap_servers": broker.bootstrap, "compression_type": codec, "batch_size": "2000"}
            java_client("4.4.0", "produce", "files", "0", "1500", **settings)
        java_client(
            "0.10.2.2", "produce", "old", "0", "1500", bootstrap_servers=broker.bootstrap, compression_type="gzip"
        )
        assert broker.stop() == 0
    files = [*sorted(data.glob("*-*/*.log")), *sorted(data.glob("files-*/*.*index"))]
    assert len(list(data.glob("files-0/*.log"))) > 3
    path, main = command("4.4.0", "DumpLogSegments")
    ran = commands(path).run(main, "--deep-iteration", "--files", ",".join(map(str, files)))
    text = (ran.stdout + ran.stderr).decode()
    assert ran.code == 0, text[-2000:]
    assert "isvalid: false" not in text
    assert "Found" not in text
    assert "mismatch" not in text
    snapshots = sorted(data.glob("files-0/*.snapshot"))
    ran = commands(path).run(main, "--files", ",".join(map(str, snapshots)))
    assert ran.code == 0
    assert b"producerId:" in ran.stdout
    ran = commands(path).run(main, "--cluster-metadata-decoder", "--files", str(next(data.glob("__cluster*/*.log"))))
    assert b'"TOPIC_RECORD"' in ran.stdout
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "kcli.cli", "decode", "segment", "--verify", *map(str, sorted(data.glob("*-[0-9]*")))],
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode()[-2000:]
