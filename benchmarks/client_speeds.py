"""Clients of other makers, each with the same two jobs: write records of so many bytes, and read them all. MB/s."""

import os
import time
from typing import Any, Protocol

from tests.real.jvm import run_java
from tests.real.maven import compiled, jars

__all__ = ["BATCH", "CLIENTS", "Speeds"]

# What all of them send at once to a partition, and fetch of it at once: 100 records, so that every broker answers with
# as much (librdkafka's mock cluster gives one batch of each partition, whatever the fetch allows).
BATCH = 102_400
RECORD_BYTES = 1000


class Speeds(Protocol):
    """records: for each topic, spread over its partitions."""

    def produce(self, bootstrap: str, topics: list[str], records: int) -> float: ...

    def consume(self, bootstrap: str, topics: list[str], records: int) -> float:
        """From when the first came."""
        ...


def rate(topics: list[str], records: int, seconds: float) -> float:
    return len(topics) * records * RECORD_BYTES / 1e6 / seconds


class Librdkafka:
    """confluent-kafka, partitions assigned."""

    def produce(self, bootstrap: str, topics: list[str], records: int) -> float:
        import confluent_kafka

        settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 0, "linger.ms": 5}
        producer = confluent_kafka.Producer(
            settings | {"batch.num.messages": BATCH // 1024, "queue.buffering.max.kbytes": 1_000_000}
        )
        value = os.urandom(RECORD_BYTES)
        sizes = [len(self.partitions(producer, topic)) for topic in topics]
        start = time.perf_counter()
        for number in range(records):
            for topic, partitions in zip(topics, sizes, strict=True):
                while True:
                    try:
                        producer.produce(topic, value, partition=number % partitions)
                        break
                    except BufferError:
                        producer.poll(0.01)
            if number % 100 == 0:
                producer.poll(0)
        producer.flush()
        return rate(topics, records, time.perf_counter() - start)

    def consume(self, bootstrap: str, topics: list[str], records: int) -> float:
        import confluent_kafka

        settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 0, "group.id": "bench"}
        settings |= {"fetch.wait.max.ms": 10, "max.partition.fetch.bytes": BATCH}
        consumer = confluent_kafka.Consumer(settings | {"queued.max.messages.kbytes": 1_000_000})
        places = [
            confluent_kafka.TopicPartition(topic, at, 0) for topic in topics for at in self.partitions(consumer, topic)
        ]
        consumer.assign(places)
        got, start, first = 0, 0.0, 0
        while got < len(topics) * records:
            messages = consumer.consume(10_000, 5.0)
            assert messages, f"{got} records came"
            got += len(messages)
            if not start:
                start, first = time.perf_counter(), got
        seconds = time.perf_counter() - start
        consumer.close()
        return (got - first) * RECORD_BYTES / 1e6 / seconds

    def partitions(self, client: Any, topic: str) -> list[int]:
        """Asking for a topic makes it; a real broker takes its time."""
        until = time.monotonic() + 30
        while not (found := list(client.list_topics(topic, timeout=30).topics[topic].partitions)):
            assert time.monotonic() < until, f"{topic} has no partitions"
            time.sleep(0.1)
        return found


class Java:
    """kafka-clients 4.4.0 in a JVM of its own, whose start does not count; a group of one."""

    def produce(self, bootstrap: str, topics: list[str], records: int) -> float:
        settings = {"acks": "all", "linger.ms": 5, "batch.size": BATCH, "buffer.memory": 128 << 20}
        settings |= {"max.block.ms": 15_000}
        (millis,) = self.run("fill", topics, records, RECORD_BYTES, settings | {"bootstrap.servers": bootstrap})
        return rate(topics, records, int(millis) / 1000)

    def consume(self, bootstrap: str, topics: list[str], records: int) -> float:
        settings = {"group.id": f"java-{time.time_ns()}", "auto.offset.reset": "earliest", "fetch.max.wait.ms": 10}
        settings |= {"max.partition.fetch.bytes": BATCH, "max.poll.records": 10_000, "bootstrap.servers": bootstrap}
        wanted = len(topics) * records
        got, _, millis = self.run("time", topics, wanted, 60, settings)
        assert int(got) >= wanted, f"{got} of {wanted} records came"
        return rate(topics, records, int(millis) / 1000)

    def run(self, what: str, topics: list[str], *arguments: Any) -> list[str]:
        *numbers, settings = arguments
        path = jars("kafka-clients", "4.4.0")
        options = [f"{name}={value}" for name, value in settings.items()]
        words = [what, ",".join(topics), *map(str, numbers), *options]
        done = run_java([compiled("JavaClient.java", path), *path], "JavaClient", *words)
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        return done.stdout.decode().split()


class KafkaPython:
    """kafka-python, partitions assigned."""

    def produce(self, bootstrap: str, topics: list[str], records: int) -> float:
        import kafka

        producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=5, batch_size=BATCH)
        value = os.urandom(RECORD_BYTES)
        sizes = [len(producer.partitions_for(topic)) for topic in topics]
        start = time.perf_counter()
        for number in range(records):
            for topic, partitions in zip(topics, sizes, strict=True):
                producer.send(topic, value, partition=number % partitions)
        producer.flush()
        seconds = time.perf_counter() - start
        producer.close()
        return rate(topics, records, seconds)

    def consume(self, bootstrap: str, topics: list[str], records: int) -> float:
        import kafka

        consumer = kafka.KafkaConsumer(
            bootstrap_servers=bootstrap,
            fetch_max_wait_ms=10,
            max_partition_fetch_bytes=BATCH,
            max_poll_records=10_000,
            auto_offset_reset="earliest",
        )
        consumer.assign(
            [kafka.TopicPartition(topic, at) for topic in topics for at in consumer.partitions_for_topic(topic)]
        )
        got, start, first, until = 0, 0.0, 0, time.monotonic() + 120
        while got < len(topics) * records and time.monotonic() < until:
            got += sum(map(len, consumer.poll(1000).values()))
            if got and not start:
                start, first = time.perf_counter(), got
        seconds = time.perf_counter() - start
        consumer.close()
        assert got >= len(topics) * records, f"{got} records came"
        return (got - first) * RECORD_BYTES / 1e6 / seconds


CLIENTS: dict[str, Speeds] = {"librdkafka": Librdkafka(), "Java": Java(), "kafka-python": KafkaPython()}
