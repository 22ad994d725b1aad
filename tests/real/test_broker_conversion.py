"""KIP-283 through the wire: old clients read what new ones wrote, with memory that does not follow the response."""

import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from kcli.broker.embedded import embedded_broker
from tests.broker.processes import served
from tests.real.jvm import java
from tests.real.maven import compiled, jars

PARTITIONS, RECORDS, VALUE = 250, 250_000, b"v" * 1000
LIMIT = 200 << 20


def old_java(*arguments: str, **settings: str) -> tuple[int, str]:
    path = jars("kafka-clients", "0.10.2.2")
    options = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
    # The client has to hold a response of 250 MB, and its records.
    command = java([compiled("JavaClient.java", path), *path], "JavaClient", *arguments, *options, heap="2g")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def test_250_partitions_in_one_fetch_under_200_megabytes() -> None:
    """KIP-283's case: 250 partitions, 1 MB each a fetch, 250 MB a response, and a broker that may have 200 MB."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    with served("--topic", f"t:{PARTITIONS}", "--config", f"fetch.max.bytes={250 << 20}") as broker:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": broker.bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 300_000}
        )
        for number in range(RECORDS):
            producer.produce("t", VALUE, partition=number % PARTITIONS)
        assert producer.flush(120) == 0
        resource.prlimit(broker.process.pid, resource.RLIMIT_DATA, (LIMIT, LIMIT))
        code, said = old_java(
            "count",
            "t",
            str(RECORDS),
            "100",
            bootstrap_servers=broker.bootstrap,
            group_id="g",
            auto_offset_reset="earliest",
            fetch_max_bytes=str(250 << 20),
            max_partition_fetch_bytes=str(1 << 20),
            fetch_min_bytes="1",
        )
        assert (code, said.split()) == (0, [str(RECORDS), str(RECORDS * len(VALUE))]), said[-2000:]
        status = Path(f"/proc/{broker.process.pid}/status").read_text()
        assert int(status.partition("VmHWM:")[2].split()[0]) < LIMIT // 1024
        assert broker.stop() == 0


def test_where_it_is_disabled_the_old_client_is_told() -> None:
    """KIP-283: a 0.10 client is told that it can't read, a new one reads on."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    with embedded_broker(config={"log.message.downconversion.enable": "false"}) as server:
        producer = confluent_kafka.Producer({"bootstrap.servers": server.bootstrap_servers})
        producer.produce("t", VALUE)
        assert producer.flush(120) == 0
        settings = {"bootstrap_servers": server.bootstrap_servers, "group_id": "g", "auto_offset_reset": "earliest"}
        code, said = old_java("count", "t", "1", "5", **settings)
        # 0.10 knows no such error for a fetch: it says that something unexpected came.
        assert "0 0" in said or code != 0, said[-2000:]
        new = {"bootstrap.servers": server.bootstrap_servers, "group.id": "h", "auto.offset.reset": "earliest"}
        consumer = confluent_kafka.Consumer(new)
        consumer.subscribe(["t"])
        assert consumer.consume(1, 15)[0].value() == VALUE
        consumer.close()


@pytest.mark.parametrize("release", ["0.8.2.2", "0.9.0"])
def test_where_it_is_disabled_kcat_is_told_why(release: str) -> None:
    """librdkafka, told that the broker is so old, fetches v0 or v1; it knows the error by Kafka's words."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    kcat = shutil.which("kcat") or pytest.skip("kcat is not installed")
    pinned = ("-X", "api.version.request=false", "-X", f"broker.version.fallback={release}")
    for enabled in ("true", "false"):
        with embedded_broker(config={"log.message.downconversion.enable": enabled}) as server:
            producer = confluent_kafka.Producer({"bootstrap.servers": server.bootstrap_servers, "log_level": 0})
            producer.produce("t", VALUE, partition=0)
            assert producer.flush(120) == 0
            command = [kcat, "-b", server.bootstrap_servers, "-C", "-t", "t", "-p0", "-obeginning", "-e", *pinned]
            done = subprocess.run(command, capture_output=True, timeout=120, check=False)
            del producer
        if enabled == "true":
            assert (done.returncode, done.stdout) == (0, VALUE + b"\n")
        else:
            assert (done.returncode, done.stdout) == (1, b"")
            assert b"Broker: API version not supported" in done.stderr
