from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.cli.snapshot.watch import Quorum
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
    assert state[0]["voters"] == [{"node": 1, "behind": 0}, {"node": 2, "behind": 63}]
    assert state[0]["observers"] == [{"node": 7, "behind": 0}]


def test_text_and_choice(node: QuorumNode, capfd: Captured) -> None:
    assert main(["snapshot", "watch", node.address, "--duration", "1", "--config", "retention.ms"]) == 0
    lines = [line.split(maxsplit=1)[1] for line in capfd.readouterr().out.splitlines()]
    assert any("quorum: node 1 leads in epoch 2, high watermark 10" in line for line in lines)
    assert any("voters 1, 2 (63 behind), observers 7" in line for line in lines)
    assert [line.split(maxsplit=2)[2] for line in lines if "quorum" not in line] == [
        "- config TOPIC audit retention.ms: value 5"
    ]


def test_when_a_state_is_worth_a_line() -> None:
    state = Quorum(1, 2, 100, {1: 0, 2: 1}, {})
    assert state.key == Quorum(1, 2, 500, {1: 3, 2: 0}, {}).key
    for other in (
        Quorum(2, 3, 100, {1: 0, 2: 1}, {}),
        Quorum(1, 2, 100, {1: 0, 2: 500}, {}),
        Quorum(1, 2, 1, {1: 0}, {}),
    ):
        assert other.key != state.key
    assert str(state) == "quorum: node 1 leads in epoch 2, high watermark 100, voters 1, 2 (1 behind)"


def test_nobody_there(capfd: Captured) -> None:
    assert main(["snapshot", "watch", "127.0.0.1:1"]) == 4
    assert len(capfd.readouterr().err.splitlines()) == 1
