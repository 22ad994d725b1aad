"""A live quorum made of a few sockets (`Node` of test_snapshot_fetch); a real one: tests/real/test_drift.py."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.cli.snapshot.live import folder_of, is_live
from kcli.records.builder import build_batch
from kcli.snapshots.reading.decoding import Decoder
from tests.cli.snapshot.test_fetch import DATA, ID, Node
from tests.snapshots.made import NAME, OTHER_ID

Captured = pytest.CaptureFixture[str]


def batch(offset: int, *records: tuple[str, dict[str, Any]]) -> bytes:
    rows = [(1_700_000_002_000, None, Decoder().write(name, 0, value), ()) for name, value in records]
    return build_batch(rows, offset, partition_leader_epoch=2)


LOG = [
    batch(100, ("TopicRecord", {"name": "audit", "topicId": OTHER_ID})),
    batch(101, ("ConfigRecord", {"resourceType": 2, "resourceName": "audit", "name": "retention.ms", "value": "5"})),
    batch(102, ("RemoveTopicRecord", {"topicId": OTHER_ID})),
]


class LogNode(Node):
    """A leader whose log goes on from its snapshot, and of which all but the last record is committed."""

    watermark = 102
    committing = 10**9  # after so many fetches the last record is committed, too
    fetches = 0

    def fetch(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = body["topics"][0]["partitions"][0]
        self.fetches += 1
        if self.leader is not self or asked["fetchOffset"] < 100:
            return super().fetch(body)
        assert (body.get("replicaState", {}).get("replicaId", -1), asked["lastFetchedEpoch"]) == (-1, 2)
        if self.fetches > self.committing:
            self.watermark = 103
        code = 74 if asked["currentLeaderEpoch"] < 2 else 0
        partition = self.reported(code, highWatermark=self.watermark, lastStableOffset=-1, logStartOffset=100)
        partition["records"] = b"".join(LOG[asked["fetchOffset"] - 100 :])
        topics = [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [partition]}]
        return {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 0, "responses": topics, "nodeEndpoints": self.nodes()}


@pytest.fixture
def node() -> Iterator[LogNode]:
    made = LogNode(1, (1, 18, 55, 59))
    yield made
    made.listener.close()


def test_sources(tmp_path: Path) -> None:
    assert is_live("localhost:9093")
    assert is_live("a:1,[::1]:22")
    for path in ("dir", "dir@12", "a/b:9093", "dir@2026-11-21T10:00", str(tmp_path)):
        assert not is_live(path)
    with folder_of(str(tmp_path), (), True) as folder:
        assert folder == tmp_path


def test_a_copy_of_a_live_log(node: LogNode) -> None:
    with folder_of(node.address, (), True) as folder:
        assert (folder / NAME).read_bytes() == DATA
        assert (folder / "00000000000000000100.log").read_bytes() == LOG[0] + LOG[1]
        assert ID == {"endOffset": 100, "epoch": 2}
    assert not folder.exists()


def test_the_log_of_a_live_quorum(node: LogNode, capfd: Captured) -> None:
    """What is not committed is not shown; a follower names the leader."""
    follower = Node(2, (1, 18, 59))
    follower.leader = node
    assert main(["snapshot", "log", follower.address]) == 0
    captured = capfd.readouterr()
    assert [line.split(maxsplit=3)[1:] for line in captured.out.splitlines()] == [
        ["100", "2", "+ topic audit"],
        ["101", "2", "+ config TOPIC audit retention.ms: value 5"],
    ]
    follower.listener.close()


class Leaderless(Node):
    """A controller that is up, of a quorum in which nobody leads."""

    def reported(self, code: int, **values: Any) -> dict[str, Any]:
        return super().reported(6, **values) | {"currentLeader": {"leaderId": -1, "leaderEpoch": 7}}

    def nodes(self) -> list[dict[str, Any]]:
        return []

    def quorum(self, body: dict[str, Any]) -> dict[str, Any]:
        part: dict[str, Any] = {
            "partitionIndex": 0,
            "errorCode": 6,
            "leaderId": -1,
            "leaderEpoch": 7,
            "highWatermark": -1,
        }
        part |= {"currentVoters": [], "observers": [], "errorMessage": None}
        topics = [{"topicName": "__cluster_metadata", "partitions": [part]}]
        return {"errorCode": 0, "errorMessage": None, "topics": topics, "nodes": []}


@pytest.mark.parametrize("command", ["log", "watch"])
def test_a_quorum_without_a_leader_is_said_at_once(
    command: str, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    monkeypatch.setattr("kcli.cli.snapshot.live.LEADERLESS", 0.5)
    node = Leaderless(2, (1, 18, 59))
    options = ["--duration", "0.5"] if command == "watch" else []
    assert main(["snapshot", command, node.address, *options]) == 4
    first, last = capfd.readouterr().err.splitlines()
    assert first.startswith("kcli: no leader: 1 node asked, the epoch is 7; still trying")
    assert f"kcli snapshot doctor {node.address}" in last
    node.listener.close()


def test_the_doctor_of_a_quorum_without_a_leader(capfd: Captured) -> None:
    node = Leaderless(2, (1, 18, 55, 59))
    assert main(["snapshot", "doctor", f"{node.address},127.0.0.1:1", "--format", "jsonl"]) == 1
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [row["finding"] for row in rows] == ["controller-unreachable", "no-leader"]
    assert rows[1]["evidence"]["views"] == {node.address: {"leader": -1, "epoch": 7}}
    node.listener.close()


def test_nobody_there(capfd: Captured) -> None:
    assert main(["snapshot", "log", "127.0.0.1:1"]) == 4
    assert len(capfd.readouterr().err.splitlines()) == 1
