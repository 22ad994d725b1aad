"""Quorums that have lost every metadata log start with a snapshot of theirs (`kcli snapshot restore`); what `kcli
snapshot doctor` says of one."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kcli import read_snapshot
from tests import inside
from tests.real.lab import Cluster
from tests.real.ports import free_ports

ALICE = ("--entity-type", "users", "--entity-name", "alice")
ACL = ("--add", "--allow-principal", "User:alice", "--operation", "READ", "--topic", "orders")


def kcli(*arguments: object, code: int = 0, given: str = "") -> subprocess.CompletedProcess[str]:
    done = inside.kcli(*map(str, arguments), stdin=given)
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    return done


def fill(cluster: Cluster) -> list[str]:
    """A topic, a config, an ACL and a SCRAM user: all of it as Kafka's own tools say."""
    cluster.topics("--create", "--topic", "orders", "--partitions", "2", "--config", "retention.ms=86400000")
    cluster.configs("--alter", *ALICE, "--add-config", "SCRAM-SHA-256=[iterations=4096,password=x]")
    cluster.run("AclCommand", "--bootstrap-server", cluster.bootstrap, *ACL)
    cluster.wait_for(lambda: "User:alice" in described(cluster)[-1])
    return described(cluster)


def described(cluster: Cluster) -> list[str]:
    topics = (line for line in cluster.topics("--describe", "--topic", "orders").splitlines() if "TopicId" in line)
    return [
        *topics,
        cluster.configs("--describe", *ALICE),
        cluster.run("AclCommand", "--bootstrap-server", cluster.bootstrap, "--list"),
    ]


def metadata(cluster: Cluster, node: int = 1) -> Path:
    return cluster.home(node) / "meta"


def saved(cluster: Cluster, folder: Path) -> Path:
    """A snapshot of all that a node that was stopped has, and nothing left of its metadata."""
    made = kcli("snapshot", "create", "--log", metadata(cluster), "-o", folder)
    for node in cluster.node_ids:
        shutil.rmtree(metadata(cluster, node))
    return Path(made.stdout.strip())


def works(cluster: Cluster, before: list[str], name: str) -> None:
    """All is as it was, records come and go, and metadata is written: a topic of that name."""
    cluster.wait_for(lambda: described(cluster) == before)
    for topic in ("orders", name):
        if topic == name:
            cluster.topics("--create", "--topic", name)
        kcli("produce", topic, "--bootstrap", cluster.bootstrap, given=f"{name}\n")


def voters(cluster: Cluster) -> list[str]:
    """The voters in the metadata, as ID@HOST:PORT:DIRECTORY_ID."""
    found = read_snapshot(metadata(cluster)).voters or []
    return [
        f"{each['voterId']}@{each['endpoints'][0]['host']}:{each['endpoints'][0]['port']}:{each['voterDirectoryId']}"
        for each in found
    ]


@pytest.mark.parametrize("version", ["3.9.1", "4.4.0"])
def test_a_quorum_of_one(version: str, tmp_path: Path) -> None:
    """A static quorum, wiped and restored; then wiped and restored as a dynamic one on another port."""
    with Cluster(version, acl=True, metadata_dir=True) as cluster:
        before = fill(cluster)
        place = ("--to", metadata(cluster), "--node-id", 1, "--cluster-id", cluster.cluster_id)
        wanted = kcli("snapshot", "restore", metadata(cluster), *place, "--force", code=2)
        assert "a broker runs on it" in wanted.stderr
        cluster.stop(1)
        snapshot = saved(cluster, tmp_path)
        kcli("snapshot", "restore", snapshot, *place, "--release", version)
        cluster.start(1)
        works(cluster, before, "second")
        assert voters(cluster) == []

        cluster.stop(1)
        snapshot = saved(cluster, tmp_path)
        cluster.dynamic = True
        cluster.ports["CONTROLLER"] = [next(free_ports(1))]
        kcli("snapshot", "restore", snapshot, *place, "--release", version, "--voters", cluster.voters)
        cluster.configure(1)
        cluster.start(1)
        works(cluster, before, "third")
        assert voters(cluster) == [cluster.voters]


def test_three_controllers_on_other_ports(tmp_path: Path) -> None:
    """A quorum whose voters stand in its metadata, all of them wiped, restored on other ports. What doctor says of it
    then, and when two of them are killed."""
    with Cluster("4.4.0", nodes=3, acl=True, dynamic=True, metadata_dir=True, heap="256m") as cluster:
        before = fill(cluster)
        cluster.stop()
        snapshot = saved(cluster, tmp_path)
        own = {port for ports in cluster.ports.values() for port in ports}  # free, too, while it is stopped
        others = [port for port in free_ports(len(own) + len(cluster.node_ids)) if port not in own]
        cluster.ports["CONTROLLER"] = others[: len(cluster.node_ids)]
        moved = ",".join(each.rpartition(":")[0] for each in cluster.voters.split(","))
        for node in cluster.node_ids:
            place = ("--to", metadata(cluster, node), "--node-id", node, "--cluster-id", cluster.cluster_id)
            kcli("snapshot", "restore", snapshot, *place, "--voters", moved)
            cluster.configure(node)
            cluster.spawn(node)
        cluster.wait(cluster.node_ids, 3)
        works(cluster, before, "second")
        assert voters(cluster) == cluster.voters.split(",")
        check_doctor(cluster)


def doctor(*sources: str) -> tuple[int, list[dict[str, Any]]]:
    done = inside.kcli("snapshot", "doctor", *sources, "--format", "jsonl")
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def ids(rows: list[dict[str, Any]]) -> set[tuple[str, int | None]]:
    return {(row["finding"], row["subject"].get("node")) for row in rows if row["severity"] != "info"}


def check_doctor(quorum: Cluster) -> None:
    """Beside a quorum with a leader, and after two of three nodes were killed."""
    controllers, folders = quorum.addresses("CONTROLLER"), [str(metadata(quorum, node)) for node in quorum.node_ids]
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


class Apart(Cluster):
    """Node 1 is the controller, node 2 the only broker."""

    @property
    def voters(self) -> str:
        """The controller, as ID@HOST:PORT."""
        return f"1@{self.address(1, 'CONTROLLER')}"

    def configure(self, node: int) -> None:
        """Write a node's server.properties."""
        super().configure(node)
        role, listener = ("controller", "CONTROLLER") if node == 1 else ("broker", "PLAINTEXT")
        own = {"process.roles": role, "listeners": f"{listener}://{self.address(node, listener)}"}
        foreign = {"advertised.listeners", "inter.broker.listener.name"} if node == 1 else set()
        file = self.home(node) / "server.properties"
        kept = [line for line in file.read_text().splitlines() if line.partition("=")[0] not in own.keys() | foreign]
        file.write_text("\n".join([*kept, *(f"{name}={value}" for name, value in own.items())]) + "\n")

    def wait(self, nodes: Sequence[int], wanted: int) -> None:
        """Wait until the broker answers."""
        super().wait([2] if 2 in nodes else [], 1)

    @property
    def bootstrap(self) -> str:
        """The broker's address."""
        return self.address(2)


def test_a_controller_and_a_broker_that_is_only_that(tmp_path: Path) -> None:
    """The controller's disk is new; the broker has its own, with more than the snapshot knows of."""
    config = {f"{name}.replication.factor": 1 for name in ("default", "offsets.topic", "transaction.state.log")}
    with Apart("4.4.0", nodes=2, acl=True, metadata_dir=True, config=config) as cluster:
        before = fill(cluster)
        snapshot = kcli("snapshot", "create", "--log", metadata(cluster), "-o", tmp_path).stdout.strip()
        cluster.topics("--create", "--topic", "later")
        cluster.stop()
        shutil.rmtree(metadata(cluster))
        place = ("--to", metadata(cluster), "--node-id", 1, "--cluster-id", cluster.cluster_id)
        said = kcli("snapshot", "restore", snapshot, *place).stderr
        assert "On nodes that are brokers only (2): remove __cluster_metadata-0" in said
        shutil.rmtree(metadata(cluster, 2) / "__cluster_metadata-0")
        elsewhere = ("--to", cluster.log_dirs[1], "--node-id", 1, "--force", "--dry-run")
        found = kcli("snapshot", "restore", snapshot, *elsewhere, code=1)
        assert "1 partition here is not in the snapshot (later-0)" in found.stdout
        cluster.spawn(1)
        cluster.start(2)
        works(cluster, before, "second")
