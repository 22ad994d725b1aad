"""`kcli replay` of the samples against real brokers: the errors by API, and the records afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kcli.capture.reading import read_capture
from kcli.records import scan
from tests.real.lab import Cluster

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture(params=["kafka_44", "kafka_39"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    made: Cluster = request.getfixturevalue(request.param)
    return made


def replay(cluster: Cluster, file: str, *options: str) -> tuple[int, dict[str, dict[str, object]], str]:
    words = ("replay", str(SAMPLES / file), "--bootstrap", cluster.bootstrap, "--format", "jsonl", *options)
    command = [sys.executable, "-m", "kcli.cli", *words]
    done = subprocess.run(command, capture_output=True, timeout=180, check=False, text=True)
    rows = {row["api"]: row for row in map(json.loads, done.stdout.splitlines())}
    return done.returncode, rows, done.stderr


def consumed(cluster: Cluster, topic: str) -> list[str]:
    """The values of a topic, as Kafka's own consumer reads them, committed ones only."""
    out = cluster.run(
        "ConsoleConsumer", "--bootstrap-server", cluster.bootstrap, "--topic", topic, "--from-beginning",
        "--isolation-level", "read_committed", "--timeout-ms", "5000",
    )  # fmt: skip
    return sorted(out.splitlines())


def test_transactions(cluster: Cluster) -> None:
    """Committed, aborted and fenced ones; 3.9 adds no partitions by itself, and bumps no epochs."""
    code, rows, err = replay(cluster, "java44-txn.pcap", "--speed", "3", "--topic-map", f"pay-in=in{cluster.version}")
    assert code == 0, (rows, err)
    for api in ("Produce", "EndTxn", "TxnOffsetCommit", "Fetch", "JoinGroup"):
        assert rows[api]["live"]["errors"] == rows[api]["captured"]["errors"], api  # type: ignore[index]
    assert len(consumed(cluster, "pay-out")) == committed("pay-out")


def committed(topic: str) -> int:
    """How many records of the capture's Fetch answers a committed reader of the topic gets."""
    producers: dict[int, list[int]] = {}
    for each in read_capture(str(SAMPLES / "java44-txn.pcap"), api="Produce"):
        for row in each.request["topicData"]:
            if row.get("_topicName") == topic and not each.errors:
                for part in row["partitionData"]:
                    for batch in scan(part["records"]):
                        producers.setdefault(batch.producer_epoch, []).append(batch.count)
    aborted = 0
    for each in read_capture(str(SAMPLES / "java44-txn.pcap"), api="EndTxn"):
        if not each.request["committed"] and not each.errors:
            aborted += sum(producers.get(each.request["producerEpoch"], ()))
    return sum(map(sum, producers.values())) - aborted


@pytest.mark.parametrize("file", ["kcat-codecs.pcap", "java44-consume-classic.pcap", "old-librdkafka-on-3.9.pcap"])
def test_what_was_there_before_is_filled_in(cluster: Cluster, file: str) -> None:
    code, rows, err = replay(cluster, file, "--speed", "max", "--fill")
    assert code == 0, (rows, err)
    assert rows["Fetch"]["live"]["records"] == rows["Fetch"]["captured"]["records"] != 0  # type: ignore[index]
