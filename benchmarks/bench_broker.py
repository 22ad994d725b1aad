"""The embedded broker: fetch sessions of 1,000 to 100,000 partitions (KIP-227's case), throughput beside librdkafka's
mock cluster and a real single-node Kafka, idle sessions, cold start.

    python -m benchmarks.bench_broker [--kafka] [--throughput] [--clients NAME...] [--partitions N...]

--kafka: a real Kafka 4.4 beside it (from Maven), for the sessions up to 10,000 partitions and the throughput.
"""

import argparse
import asyncio
import os
import re
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.client_speeds import BATCH, CLIENTS, Speeds
from benchmarks.turns import turn
from kcli.client.address import parse_bootstrap
from kcli.client.calls import call_of
from kcli.client.connection import BrokerConnection
from kcli.client.properties import ClientConfig
from kcli.errors import KcliError
from kcli.records import build_batch
from tests.broker.processes import served

FETCH, PRODUCE, METADATA, CREATE_TOPICS, CREATE_PARTITIONS = 1, 0, 3, 19, 37
DRAFT, INCREMENTAL_FETCH = "kip-227-draft", 30227
FULL_FETCHES, FETCHES = 15, 200
AT_ONCE = 5000
MAKING_SECONDS = 600
TOPICS, PARTITIONS, RECORDS, RECORD_BYTES = 10, 4, 16_000, 1000
ROUNDS = 3


class Peer:
    """A connection that measures: bytes of a request and its response, and seconds."""

    def __init__(self, connection: BrokerConnection, dialect: str | None) -> None:
        self.connection, self.dialect = connection, dialect

    async def ask(self, api_key: int, version: int, body: dict[str, Any]) -> tuple[dict[str, Any], int, int, float]:
        made = call_of(api_key, version, self.dialect)
        correlation = self.connection.next_correlation()
        frame = made.encode(correlation, "bench", body)
        start = time.perf_counter()
        answer = await self.connection.exchange(frame, correlation, made.name)
        seconds = time.perf_counter() - start
        return made.decode(answer), len(frame) + 4, len(answer) + 4, seconds


async def connect(bootstrap: str, dialect: str | None = None) -> Peer:
    address = parse_bootstrap([bootstrap])[0]
    config = ClientConfig({"bootstrap.servers": bootstrap, "request.timeout.ms": str(MAKING_SECONDS * 1000)})
    return Peer(await BrokerConnection.open(address, config), dialect)


async def make_topic(peer: Peer, partitions: int) -> str:
    """A topic with so many partitions; its id."""
    topic = {"name": f"many-{partitions}", "numPartitions": min(partitions, AT_ONCE), "replicationFactor": 1}
    await peer.ask(CREATE_TOPICS, 7, {"topics": [topic], "timeoutMs": MAKING_SECONDS * 1000})
    for count in range(2 * AT_ONCE, partitions + 1, AT_ONCE):
        # A KRaft controller makes no more than 10,000 partitions at once.
        more = {"name": topic["name"], "count": count, "assignments": None}
        await peer.ask(CREATE_PARTITIONS, 3, {"topics": [more], "timeoutMs": MAKING_SECONDS * 1000})
    until = time.monotonic() + MAKING_SECONDS
    while time.monotonic() < until:
        wanted = {"topics": [{"name": topic["name"]}], "allowAutoTopicCreation": False}
        answer = (await peer.ask(METADATA, 12, wanted))[0]["topics"][0]
        made = not answer["errorCode"] and len(answer["partitions"]) == partitions
        if made and await is_led(peer, topic["name"], partitions):
            return str(answer["topicId"])
        await asyncio.sleep(0.5)
    raise TimeoutError(f"not all of them had a leader after {MAKING_SECONDS} s")


async def is_led(peer: Peer, topic: object, partitions: int) -> bool:
    """Whether each partition answers; a real broker takes its time to make them."""
    rows = [{"partitionIndex": at, "timestamp": -1} for at in range(partitions)]
    answer = (await peer.ask(2, 5, {"replicaId": -1, "topics": [{"name": topic, "partitions": rows}]}))[0]
    return not any(each["errorCode"] for each in answer["topics"][0]["partitions"])


async def produce(peer: Peer, topic: str, partition: int) -> None:
    records = build_batch([(1, None, b"changed", ())])
    data = [{"name": topic, "partitionData": [{"index": partition, "records": records}]}]
    await peer.ask(PRODUCE, 9, {"acks": 1, "timeoutMs": 1000, "topicData": data})


class Final:
    """Fetch v15 and its sessions."""

    name = "final"

    def __init__(self, topic: str, topic_id: str) -> None:
        self.topic, self.topic_id, self.session, self.epoch = topic, topic_id, 0, 0

    def request(self, moved: dict[int, int]) -> tuple[int, int, dict[str, Any]]:
        rows = [{"partition": at, "fetchOffset": offset, "partitionMaxBytes": 1 << 20} for at, offset in moved.items()]
        body: dict[str, Any] = {"maxWaitMs": 500, "minBytes": 1, "sessionId": self.session, "sessionEpoch": self.epoch}
        return FETCH, 15, body | {"topics": [{"topicId": self.topic_id, "partitions": rows}] if rows else []}

    def take(self, answer: dict[str, Any]) -> int:
        assert answer["errorCode"] == 0, answer["errorCode"]
        self.session, self.epoch = answer["sessionId"], self.epoch + 1
        return sum(len(topic["partitions"]) for topic in answer["responses"])


class Drafted:
    """The draft's full fetch (v7-draft) and its IncrementalFetch."""

    name = "draft"

    def __init__(self, topic: str, topic_id: str) -> None:
        self.topic, self.uuid = topic, 0

    def request(self, moved: dict[int, int]) -> tuple[int, int, dict[str, Any]]:
        if not self.uuid:
            most = {"partitionMaxBytes": 1 << 20}
            wanted = [most | {"partition": at, "fetchOffset": offset} for at, offset in moved.items()]
            full: dict[str, Any] = {"maxWaitMs": 500, "minBytes": 1, "isolationLevel": 0}
            return FETCH, 7, full | {"topics": [{"topic": self.topic, "partitions": wanted}]}
        rows = [{"partitionId": str(at), "fetchOffset": offset, "maxBytes": 1 << 20} for at, offset in moved.items()]
        body: dict[str, Any] = {"uuid": self.uuid, "maxWaitTime": 500, "minBytes": 1, "isolationLevel": 0}
        return INCREMENTAL_FETCH, 0, body | {"topics": [{"topicName": self.topic, "partitions": rows}] if rows else []}

    def take(self, answer: dict[str, Any]) -> int:
        assert answer.get("errorCode", 0) == 0, answer["errorCode"]
        self.uuid = answer["uuid"]
        topics = answer.get("topics", answer.get("responses", ()))
        return sum(len(topic["partitions"]) for topic in topics)


async def measure_session(bootstrap: str, kind: type[Final | Drafted], partitions: int, label: str) -> None:
    """Full fetches, each of a new session; in the last one's, one partition changed before each incremental one."""
    peer = await connect(bootstrap, DRAFT if kind is Drafted else None)
    topic_id = await make_topic(peer, partitions)
    topic = f"many-{partitions}"
    start = await produced_before(peer, topic)
    fulls = []
    turn()
    for _ in range(FULL_FETCHES):
        session = kind(topic, topic_id)
        key, version, body = session.request(dict.fromkeys(range(partitions), 0) | {0: start})
        full = await peer.ask(key, version, body | {"maxWaitMs": 0})
        session.take(full[0])
        fulls.append(full[3])
    moved: dict[int, int] = {}
    rows = []
    turn()
    for number in range(FETCHES):
        await produce(peer, topic, 0)
        answer = await peer.ask(*session.request(moved))
        reported = session.take(answer[0])
        moved = {0: start + number + 1}
        if reported == 1:
            rows.append(answer[1:])
    sent, got = (statistics.median(row[at] for row in rows) for at in (0, 1))
    millis = statistics.median(row[2] for row in rows) * 1000
    saved = (full[1] + full[2]) / (sent + got)
    whole = f"full {full[1] + full[2]:>11,} bytes {statistics.median(fulls) * 1000:8.1f} ms"
    part = f"incremental {sent + got:4.0f} bytes {millis:6.3f} ms"
    print(f"   {label:6} {kind.name:6}{partitions:8} partitions   {whole}   {part}   bytes 1/{saved:,.0f}")
    await peer.connection.close()


async def produced_before(peer: Peer, topic: str) -> int:
    body = {"topics": [{"name": topic, "partitions": [{"partitionIndex": 0, "timestamp": -1}]}]}
    answer = (await peer.ask(2, 5, body))[0]
    return int(answer["topics"][0]["partitions"][0]["offset"])


def bench_sessions(counts: list[int], kafka: str | None) -> None:
    print(f"   KIP-227: full fetches (median of {FULL_FETCHES}), then one partition changes before each (of {FETCHES})")
    with served("--schema", DRAFT) as broker:
        for kind in (Final, Drafted):
            for partitions in counts:
                asyncio.run(measure_session(broker.bootstrap, kind, partitions, "kcli"))
    for partitions in (1_000, 10_000) if kafka else ():
        try:
            asyncio.run(measure_session(kafka or "", Final, partitions, "Kafka"))
        except (TimeoutError, KcliError) as error:
            print(f"   Kafka  {partitions} partitions: {error}")


# --- throughput


@contextmanager
def mock_cluster(confluent_kafka: Any) -> Iterator[str]:
    """librdkafka's own mock cluster, in this process; its address stands in what it logs."""
    said = tempfile.TemporaryFile()  # noqa: SIM115  holds stderr for a moment
    kept = os.dup(2)
    os.dup2(said.fileno(), 2)
    try:
        mock = confluent_kafka.Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1})
        mock.poll(0.2)
    finally:
        os.dup2(kept, 2)
        os.close(kept)
    said.seek(0)
    found = re.search(rb"replaced with (127\.0\.0\.1:\d+)", said.read())
    assert found is not None, "the mock cluster did not say where it is"
    yield found[1].decode()
    del mock


def bench_throughput(kafka: str | None, clients: list[str]) -> None:
    """Every client against every broker in turn, some rounds. The mock keeps the last 5 MB of a partition, so there are
    many partitions with a little less; kafka-python, the slowest, has fewer records."""
    import confluent_kafka

    print(
        f"   {RECORD_BYTES} byte records in {TOPICS * PARTITIONS} partitions, acks=all, {BATCH // 1000} kB a batch and"
    )
    print(f"   as much of a partition in a fetch; brokers in turn, median of {ROUNDS} after a first one (MB/s)")
    with served("--config", f"num.partitions={PARTITIONS}") as broker, mock_cluster(confluent_kafka) as mock:
        servers = {"kcli": broker.bootstrap, "mock": mock} | ({"Kafka": kafka} if kafka else {})
        for client in clients:
            measure_client(client, CLIENTS[client], servers, RECORDS // 4 if client == "kafka-python" else RECORDS)


def measure_client(client: str, speeds: Speeds, servers: dict[str, str], records: int) -> None:
    figures: dict[tuple[str, str], list[float]] = {}
    left = dict(servers)
    for run in range(ROUNDS + 1):
        turn()
        topics = [f"speed-{client}-{run}-{at}" for at in range(TOPICS)]
        for name, bootstrap in list(left.items()):
            try:
                for what, work in (("produce", speeds.produce), ("consume", speeds.consume)):
                    speed = work(bootstrap, topics, records)
                    figures.setdefault((what, name), []).append(speed)
            except Exception as error:
                # A client that can't do with a broker is no end of the bench.
                print(f"   {client} with {name}: {str(error).strip()[-200:]}", flush=True)
                del left[name]
    medians = {place: statistics.median(found[1:] or found) for place, found in figures.items()}
    for (what, name), speed in sorted(medians.items()):
        ratio = medians.get((what, "kcli"), 0.0) / speed
        print(f"   {client:12} {what:8} {name:6} {speed:8.0f}   kcli / {name} {ratio:5.2f}", flush=True)


# --- idle sessions and cold start


def bench_idle(sessions: int = 1000) -> None:
    async def work(bootstrap: str, pid: int) -> None:
        maker = await connect(bootstrap)
        topic_id = await make_topic(maker, 10)
        before = memory(pid)
        peers = [await connect(bootstrap) for _ in range(sessions)]
        for peer in peers:
            made = Final("many-10", topic_id)
            key, version, body = made.request(dict.fromkeys(range(10), 0))
            body["maxWaitMs"] = 0
            made.take((await peer.ask(key, version, body))[0])
            key, version, body = made.request({})
            body["maxWaitMs"] = 60_000
            frame = call_of(key, version, None).encode(0, "idle", body)
            peer.connection.exchange(frame, None, "fetch", seconds=120).add_done_callback(
                lambda future: future.exception()
            )
        await asyncio.sleep(0.5)
        used = cpu(pid)
        await asyncio.sleep(3)
        idle = (cpu(pid) - used) / 3
        each = (memory(pid) - before) / sessions
        what = f"{sessions} connections, a session of 10 partitions and a waiting fetch each"
        print(f"   {what}: {each:.1f} KiB each, CPU {idle * 100:.1f} %")
        for peer in peers:
            await peer.connection.close()

    with served("--config", "max.incremental.fetch.session.cache.slots=100000") as broker:
        asyncio.run(work(broker.bootstrap, broker.process.pid))


def memory(pid: int) -> int:
    """KiB resident."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0])


def cpu(pid: int) -> float:
    """Seconds used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bench_cold_start() -> None:
    async def first_answer(bootstrap: str) -> None:
        peer = await connect(bootstrap)
        await peer.ask(METADATA, 12, {"topics": None})
        await peer.connection.close()

    seconds = []
    for _ in range(5):
        turn()
        start = time.perf_counter()
        with served() as broker:
            asyncio.run(first_answer(broker.bootstrap))
            seconds.append(time.perf_counter() - start)
    median = statistics.median(seconds)
    print(f"   cold start to the first answered request: {min(seconds):.3f} s best, {median:.3f} s median of 5")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kafka", action="store_true")
    options.add_argument("--throughput", action="store_true", help="nothing else")
    options.add_argument("--clients", nargs="*", default=list(CLIENTS), choices=list(CLIENTS))
    options.add_argument("--partitions", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    given = options.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard != resource.RLIM_INFINITY else max(soft, 8192), hard))
    if not given.throughput:
        bench_cold_start()
        bench_idle()
    if not given.kafka:
        bench_brokers(given, None)
        return
    from tests.real.lab import Cluster

    with Cluster(
        "4.4.0", config={"num.partitions": PARTITIONS, "log.index.size.max.bytes": 65536}, heap="1g"
    ) as cluster:
        bench_brokers(given, cluster.bootstrap)


def bench_brokers(given: argparse.Namespace, kafka: str | None) -> None:
    if not given.throughput:
        bench_sessions(given.partitions, kafka)
    bench_throughput(kafka, given.clients)


if __name__ == "__main__":
    main()
