"""`kcli snapshot fetch` against a quorum made of a few sockets; against a real one: tests/real/test_snapshots.py."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.cli.snapshot.fetch import parse_id
from kcli.errors import UsageError
from kcli.grammar import frames
from kcli.snapshots.reading.names import SnapshotId
from tests.client.fake import listening
from tests.snapshots.made import NAME, snapshot

DATA = snapshot()
ID = {"endOffset": 100, "epoch": 2}
Captured = pytest.CaptureFixture[str]
VERSIONS = {1: 18, 18: 3, 55: 2, 59: 1}


class Node:
    """A node that answers as a controller does; `apis` it says it has. `answers` counts its FetchSnapshot responses."""

    def __init__(self, number: int, apis: tuple[int, ...] = (1, 18, 59)) -> None:
        self.number, self.apis = number, apis
        self.leader: Node = self
        self.data = DATA
        self.answers = 0
        self.lose_after = 10**9
        self.missing = 0
        self.positions: list[int] = []
        self.listener = listening(self.serve)
        self.port = self.listener.getsockname()[1]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def serve(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as stream:
            while size := stream.read(4):
                request = frames.decode_request(stream.read(int.from_bytes(size, "big")))
                if request.api_key == 59 and self.answers >= self.lose_after:
                    return
                handlers = {1: self.fetch, 18: self.api_versions, 55: self.quorum, 59: self.piece}
                body = handlers[request.api_key](request.body)
                header = {"correlationId": request.header["correlationId"]}
                frame = frames.encode_response(header, request.api_key, request.api_version, body)
                client.sendall(len(frame).to_bytes(4, "big") + frame)

    def api_versions(self, _: dict[str, Any]) -> dict[str, Any]:
        keys = [{"apiKey": key, "minVersion": 0, "maxVersion": VERSIONS[key]} for key in self.apis]
        return {"errorCode": 0, "apiKeys": keys, "throttleTimeMs": 0}

    def reported(self, code: int, **values: Any) -> dict[str, Any]:
        leader = {"leaderId": self.leader.number, "leaderEpoch": 2}
        return {"partitionIndex": 0, "errorCode": code, "currentLeader": leader, **values}

    def nodes(self) -> list[dict[str, Any]]:
        return [{"nodeId": self.leader.number, "host": "127.0.0.1", "port": self.leader.port}]

    def fetch(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = body["topics"][0]["partitions"][0]
        code = 6 if self.leader is not self else 74 if asked["currentLeaderEpoch"] < 2 else 0
        common = {"highWatermark": 100, "lastStableOffset": -1, "logStartOffset": 100, "records": None}
        partition = self.reported(code, **common, **({} if code else {"snapshotId": ID}))
        topics = [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [partition]}]
        return {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 0, "responses": topics, "nodeEndpoints": self.nodes()}

    def piece(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = body["topics"][0]["partitions"][0]
        self.answers += 1
        self.positions.append(asked["position"])
        data = self.data[asked["position"] : asked["position"] + body["maxBytes"]]
        code = 0
        if self.missing:
            self.missing -= 1
            code, data = 98, b""
        values = {"snapshotId": asked["snapshotId"], "size": len(self.data), "position": asked["position"]}
        partition = self.reported(code, index=0, unalignedRecords=data, **values)
        del partition["partitionIndex"]
        topics = [{"name": "__cluster_metadata", "partitions": [partition]}]
        return {"throttleTimeMs": 0, "errorCode": 0, "topics": topics}

    def quorum(self, _: dict[str, Any]) -> dict[str, Any]:
        common = {"errorCode": 0, "errorMessage": None}
        partition: dict[str, Any] = {"partitionIndex": 0, "leaderId": self.leader.number, "leaderEpoch": 2, **common}
        partition |= {"highWatermark": 1, "currentVoters": [], "observers": []}
        topics = [{"topicName": "__cluster_metadata", "partitions": [partition]}]
        listeners = [{"name": "CONTROLLER", "host": "127.0.0.1", "port": self.leader.port}]
        return common | {"topics": topics, "nodes": [{"nodeId": self.leader.number, "listeners": listeners}]}


@pytest.fixture
def node() -> Iterator[Node]:
    made = Node(1)
    yield made
    made.listener.close()


def fetch(bootstrap: str, folder: Path, *options: str) -> int:
    return main(["snapshot", "fetch", "--bootstrap", bootstrap, "-o", str(folder), *options])


def test_the_latest_snapshot(node: Node, tmp_path: Path, capfd: Captured) -> None:
    assert fetch(node.address, tmp_path / "out", "--max-bytes", "100") == 0
    assert capfd.readouterr().out.strip() == str(tmp_path / "out" / NAME)
    assert (tmp_path / "out" / NAME).read_bytes() == DATA
    assert [each.name for each in (tmp_path / "out").iterdir()] == [NAME]
    assert node.answers == -(-len(DATA) // 100)
    assert fetch(node.address, tmp_path / "out") == 0  # it is there already
    assert "exists already" in capfd.readouterr().err


def test_a_follower_and_a_broker_lead_to_the_leader(node: Node, tmp_path: Path) -> None:
    for number, apis in enumerate(((1, 18, 59), (1, 18, 55))):
        other = Node(2, apis)
        other.leader = node
        assert fetch(other.address, tmp_path / str(number), "--quiet") == 0
        assert (tmp_path / str(number) / NAME).read_bytes() == DATA
        assert other.answers == 0
        other.listener.close()


def test_a_connection_that_is_lost(node: Node, tmp_path: Path, capfd: Captured) -> None:
    other = Node(2)
    node.lose_after = 3
    other.data = DATA
    assert fetch(f"{node.address},{other.address}", tmp_path, "--max-bytes", "100") == 0
    assert "begins again" in capfd.readouterr().err
    assert (tmp_path / NAME).read_bytes() == DATA
    assert other.answers > 3
    other.listener.close()


def leave_part(node: Node, folder: Path, size: int, data: bytes = DATA) -> None:
    (folder / f"{NAME}.part").write_bytes(data[:size])
    source = {"leader": 1, "address": ["127.0.0.1", node.port]}
    (folder / f"{NAME}.part.json").write_text(json.dumps(source))


def test_a_run_that_was_broken_off_goes_on(node: Node, tmp_path: Path, capfd: Captured) -> None:
    leave_part(node, tmp_path, 300)
    assert fetch(node.address, tmp_path) == 0
    assert "continues at byte 300" in capfd.readouterr().err
    assert node.positions == [300]
    assert (tmp_path / NAME).read_bytes() == DATA
    assert [each.name for each in tmp_path.iterdir()] == [NAME]


def test_unless_it_must_not(node: Node, tmp_path: Path) -> None:
    leave_part(node, tmp_path, 300)
    assert fetch(node.address, tmp_path, "--no-resume", "--quiet") == 0
    assert node.positions == [0]
    (tmp_path / NAME).unlink()
    leave_part(node, tmp_path, 300)
    (tmp_path / f"{NAME}.part.json").write_text("{}")
    assert fetch(node.address, tmp_path, "--quiet") == 0
    assert node.positions == [0, 0]


def test_a_part_of_another_file_is_found_out(node: Node, tmp_path: Path, capfd: Captured) -> None:
    leave_part(node, tmp_path, 300, bytes(300))
    assert fetch(node.address, tmp_path) == 0
    assert "begins again" in capfd.readouterr().err
    assert (tmp_path / NAME).read_bytes() == DATA


def test_a_snapshot_that_went_away(node: Node, tmp_path: Path, capfd: Captured) -> None:
    node.missing = 1
    assert fetch(node.address, tmp_path) == 0
    assert "is gone" in capfd.readouterr().err
    node.missing = 1
    (tmp_path / NAME).unlink()
    assert fetch(node.address, tmp_path, "--snapshot", "100-2") == 4
    assert "does not have snapshot 100-2" in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []  # a fetch that is refused leaves nothing


def test_what_is_not_sound_gets_no_name(node: Node, tmp_path: Path, capfd: Captured) -> None:
    node.data = DATA[:-5] + bytes(5)
    assert fetch(node.address, tmp_path) == 3
    assert "it is damaged" in capfd.readouterr().err
    assert not (tmp_path / NAME).exists()


def test_nobody_there(tmp_path: Path, capfd: Captured) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert fetch(f"127.0.0.1:{port}", tmp_path / "new") == 4
    assert "refused" in capfd.readouterr().err
    assert not (tmp_path / "new").exists()
    broker = Node(1, (1, 18))
    assert fetch(broker.address, tmp_path) == 4
    assert "is no controller" in capfd.readouterr().err
    broker.listener.close()


def test_ids() -> None:
    assert parse_id("100-2") == parse_id(NAME) == SnapshotId(100, 2)
    with pytest.raises(UsageError, match="OFFSET-EPOCH"):
        parse_id("100")


def test_nothing_of_the_lost_node_s_file_stays(node: Node, tmp_path: Path) -> None:
    """The next node's file may be shorter, and of other batches."""
    node.data, node.lose_after = snapshot(most_batch=150), 3
    other = Node(2)
    assert len(node.data) > len(DATA)
    assert fetch(f"{node.address},{other.address}", tmp_path, "--max-bytes", str(len(node.data) // 3 - 1), "-q") == 0
    assert (tmp_path / NAME).read_bytes() == DATA
    other.listener.close()
