"""Clients of many kinds, each with its part of the protocol, as they reach a cluster through `kcli proxy`.

    python -m tests.real.proxied_clients [WORD...]    before each listener of 4.4 and of 3.9; those with each WORD

prints how many exchanges the proxy has saved, how many of them the brokers' logs have, and where they differ.
"""

import asyncio
import contextlib
import json
import ssl
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kcli.client.oauth import unsecured_token
from tests.inside import kcli
from tests.proxy.processes import Proxied, proxied
from tests.real.commands import commands
from tests.real.lab import SCRAM, USERS, Cluster
from tests.real.maven import compiled, jars
from tests.request_log import key, unlike

__all__ = [
    "CLIENTS", "LISTENERS", "OAUTHBEARER", "Compared", "Listener", "Login", "Speak", "compare", "marks", "passing",
    "speak_java_34", "speak_java_transactions", "speak_librdkafka",
]  # fmt: skip

COUNT = 100
SECONDS = 60
USER, PASSWORD = next(iter(USERS.items()))
MODULES = "org.apache.kafka.common.security"
OAUTHBEARER = {
    "sasl.enabled.mechanisms": ",".join(("PLAIN", *SCRAM, "OAUTHBEARER")),
    **{
        f"listener.name.{name}.oauthbearer.sasl.jaas.config": f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;"
        for name in ("sasl", "sasltls")
    },
}  # of a cluster that takes tokens without a signature
RENAMED = {"TXN_OFFSET_COMMIT": [("generationId", "generationIdOrMemberEpoch")]}  # between 3.9 and 4.4
BEFORE_LOGIN = (17, 18, 36)  # SASL, and the ApiVersions before it: brokers do not log them


class Login(NamedTuple):
    """How a client speaks with the proxy. ca: the file of the CA that it trusts, "": plaintext; mechanism: of SASL."""

    ca: str = ""
    mechanism: str = ""

    @property
    def protocol(self) -> str:
        """As security.protocol has it."""
        return ("SASL_" if self.mechanism else "") + ("SSL" if self.ca else "PLAINTEXT")

    def java(self) -> dict[str, str]:
        """Properties of a Java client."""
        made = {"security.protocol": self.protocol}
        if self.ca:
            made |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": self.ca}
        if self.mechanism:
            name, options = "scram.Scram", f'username="{USER}" password="{PASSWORD}"'
            if self.mechanism == "PLAIN":
                name = "plain.Plain"
            elif self.mechanism == "OAUTHBEARER":
                name, options = "oauthbearer.OAuthBearer", f'unsecuredLoginStringClaim_sub="{USER}"'
            jaas = f"{MODULES}.{name}LoginModule required {options};"
            made |= {"sasl.mechanism": self.mechanism, "sasl.jaas.config": jaas}
        return made

    def librdkafka(self) -> dict[str, Any]:
        """Properties of a client of librdkafka."""
        made: dict[str, Any] = {"security.protocol": self.protocol}
        if self.ca:
            made |= {"ssl.ca.location": self.ca}
        if self.mechanism == "OAUTHBEARER":
            config = {"enable.sasl.oauthbearer.unsecure.jwt": True, "sasl.oauthbearer.config": f"principal={USER}"}
            return made | {"sasl.mechanism": self.mechanism} | config
        if self.mechanism:
            made |= {"sasl.mechanism": self.mechanism, "sasl.username": USER, "sasl.password": PASSWORD}
        return made

    def kafka_python(self) -> dict[str, Any]:
        """Arguments of kafka-python."""
        made: dict[str, Any] = {"security_protocol": self.protocol}
        if self.ca:
            made |= {"ssl_cafile": self.ca}
        if self.mechanism == "OAUTHBEARER":
            from kafka.net.sasl.oauth import AbstractTokenProvider

            class Provider(AbstractTokenProvider):  # type: ignore[misc]
                def token(self) -> str:
                    return new_token()

            return made | {"sasl_mechanism": self.mechanism, "sasl_oauth_token_provider": Provider()}
        return made | self._plain_names()

    def aiokafka(self) -> dict[str, Any]:
        """Arguments of aiokafka."""
        made: dict[str, Any] = {"security_protocol": self.protocol}
        if self.ca:
            made |= {"ssl_context": ssl.create_default_context(cafile=self.ca)}
        if self.mechanism == "OAUTHBEARER":
            from aiokafka.abc import AbstractTokenProvider

            class Provider(AbstractTokenProvider):  # type: ignore[misc]
                async def token(self) -> str:
                    return new_token()

            return made | {"sasl_mechanism": self.mechanism, "sasl_oauth_token_provider": Provider()}
        return made | self._plain_names()

    def _plain_names(self) -> dict[str, str]:
        if not self.mechanism:
            return {}
        return {"sasl_mechanism": self.mechanism, "sasl_plain_username": USER, "sasl_plain_password": PASSWORD}


def new_token() -> str:
    """Of the form that Kafka takes where nothing else is configured."""
    return unsecured_token({"unsecuredLoginStringClaim_sub": USER}, time.time())


# --- what clients do


def run_java(version: str, main: str, *arguments: str, login: Login, settings: dict[str, str]) -> list[str]:
    """The lines that one of our Java programs prints with a release's clients."""
    path = jars("kafka-clients", version)
    given = login.java() | settings
    options = [f"{name}={value}" for name, value in given.items()]
    done = commands([compiled(f"{main}.java", path), *path]).run(main, *arguments, *options)
    assert done.code == 0, done.stderr.decode()[-3000:]
    return done.stdout.decode().splitlines()


def speak_java(bootstrap: str, login: Login, version: str = "4.4.0", protocol: str = "") -> None:
    """Produce, and consume in a group."""
    topic = produce_by_java(bootstrap, login, version)
    settings = {"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"}
    settings |= {"group.protocol": protocol} if protocol else {}
    arguments = "consume", topic, str(COUNT), str(SECONDS)
    assert len(run_java(version, "JavaClient", *arguments, login=login, settings=settings)) == COUNT


def produce_by_java(bootstrap: str, login: Login, version: str) -> str:
    """The topic of the records."""
    topic = new_topic("java", bootstrap, login)
    arguments = "produce", topic, "0", str(COUNT)
    sent = run_java(version, "JavaClient", *arguments, login=login, settings={"bootstrap.servers": bootstrap})
    failed = [line for line in sent if line.startswith("failed")]
    assert not failed, failed
    return topic


def speak_java_in_a_new_group(bootstrap: str, login: Login) -> None:
    """KIP-848."""
    speak_java(bootstrap, login, protocol="consumer")


def speak_java_transactions(bootstrap: str, login: Login, version: str = "4.4.0") -> None:
    """KIP-98, KIP-447 and, where both sides know it, KIP-890."""
    topic = new_topic("transactions", bootstrap, login, "-out")
    arguments = topic, str(COUNT), str(SECONDS)
    settings = {"bootstrap.servers": bootstrap}
    assert run_java(version, "JavaTransactions", *arguments, login=login, settings=settings) == [str(COUNT)]


def speak_java_share_group(bootstrap: str, login: Login) -> None:
    """KIP-932."""
    topic = produce_by_java(bootstrap, login, "4.4.0")
    settings = {"bootstrap.servers": bootstrap, "group.id": topic}
    (line,) = run_java("4.4.0", "JavaShareGroup", topic, str(COUNT), str(SECONDS), login=login, settings=settings)
    accepted, released = map(int, line.split())
    assert (accepted, released > 0) == (COUNT, True)


def speak_java_39(bootstrap: str, login: Login) -> None:
    """The last of the 3.x clients."""
    speak_java(bootstrap, login, "3.9.1")
    speak_java_transactions(bootstrap, login, "3.9.1")


def speak_java_34(bootstrap: str, login: Login) -> None:
    """One in their middle."""
    speak_java(bootstrap, login, "3.4.1")
    speak_java_transactions(bootstrap, login, "3.4.1")


def speak_librdkafka(bootstrap: str, login: Login, protocol: str = "classic") -> None:
    """Transactions, and a group that reads what was committed."""
    from confluent_kafka import Consumer, Producer

    topic = new_topic("librdkafka", bootstrap, login)
    known = login.librdkafka() | {"bootstrap.servers": bootstrap}
    producer = Producer(known | {"transactional.id": topic})
    producer.init_transactions(SECONDS)
    for finish in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for number in range(COUNT):
            producer.produce(topic, key=str(number), value=f"{finish.__name__} {number}")
        producer.flush()
        finish(SECONDS)
    group = {"group.id": topic, "auto.offset.reset": "earliest", "group.protocol": protocol}
    consumer = Consumer(known | group)
    consumer.subscribe([topic])
    got: list[Any] = []
    until = time.monotonic() + SECONDS
    while len(got) < COUNT and time.monotonic() < until:
        got += [each for each in consumer.consume(COUNT, 0.2) if not each.error()]
    assert len(got) == COUNT
    producer.begin_transaction()
    producer.produce(topic + "-out", "x")
    producer.send_offsets_to_transaction(
        consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), SECONDS
    )
    producer.commit_transaction(SECONDS)
    consumer.close()


def speak_librdkafka_in_a_new_group(bootstrap: str, login: Login) -> None:
    """KIP-848."""
    speak_librdkafka(bootstrap, login, "consumer")


def speak_librdkafka_share_group(bootstrap: str, login: Login) -> None:
    """KIP-932."""
    from confluent_kafka import Producer, ShareConsumer, admin

    topic = new_topic("librdkafka-shared", bootstrap, login)
    known = login.librdkafka() | {"bootstrap.servers": bootstrap}
    names: Any = admin  # not all that it exports is said to be exported
    earliest = names.ConfigEntry(
        "share.auto.offset.reset", "earliest", incremental_operation=names.AlterConfigOpType.SET
    )
    group = names.ConfigResource(names.ResourceType.GROUP, topic, incremental_configs=[earliest])
    client = admin.AdminClient(known)
    for future in client.incremental_alter_configs([group]).values():
        future.result()
    producer = Producer(known)
    for number in range(COUNT):
        producer.produce(topic, str(number))
    producer.flush()
    got = 0
    until = time.monotonic() + SECONDS
    with ShareConsumer(known | {"group.id": topic}) as consumer:
        consumer.subscribe([topic])
        while got < COUNT and time.monotonic() < until:
            got += sum(each.error() is None for each in consumer.poll(0.2))
    assert got == COUNT


def speak_kafka_python(bootstrap: str, login: Login) -> None:
    """Produce, and consume in a group."""
    from kafka import KafkaConsumer, KafkaProducer

    topic = new_topic("kafka-python", bootstrap, login)
    known = login.kafka_python() | {"bootstrap_servers": bootstrap.split(",")}
    producer = KafkaProducer(**known)
    for number in range(COUNT):
        producer.send(topic, value=str(number).encode())
    producer.flush()
    producer.close()
    group = {"group_id": topic, "auto_offset_reset": "earliest", "consumer_timeout_ms": SECONDS * 1000}
    consumer = KafkaConsumer(topic, **known, **group)
    for _ in range(COUNT):
        next(consumer)
    consumer.close()


def speak_aiokafka(bootstrap: str, login: Login) -> None:
    """A transaction, and a group that reads what was committed."""
    asyncio.run(speak_async(bootstrap, login))


async def speak_async(bootstrap: str, login: Login) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    topic = new_name("aiokafka")
    known = login.aiokafka() | {"bootstrap_servers": bootstrap}
    async with AIOKafkaProducer(**known, transactional_id=topic) as producer, producer.transaction():
        for number in range(COUNT):
            await producer.send(topic, value=str(number).encode())
    group = {"group_id": topic, "auto_offset_reset": "earliest", "isolation_level": "read_committed"}
    async with AIOKafkaConsumer(topic, **known, **group) as consumer:
        for _ in range(COUNT):
            await asyncio.wait_for(consumer.getone(), SECONDS)


def new_name(start: str) -> str:
    """Of a topic that nothing else uses."""
    return f"{start}-{uuid.uuid4().hex[:8]}"


def new_topic(start: str, bootstrap: str, login: Login, *more: str) -> str:
    """The name of a new topic whose leaders serve it; more: endings of others' names.

    A broker before 4.5 that does not know yet that it leads refuses a producer's first batch, may take the second, and
    then keeps the first out until it times out (KAFKA-15591).
    """
    from confluent_kafka import KafkaException, TopicPartition, admin

    names: Any = admin  # not all that it exports is said to be exported
    client = names.AdminClient(login.librdkafka() | {"bootstrap.servers": bootstrap})
    name = new_name(start)
    topics = [name + ending for ending in ("", *more)]
    for future in client.create_topics([names.NewTopic(each) for each in topics]).values():
        future.result()
    until = time.monotonic() + SECONDS
    for each in topics:
        while True:
            try:
                partitions = client.list_topics(each, SECONDS).topics[each].partitions
                asked = {TopicPartition(each, index): names.OffsetSpec.latest() for index in partitions}
                for answer in client.list_offsets(asked).values():
                    answer.result()
            except KafkaException:
                partitions = {}
            if partitions:
                break
            assert time.monotonic() < until, each
            time.sleep(0.05)
    return name


Speak = Callable[[str, Login], None]
CLIENTS: tuple[Speak, ...] = (
    speak_java, speak_java_in_a_new_group, speak_java_transactions, speak_java_share_group, speak_java_39,
    speak_java_34, speak_librdkafka, speak_librdkafka_in_a_new_group, speak_librdkafka_share_group,
    speak_kafka_python, speak_aiokafka,
)  # fmt: skip
NEW = (speak_java_in_a_new_group, speak_java_share_group, speak_librdkafka_in_a_new_group, speak_librdkafka_share_group)


# --- before a cluster


class Listener(NamedTuple):
    """How a proxy stands before a cluster. name: of the cluster's listener; tls: on both sides."""

    name: str
    tls: bool = False
    mechanism: str = ""


LISTENERS = (
    Listener("PLAINTEXT"), Listener("TLS", tls=True), Listener("SASL", mechanism="PLAIN"),
    Listener("SASL", mechanism="SCRAM-SHA-256"), Listener("SASLTLS", True, "SCRAM-SHA-512"),
    Listener("SASL", mechanism="OAUTHBEARER"), Listener("SASLTLS", True, "OAUTHBEARER"),
)  # fmt: skip


@contextlib.contextmanager
def passing(cluster: Cluster, listener: Listener, out: Path) -> Iterator[tuple[Proxied, Login]]:
    """A proxy, and how clients reach it. out: where it saves what passes."""
    trust = ["security.protocol=SSL", f"ssl.truststore.location={cluster.ca_file}"] if listener.tls else []
    options = [word for each in trust for word in ("--config", each)] + ["--tls"] * listener.tls
    with proxied("--bootstrap", cluster.addresses(listener.name), "-o", str(out), *options) as proxy:
        ca = proxy.said["ssl.truststore.location"].partition(" (")[0] if listener.tls else ""
        yield proxy, Login(ca, listener.mechanism)


class Compared(NamedTuple):
    """saved: exchanges in a capture; logged: those that the brokers' logs have; unlike: what is said otherwise.

    missing: exchanges with a response that the logs should have; past: exchanges of the same clients in the logs that
    the capture does not have.
    """

    saved: int
    logged: int
    unlike: list[str]
    missing: list[str]
    past: list[str]


def compare(cluster: Cluster, out: Path, before: dict[int, int], gone: int = 0) -> Compared:
    """What a proxy saved beside the brokers' own logs. before: how many rows each of those had.

    gone: the port of a broker that was stopped; what it had under way then is not in its log.
    """
    lines = kcli("decode", "pcap", str(out), "--format", "jsonl", "-q").stdout.splitlines()
    ours = {key(row): row for line in lines if "requestHeader" in (row := json.loads(line))}
    until = time.monotonic() + 60  # the brokers log behind their answers
    # What was said on connections of before may be logged only now.
    earlier = {row["connection"] for node in cluster.node_ids for row in cluster.requests(node)[: before[node]]}
    while True:
        log = [
            row for node in cluster.node_ids for row in cluster.requests(node)[before[node] :] if not row["isForwarded"]
        ]
        truth = {key(row): row for row in log}
        missing = [
            known for known, row in ours.items()
            if row["response"] is not None and known not in truth and known[3] not in BEFORE_LOGIN and known[0] != gone
        ]  # fmt: skip
        if not missing or time.monotonic() > until:
            break
        time.sleep(0.1)
    for row in log:
        row["requestHeader"].pop("requestApiVersionDeprecated", None)
        for old, new in RENAMED.get(row["requestHeader"]["requestApiKeyName"], ()):
            row["request"] |= {new: row["request"].pop(old)} if old in row["request"] else {}
    clients = {row["requestHeader"]["clientId"] for row in ours.values()}
    past = [
        known for known, row in truth.items()
        if row["requestHeader"]["clientId"] in clients and known not in ours and row["connection"] not in earlier
    ]  # fmt: skip
    both = [row for known, row in truth.items() if known in ours]
    return Compared(
        len(ours), len(both), unlike(both, ours.values()), [*map(str, missing)], [*map(str, past)]
    )  # fmt: skip


def marks(cluster: Cluster) -> dict[int, int]:
    """How many rows each broker's log has."""
    return {node: len(cluster.requests(node)) for node in cluster.node_ids}


def main() -> None:
    failed = 0
    words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for version, nodes, listeners in (("4.4.0", 3, LISTENERS), ("3.9.1", 1, LISTENERS)):
            clients = [each for each in CLIENTS if nodes == 3 or each not in NEW]
            with Cluster(version, nodes, tls=True, sasl=True, request_log=True, config=OAUTHBEARER) as cluster:
                for listener in listeners:
                    for speak in clients:
                        if not all(word in f"{version} {listener} {speak.__name__}" for word in words):
                            continue
                        failed += not tried(cluster, listener, speak, Path(folder) / "out.pcapng")
    print(f"{failed} failed")


def tried(cluster: Cluster, listener: Listener, speak: Speak, out: Path) -> bool:
    before, error, start = marks(cluster), "", time.monotonic()
    with passing(cluster, listener, out) as (proxy, login):
        try:
            speak(proxy.bootstrap, login)
        except Exception as raised:  # it is reported, and the others go on
            error = f"{type(raised).__name__}: {raised}"[:600]
        code, _, said = proxy.stop()
    found = compare(cluster, out, before)
    good = not error and code == 0 and not said and not (found.unlike or found.missing or found.past)
    print(
        f"{cluster.version} {listener.name:9} {listener.mechanism:13} {speak.__name__.removeprefix('speak_'):26}"
        f" {found.saved:5} saved {found.logged:5} logged {len(found.unlike)} unlike {len(found.missing)} missing"
        f" {len(found.past)} past the proxy, {time.monotonic() - start:.0f} s{'' if good else ' NOT GOOD'}",
        *([error] if error else []), *([said] if said else []), *found.unlike[:3], *found.missing[:3], *found.past[:3],
        sep="\n    ", flush=True,
    )  # fmt: skip
    return good


if __name__ == "__main__":
    main()
