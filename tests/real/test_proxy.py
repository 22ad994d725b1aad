"""Clients of many kinds reach real clusters through `kcli proxy`; what it saves is what the brokers logged."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from tests.cli.test_proxy import proxied
from tests.real.lab import USERS, Cluster
from tests.real.test_broker_clients import java_client
from tests.real.test_live_capture import speak_aiokafka, speak_confluent, speak_kafka_python
from tests.request_log import key, unlike

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]

COUNT = 200


@pytest.fixture(scope="module")
def three() -> Iterator[Cluster]:
    """Three 4.4.0 brokers with a request log, on every kind of listener."""
    replicas = {"default.replication.factor": 3, "num.partitions": 6, "offsets.topic.num.partitions": 3}
    with Cluster("4.4.0", nodes=3, tls=True, sasl=True, request_log=True, config=replicas) as cluster:
        yield cluster


def speak_java(bootstrap: str, version: str = "4.4.0", **settings: str) -> None:
    topic = f"java-{version}-{time.monotonic_ns()}"
    settings |= {"bootstrap_servers": bootstrap}
    sent = java_client(version, "produce", topic, "0", str(COUNT), **settings)
    assert not [line for line in sent if line.startswith("failed")]
    group = {"group_id": topic, "auto_offset_reset": "earliest"}
    assert len(java_client(version, "consume", topic, str(COUNT), "30", **settings, **group)) == COUNT


def speak_old_java(bootstrap: str) -> None:
    speak_java(bootstrap, "3.9.1")


def speak_java_in_a_new_group(bootstrap: str) -> None:
    """KIP-848."""
    topic = f"java-848-{time.monotonic_ns()}"
    java_client("4.4.0", "produce", topic, "0", str(COUNT), bootstrap_servers=bootstrap)
    group = {"group_id": topic, "auto_offset_reset": "earliest", "group_protocol": "consumer"}
    assert len(java_client("4.4.0", "consume", topic, str(COUNT), "30", bootstrap_servers=bootstrap, **group)) == COUNT


def speak_kcat(bootstrap: str) -> None:
    text = "".join(f"{number}\n" for number in range(COUNT)).encode()
    subprocess.run(["kcat", "-b", bootstrap, "-q", "-P", "-t", "live-kcat"], input=text, check=True, timeout=30)
    got = subprocess.run(
        ["kcat", "-b", bootstrap, "-q", "-C", "-t", "live-kcat", "-e"], capture_output=True, timeout=30
    )
    assert len(got.stdout.split()) >= COUNT


JAVA = (speak_java, speak_old_java, speak_java_in_a_new_group)
CLIENTS = (*JAVA, speak_confluent, speak_kafka_python, speak_aiokafka, speak_kcat)


def logged(cluster: Cluster, before: dict[int, int]) -> list[dict[str, Any]]:
    return [
        row for node in cluster.node_ids for row in cluster.requests(node)[before[node] :] if not row["isForwarded"]
    ]


@pytest.mark.parametrize("speak", CLIENTS)
def test_what_is_saved_is_what_the_brokers_logged(
    speak: Callable[[str], None], three: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {node: len(three.requests(node)) for node in three.node_ids}
    out = tmp_path / "out.pcapng"
    with proxied("--bootstrap", three.bootstrap, "-o", str(out)) as proxy:
        speak(proxy.bootstrap)
        code, _, err = proxy.stop()
    assert (code, err) == (0, "")
    assert main(["decode", "pcap", str(out), "--format", "jsonl", "-q"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    ours = [row for row in rows if "requestHeader" in row]
    answered = {key(row) for row in ours if row["response"] is not None}
    until = time.monotonic() + 5
    while len(truth := [row for row in logged(three, before) if key(row) in answered]) < len(answered):
        assert time.monotonic() < until, (len(truth), len(answered))
        time.sleep(0.1)
    assert not unlike(truth, ours)
    assert len(truth) > 10
    servers = {int(address.rpartition(":")[2]) for address in three.bootstrap.split(",")}
    ports = {each for row in ours for each in key(row)[:1]}
    assert ports <= servers
    # Nothing that these clients did went past the proxy: they know no other address.
    known, clients = {key(row) for row in ours}, {row["requestHeader"]["clientId"] for row in ours}
    past = [
        row for row in logged(three, before) if row["requestHeader"]["clientId"] in clients and key(row) not in known
    ]
    assert not past


@pytest.mark.parametrize("speak", [speak_confluent, speak_java])
def test_the_last_release_of_old_brokers(speak: Callable[[str], None], kafka_39: Cluster) -> None:
    with proxied("--bootstrap", kafka_39.bootstrap) as proxy:
        speak(proxy.bootstrap)
        assert proxy.stop()[0] == 0


def test_tls_on_both_sides_and_a_login_that_passes(three: Cluster) -> None:
    trust = ["--config", "security.protocol=SSL", "--config", f"ssl.truststore.location={three.ca_file}"]
    user, password = next(iter(USERS.items()))
    for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        with proxied("--bootstrap", three.sasl_tls_bootstrap, *trust, "--tls") as proxy:
            module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
            speak_java(
                proxy.bootstrap,
                security_protocol="SASL_SSL",
                ssl_truststore_type="PEM",
                ssl_truststore_location=proxy.said["ssl.truststore.location"].partition(" (")[0],
                sasl_mechanism=mechanism,
                sasl_jaas_config=(
                    f"org.apache.kafka.common.security.{module}LoginModule required "
                    f'username="{user}" password="{password}";'
                ),
            )
            assert proxy.stop()[0] == 0


def test_leaders_that_move_and_a_broker_that_is_gone_for_a_while(three: Cluster) -> None:
    from confluent_kafka import Producer

    delivered: list[object] = []
    with proxied("--bootstrap", three.bootstrap) as proxy:
        producer = Producer({"bootstrap.servers": proxy.bootstrap, "acks": "all", "linger.ms": 1})
        for number in range(3 * COUNT):
            if number == COUNT:
                three.stop(2)
            if number == 2 * COUNT:
                three.start(2)
            producer.produce("moving", str(number), on_delivery=lambda error, _: delivered.append(error))
            producer.poll(0.01)
        assert producer.flush(60) == 0
        assert proxy.stop()[0] == 0
    assert delivered == [None] * 3 * COUNT
