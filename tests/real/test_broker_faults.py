"""Faults on demand, and clients that others wrote: each of them comes through as it does with Kafka.

A producer with acks=all and idempotence must neither lose nor double a record, whatever happens to its requests; a
consumer that subscribes must read all of them.
"""

import time
from typing import Any

import pytest

from tests.broker.processes import served
from tests.real.commands import commands
from tests.real.maven import compiled, jars

confluent_kafka = pytest.importorskip("confluent_kafka")

COUNT = 300
RULES = {
    "not leader": [
        "api=Produce,topic=t,error=NOT_LEADER_OR_FOLLOWER,count=3",
        "api=Fetch,topic=t,error=NOT_LEADER_OR_FOLLOWER,count=3",
    ],
    "storage": ["api=Produce,error=KAFKA_STORAGE_ERROR,count=2", "api=Fetch,error=KAFKA_STORAGE_ERROR,count=2"],
    "late": ["api=Produce+Fetch+JoinGroup,delay=100,every=3"],
    "lost answers": ["api=Produce,drop,count=2"],
    "closed in mid-answer": ["api=Produce,close=5,after=1,count=3", "api=Fetch,close=30,after=1,count=3"],
    "pieces": ["split=11,count=60"],
    "evicted": ["api=Fetch,evict,every=2,count=5"],
    "no coordinator": [
        "api=FindCoordinator,error=COORDINATOR_NOT_AVAILABLE,count=2",
        "api=JoinGroup,error=NOT_COORDINATOR,count=2",
    ],
    "rebalance": [
        "api=SyncGroup,error=REBALANCE_IN_PROGRESS,count=2",
        "api=OffsetCommit,error=REBALANCE_IN_PROGRESS,count=1",
    ],
    "no leader yet": ["api=Metadata,topic=t,error=LEADER_NOT_AVAILABLE,count=3"],
    "closed at random": ["api=Produce+Fetch,close,probability=0.2,count=10"],
}


def options(rules: list[str]) -> list[str]:
    return ["--topic", "t:2", "--seed", "4", *(part for rule in rules for part in ("--fault", rule))]


@pytest.mark.parametrize("name", list(RULES))
def test_librdkafka(name: str) -> None:
    with served(*options(RULES[name])) as broker:
        common: dict[str, Any] = {"bootstrap.servers": broker.bootstrap, "log_level": 0, "reconnect.backoff.ms": 20}
        producer = confluent_kafka.Producer(
            common
            | {
                "enable.idempotence": True,
                "request.timeout.ms": 1000,
                "socket.timeout.ms": 1500,
                "linger.ms": 1,
                "batch.num.messages": 20,
            }
        )
        failed: list[object] = []
        for number in range(COUNT):
            producer.produce("t", b"%d" % number, on_delivery=lambda error, _: failed.append(error) if error else None)
        assert producer.flush(120) == 0
        assert not failed
        consumer = confluent_kafka.Consumer(
            common | {"group.id": "g", "auto.offset.reset": "earliest", "session.timeout.ms": 6000}
        )
        consumer.subscribe(["t"])
        got: list[int] = []
        until = time.monotonic() + 120
        while len(got) < COUNT and time.monotonic() < until:
            got += [int(each.value()) for each in consumer.consume(COUNT, 0.3) if each.error() is None]
        consumer.close()
        assert sorted(got) == list(range(COUNT))


@pytest.mark.parametrize("name", ["not leader", "lost answers", "closed in mid-answer", "evicted"])
def test_java(name: str) -> None:
    path = jars("kafka-clients", "4.4.0")
    classes = [compiled("JavaClient.java", path), *path]
    with served(*options(RULES[name])) as broker:
        where = f"bootstrap.servers={broker.bootstrap}"
        settings = [
            "acks=all",
            "enable.idempotence=true",
            "request.timeout.ms=1000",
            "delivery.timeout.ms=100000",
            "batch.size=400",
        ]
        done = commands(classes).run("JavaClient", "produce", "t", "0", str(COUNT), where, *settings)
        sent = done.stdout.decode().splitlines()
        assert len(sent) == COUNT
        assert not [line for line in sent if line.startswith("failed")]
        group = ["group.id=g", "auto.offset.reset=earliest"]
        done = commands(classes).run("JavaClient", "consume", "t", str(COUNT), "100", where, *group)
        numbers = sorted(int(line.split()[2].rstrip("x")) for line in done.stdout.decode().splitlines())
        assert numbers == list(range(COUNT))


def test_what_no_client_can_mend_is_told() -> None:
    """A fatal error reaches the caller, by Kafka's name."""
    with served(*options(["api=Produce,error=TOPIC_AUTHORIZATION_FAILED"])) as broker:
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        answer: list[str] = []
        producer.produce("t", b"x", on_delivery=lambda error, _: answer.append(error.name()))
        producer.flush(10)
        assert answer == ["TOPIC_AUTHORIZATION_FAILED"]
