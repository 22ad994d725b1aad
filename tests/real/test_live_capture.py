"""Clients of three kinds talk to a real broker; what kcli decodes from the wire is what the broker says was said."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.schemas.field_codes import CODECS
from tests.broker.processes import served
from tests.processes import ended
from tests.real.lab import Cluster
from tests.real.wire import LINK, captured
from tests.request_log import key, unlike

RECORDS = 40


def speak_confluent(bootstrap: str) -> None:
    """librdkafka: every codec, a transaction, a group, admin calls that succeed and that fail."""
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic("live-c", 3, 1)]).values():
        future.result()
    with contextlib.suppress(Exception):
        admin.create_topics([NewTopic("live-c", 3, 1)])["live-c"].result()
    for codec in CODECS:
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 5})
        for number in range(RECORDS):
            producer.produce("live-c", key=str(number), value="text " * number, headers={"codec": codec})
        producer.flush()
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "live-c"})
    producer.init_transactions()
    for finish in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.produce("live-c", "in a transaction")
        finish()
    settings = {"bootstrap.servers": bootstrap, "group.id": "live-c", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe(["live-c"])
    assert len(consumer.consume(RECORDS * len(CODECS), timeout=120)) > RECORDS
    consumer.commit(asynchronous=False)
    consumer.close()


def speak_kafka_python(bootstrap: str) -> None:
    from kafka import KafkaConsumer, KafkaProducer

    producer = KafkaProducer(bootstrap_servers=bootstrap, compression_type="gzip")
    for number in range(RECORDS):
        producer.send("live-p", key=b"k", value=b"v" * number)
    producer.flush()
    producer.close()
    consumer = KafkaConsumer("live-p", bootstrap_servers=bootstrap, group_id="live-p", auto_offset_reset="earliest")
    assert next(iter(consumer)).value == b""
    consumer.close()


def speak_aiokafka(bootstrap: str) -> None:
    asyncio.run(speak_async(bootstrap))


async def speak_async(bootstrap: str) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True) as producer:
        for number in range(RECORDS):
            await producer.send_and_wait("live-a", value=b"v" * number, headers=[("h", b"1")])
    settings: dict[str, Any] = {"bootstrap_servers": bootstrap, "group_id": "live-a", "auto_offset_reset": "earliest"}
    async with AIOKafkaConsumer("live-a", **settings) as consumer:
        await consumer.getone()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("speak", [speak_confluent, speak_kafka_python, speak_aiokafka])
def test_a_live_capture_is_what_the_broker_logged(
    speak: Callable[[str], None], kafka_44: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = len(kafka_44.requests())
    with captured(kafka_44, tmp_path / "live.pcap"):
        speak(kafka_44.bootstrap)
    assert main(["decode", "pcap", str(tmp_path / "live.pcap"), "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    ours = [row for row in rows if "requestHeader" in row]
    answered = {key(row) for row in ours if row["response"] is not None}
    truth = [row for row in logged_since(kafka_44, before, answered) if key(row) in answered]
    assert len(truth) > RECORDS / 2
    assert not unlike(truth, ours)
    assert answered == {key(row) for row in truth}


def logged_since(cluster: Cluster, before: int, wanted: set[Any]) -> list[dict[str, Any]]:
    """The log's lines come a moment after the answers they are about."""
    until = time.monotonic() + 60
    while True:
        rows = [row for row in cluster.requests()[before:] if not row["isForwarded"]]
        if wanted <= {key(row) for row in rows} or time.monotonic() > until:
            return rows
        time.sleep(0.1)


@pytest.mark.parametrize("name", ["tcpdump", "dumpcap"])
def test_a_recorder_has_what_was_before_an_error(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if (found := shutil.which(name)) is None:
        pytest.skip(f"{name} is not installed")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / name).symlink_to(found)
    folder = tmp_path / "recorder"
    fault = "api=Produce,topic=bad,error=CORRUPT_MESSAGE,count=1"
    with served("--topic", "good", "--topic", "bad", "--fault", fault) as broker:
        port = broker.bootstrap.rpartition(":")[2]
        options = ["-i", LINK, "--port", port, "-q", "-o", str(folder), "--last", "1m", "--when", "error <> ''"]
        command = [sys.executable, "-m", "kcli.cli", "capture", *options]
        environment = {**os.environ, "PATH": str(tmp_path / "bin")}
        with ended(subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)) as process:
            assert process.stderr is not None
            produce_until(lambda: any(folder.glob("*")) or process.poll() is not None, broker.bootstrap, "good")
            if process.returncode is not None:
                pytest.skip(f"{name} may not capture here: {process.stderr.read()}")
            produce_until(lambda: any(folder.glob("*/*")), broker.bootstrap, "bad")
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
            said = process.stderr.read()
    assert said.count("\n") == 1 and "packets around an exchange of --when are saved in" in said
    assert main(["decode", "pcap", said.split()[-1], "--api", "Produce", "--format", "jsonl", "-q"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    # What was under way when the moment ended has no answer.
    answers = [row["response"] for row in rows if row.get("response") is not None]
    codes = [answer["responses"][0]["partitionResponses"][0]["errorCode"] for answer in answers]
    assert codes.index(2) > 0


def produce_until(done: Callable[[], bool], bootstrap: str, topic: str) -> None:
    """Some records a second, for a minute at most, and some more."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap})
    until, more = time.monotonic() + 60, 5
    while more:
        assert time.monotonic() < until
        more -= done()
        producer.produce(topic, b"x")
        producer.flush()
        time.sleep(0.05)
