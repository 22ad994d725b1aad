"""`kcli replay` of the samples against real brokers: the errors by API, and the records that come back."""

import json
from pathlib import Path

import pytest

from tests.inside import kcli
from tests.real.lab import Cluster

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture(params=["kafka_44", "kafka_39"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    made: Cluster = request.getfixturevalue(request.param)
    return made


def replay(cluster: Cluster, file: str, *options: str) -> tuple[int, dict[str, dict[str, object]], str]:
    words = ("replay", str(SAMPLES / file), "--bootstrap", cluster.bootstrap, "--format", "jsonl", *options)
    done = kcli(*words)
    rows = {row["api"]: row for row in map(json.loads, done.stdout.splitlines())}
    return done.returncode, rows, done.stderr


def test_transactions(cluster: Cluster) -> None:
    """Committed, aborted and fenced ones; 3.9 adds no partitions by itself, and bumps no epochs."""
    topics = ("--topic-map", "pay-in=replay-all-in", "--topic-map", "pay-out=replay-all-out")
    code, rows, err = replay(cluster, "java44-txn.pcap", "--speed", "3", *topics)
    assert code == 0, (rows, err)
    for api in ("Produce", "EndTxn", "TxnOffsetCommit", "Fetch", "JoinGroup"):
        assert rows[api]["live"]["errors"] == rows[api]["captured"]["errors"], api  # type: ignore[index]
    assert rows["Fetch"]["live"]["records"] == rows["Fetch"]["captured"]["records"]  # type: ignore[index]


@pytest.mark.parametrize("file", ["kcat-codecs.pcap", "java44-consume-classic.pcap", "old-librdkafka-on-3.9.pcap"])
def test_what_was_there_before_is_filled_in(cluster: Cluster, file: str) -> None:
    code, rows, err = replay(cluster, file, "--speed", "max", "--fill")
    assert code == 0, (rows, err)
    # Answers to old versions hold cut messages; the new batches come whole.
    assert rows["Fetch"]["live"]["records"] >= rows["Fetch"]["captured"]["records"] != 0  # type: ignore[index]
