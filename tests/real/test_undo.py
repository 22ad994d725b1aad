"""What was deleted on a real cluster comes back by the lines that `kcli snapshot diff --commands` prints."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

from tests.real.lab import Cluster

TOOLS = {"kafka-topics": "TopicCommand", "kafka-configs": "ConfigCommand", "kafka-acls": "AclCommand"}
# What moves by itself, or is new each time: ids, epochs, the order and the registrations of nodes.
ITS_OWN = ("broker ", "controller ", "producer ids", "voter ", "feature ")


def kcli(*arguments: str) -> str:
    command = [sys.executable, "-m", "kcli.cli", "snapshot", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def saved(cluster: Cluster, folder: Path) -> str:
    """A snapshot of what the log holds now."""
    folder.mkdir()
    return kcli("create", "--log", str(cluster.log_dirs[0]), "-o", str(folder)).strip()


def test_deletions_are_undone(tmp_path: Path) -> None:
    with Cluster("4.4.0", acl=True, config={"num.partitions": 2}) as cluster:
        where = ("--bootstrap-server", cluster.bootstrap)
        for number in range(4):
            config = ("--config", f"retention.ms={8640000 + number}", "--config", "cleanup.policy=compact,delete")
            cluster.topics("--create", "--topic", f"orders-{number}", "--partitions", f"{number + 1}", *config)
        for kind, value in (("--entity-default", "log.cleaner.threads=2"), ("--entity-name=1", "max.connections=900")):
            cluster.configs("--alter", "--entity-type", "brokers", *kind.split("="), "--add-config", value)
        for user, value in (("CN=a,O=b c", "request_percentage=12.5"), ("bob", "consumer_byte_rate=2000")):
            cluster.configs("--alter", "--entity-type", "users", "--entity-name", user, "--add-config", value)
        acls: list[tuple[str, ...]] = [
            ("--allow-principal", "User:CN=a,O=b", "--operation", "IdempotentWrite", "--cluster"),
            ("--deny-principal", "User:al", "--operation", "Read", "--topic", "o", *PREFIXED),
        ]
        for acl in acls:
            cluster.run("AclCommand", *where, "--add", *acl)
        before = saved(cluster, tmp_path / "before")
        for number in (0, 2, 3):
            cluster.topics("--delete", "--topic", f"orders-{number}")
        cluster.configs(
            "--alter", "--entity-type", "topics", "--entity-name", "orders-1", "--add-config", "retention.ms=7"
        )
        for kind, name in (("--entity-default", "log.cleaner.threads"), ("--entity-name=1", "max.connections")):
            cluster.configs("--alter", "--entity-type", "brokers", *kind.split("="), "--delete-config", name)
        for user, name in (("CN=a,O=b c", "request_percentage"), ("bob", "consumer_byte_rate")):
            cluster.configs("--alter", "--entity-type", "users", "--entity-name", user, "--delete-config", name)
        for acl in acls:
            cluster.run("AclCommand", *where, "--remove", "--force", *acl)
        after = saved(cluster, tmp_path / "after")
        lines = kcli("diff", before, after, "--commands", "--bootstrap", cluster.bootstrap).splitlines()
        assert len(lines) >= 10
        for line in lines:
            tool, *words = shlex.split(line)
            cluster.run(TOOLS[tool], *words)
        again = saved(cluster, tmp_path / "again")
        changes = [line[2:] for line in kcli("diff", before, again).splitlines()]
        assert [line for line in changes if not line.startswith((*ITS_OWN, "topic ", "partition ", "ACL "))] == []
        assert kinds(before) == kinds(again)


PREFIXED = ("--resource-pattern-type", "prefixed")


def kinds(snapshot: str) -> tuple[list[str], list[str]]:
    """The topics with their partitions, and the ACLs, without ids."""
    topics = kcli("image", snapshot, "ls", "topics/byName").split()
    places = sorted(f"{topic}: {kcli('image', snapshot, 'ls', f'topics/byName/{topic}').split()}" for topic in topics)
    acls = [line.partition("id=")[0] for line in kcli("image", snapshot, "tree", "acls/byId").splitlines()]
    return places, sorted(line.strip() for line in acls if "principal" in line.lower())
