"""kcli snapshot doctor beside a real quorum of 4.4: with a leader, and after two of three nodes were killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.inside import kcli
from tests.real.lab import Cluster


@pytest.fixture(scope="module")
def quorum() -> Iterator[Cluster]:
    with Cluster("4.4.0", nodes=3, dynamic=True, heap="256m") as cluster:
        yield cluster


def doctor(*sources: str) -> tuple[int, list[dict[str, Any]]]:
    done = kcli("snapshot", "doctor", *sources, "--format", "jsonl")
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def ids(rows: list[dict[str, Any]]) -> set[tuple[str, int | None]]:
    return {(row["finding"], row["subject"].get("node")) for row in rows if row["severity"] != "info"}


def test_a_quorum_before_and_after_the_loss_of_its_majority(quorum: Cluster) -> None:
    controllers, folders = quorum.addresses("CONTROLLER"), [str(each) for each in quorum.log_dirs]
    code, rows = doctor(controllers)
    assert (code, rows[-1]["finding"]) == (0, "healthy")
    leader = rows[-1]["evidence"]["leader"]
    assert sorted(rows[-1]["evidence"]["voters"]) == [1, 2, 3]
    code, rows = doctor(*folders)
    assert (code, ids(rows)) == (0, set())
    quorum.kill(leader)
    other, last = (node for node in quorum.node_ids if node != leader)
    quorum.kill(other)
    code, rows = doctor(controllers)
    unreachable = {("controller-unreachable", leader), ("controller-unreachable", other)}
    # The node that is left may have heard of a leader in between, and of nobody else.
    assert (code, ids(rows)) == (1, {*unreachable, ("no-leader", None)})
    code, rows = doctor(folders[last - 1])
    missing = {("voter-missing", leader), ("voter-missing", other), ("election", None)}
    assert (code, ids(rows), rows[-1]["evidence"]["electable"]) == (1, missing, [])
    code, rows = doctor(*folders)
    assert len(rows[-1]["evidence"]["electable"]) >= 2
