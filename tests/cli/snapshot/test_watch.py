import json
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.cli.snapshot.watch import state_key, state_text
from kcli.snapshots.quorum.described import Described, Member, ReplicaKey
from tests.cli.snapshot.test_live import LogNode

Captured = pytest.CaptureFixture[str]


class QuorumNode(LogNode):
    """A leader that says how far its followers are."""

    def quorum(self, body: dict[str, Any]) -> dict[str, Any]:
        answer = super().quorum(body)
        (partition,) = answer["topics"][0]["partitions"]
        member = {"lastFetchTimestamp": -1, "lastCaughtUpTimestamp": -1, "replicaDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA"}
        ends = {"currentVoters": {1: 103, 2: 40}, "observers": {7: 103}}
        for name, offsets in ends.items():
            partition[name] = [{"replicaId": node, "logEndOffset": end, **member} for node, end in offsets.items()]
        partition["highWatermark"] = self.watermark
        return answer


@pytest.fixture
def node() -> Iterator[QuorumNode]:
    made = QuorumNode(1, (1, 18, 55, 59))
    made.committing = 4
    yield made
    made.listener.close()


def test_what_is_committed_while_it_looks(node: QuorumNode, capfd: Captured) -> None:
    """What was there before is the state that changes begin from: the topic that goes has its name and its config."""
    assert main(["snapshot", "watch", node.address, "--duration", "1", "--format", "jsonl"]) == 0
    captured = capfd.readouterr()
    rows = [json.loads(line) for line in captured.out.splitlines()]
    state = [row for row in rows if row.get("event") == "quorum"]
    changes = [row for row in rows if row.get("event") != "quorum"]
    assert [(row["offset"], row["change"], row["table"]) for row in changes] == [
        (102, "deleted", "topics"),
        (102, "deleted", "configs"),
    ]
    assert changes[0]["row"]["name"] == "audit"
    assert len(state) == 1
    assert (state[0]["leader"], state[0]["epoch"]) == (1, 2)
    assert state[0]["voters"] == [
        {"node": 1, "directory": None, "behind": 0},
        {"node": 2, "directory": None, "behind": 63},
    ]
    assert state[0]["observers"] == [{"node": 7, "directory": None, "behind": 0}]


def test_text_and_choice(node: QuorumNode, capfd: Captured) -> None:
    assert main(["snapshot", "watch", node.address, "--duration", "1", "--config", "retention.ms"]) == 0
    lines = [line.split(maxsplit=1)[1] for line in capfd.readouterr().out.splitlines()]
    assert any("quorum: node 1 leads in epoch 2, high watermark 10" in line for line in lines)
    assert any("voters 1, 2 (63 behind), observers 7" in line for line in lines)
    assert [line.split(maxsplit=2)[2] for line in lines if "quorum" not in line] == [
        "- config TOPIC audit retention.ms: value 5"
    ]


def quorum(leader: int, epoch: int, ends: dict[int, int]) -> Described:
    return Described(leader, epoch, 100, tuple(Member(ReplicaKey(node), end) for node, end in ends.items()), ())


def test_when_a_state_is_worth_a_line() -> None:
    state = quorum(1, 2, {1: 100, 2: 99})
    assert state_key(state) == state_key(quorum(1, 2, {1: 500, 2: 497}))
    for other in (quorum(2, 3, {1: 100, 2: 99}), quorum(1, 2, {1: 600, 2: 100}), quorum(1, 2, {1: 100})):
        assert state_key(other) != state_key(state)
    assert state_text(state) == "quorum: node 1 leads in epoch 2, high watermark 100, voters 1, 2 (1 behind)"


def test_nobody_there(capfd: Captured) -> None:
    assert main(["snapshot", "watch", "127.0.0.1:1"]) == 4
    assert len(capfd.readouterr().err.splitlines()) == 1
