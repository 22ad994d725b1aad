"""Nodes of one real quorum that hold other metadata, from the same log (docs/explanation/kafka-metadata-drift.md)."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.inside import kcli
from tests.processes import running
from tests.real.jvm import run_java
from tests.real.lab import Cluster
from tests.real.maven import broker_jars, compiled

RELEASES = ("3.9.1", "4.1.0", "4.4.0")
CONFIG = {"metadata.log.max.record.bytes.between.snapshots": 3000}


@pytest.mark.parametrize("version", RELEASES)
def test_the_smallest_case(version: str) -> None:
    """Three records in one delta of Kafka's image leave what three deltas don't."""
    jars = broker_jars(version)
    classes = compiled("TopicInOneDelta.java", tuple(jars))
    assert run_java([classes, *jars], "TopicInOneDelta").stdout.decode().splitlines() == [
        "0 topics, configs of orders: {}",
        "0 topics, configs of orders: {retention.ms=1002166}",
    ]


def retention(cluster: Cluster, node: int) -> str:
    """What a broker says that a topic's retention is."""
    resource = {"resourceType": 2, "resourceName": "orders", "configurationKeys": ["retention.ms"]}
    request = {"resources": [resource], "includeSynonyms": False, "includeDocumentation": False}
    asked = ["send", "-", "--api", "DescribeConfigs", "--bootstrap", cluster.address(node)]
    done = kcli(*asked, stdin=json.dumps(request))
    (found,) = json.loads(done.stdout)["response"]["results"]
    return str(found["configs"][0]["value"])


def has_snapshot(folder: Path, above: int) -> bool:
    return any(int(each.name[:20]) > above for each in folder.glob("*.checkpoint"))


@pytest.fixture(scope="module")
def quorum() -> Iterator[Cluster]:
    """Three nodes. Their tests stop and kill some, and start them again; use topics of your own."""
    with Cluster("4.4.0", nodes=3, config=CONFIG, heap="256m") as cluster:
        yield cluster


def test_a_quorum_that_drifts(quorum: Cluster) -> None:
    """A topic with a config comes and goes while a node is down: there the config stays, for the next one."""
    folders = [each / "__cluster_metadata-0" for each in quorum.log_dirs]
    quorum.topics("--create", "--topic", "warm", "--partitions", "3")
    quorum.stop(3)
    others = ("--bootstrap-server", quorum.address(1))
    created = ("--create", "--topic", "orders", "--replication-factor", "2", "--config", "retention.ms=1002166")
    quorum.run("TopicCommand", *others, *created)
    quorum.run("TopicCommand", *others, "--delete", "--topic", "orders")
    quorum.start(3)
    quorum.topics("--create", "--topic", "orders", "--partitions", "1")
    for number in range(3):
        quorum.topics("--create", "--topic", f"fill-{number}", "--partitions", "30", "--replication-factor", "1")
    quorum.wait_for(lambda: has_snapshot(folders[2], 100))
    assert [retention(quorum, node) for node in quorum.node_ids] == ["604800000", "604800000", "1002166"]
    place = quorum.address(1, "CONTROLLER")
    live = kcli("snapshot", "drift", place)
    assert live.returncode == 1, live.stderr
    assert live.stdout.splitlines()[-2:] == [
        f"config TOPIC orders retention.ms: none by the log, value 1002166 on {kind} 3"
        for kind in ("controller", "broker")
    ], live.stdout
    assert "6 of 6 nodes asked" in live.stderr
    rows = [json.loads(line) for line in kcli("snapshot", "drift", place, "--format", "jsonl").stdout.splitlines()]
    nodes = [(row["node"].split()[0], row["log"], *row["shows"]) for row in rows if row["event"] == "node"]
    assert sorted(nodes) == [
        *[("broker", "UNKNOWN_TOPIC_ID", "topics", "configs", "quotas", "scram", "features")] * 3,
        *[("controller", "NOT_LEADER_OR_FOLLOWER", "configs", "features")] * 2,
        ("controller", "served", "configs", "features"),
    ]
    found = kcli("snapshot", "drift", *map(str, folders))
    assert found.returncode == 1
    assert "config TOPIC orders retention.ms: none on " in found.stdout
    assert f"value 1002166 on {folders[2]} (last changed by record " in found.stdout
    assert ", RemoveTopicRecord)" in found.stdout
    for node, code in ((1, 0), (2, 0), (3, 1)):
        verified = kcli("snapshot", "verify", "--replay", str(folders[node - 1]))
        assert verified.returncode == code, verified.stdout
    assert "config TOPIC orders retention.ms: value 1002166 here, none by the log (since record" in verified.stdout
    altered = ("--alter", "--entity-type", "topics", "--entity-name", "orders")
    quorum.configs(*altered, "--add-config", "retention.ms=5000")
    quorum.configs(*altered, "--delete-config", "retention.ms")
    quorum.wait_for(lambda: {retention(quorum, node) for node in quorum.node_ids} == {"604800000"})
    assert kcli("snapshot", "drift", *map(str, folders)).returncode == 0


AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.mark.parametrize("version", ["3.9.1", "4.4.0"])
def test_what_nodes_show_of_access_and_limits(version: str) -> None:
    """Kafka's own tools set ACLs, quotas and SCRAM credentials: every node shows what the log has, and no more."""
    with Cluster(version, nodes=1, config=AUTHORIZED, heap="256m") as cluster:
        acl = ("--bootstrap-server", cluster.address(1), "--add", "--allow-principal", "User:ann", "--topic", "orders")
        cluster.run("AclCommand", *acl, "--operation", "Read")
        users = ("--alter", "--entity-type", "users")
        credential = "SCRAM-SHA-256=[iterations=8192,password=secret]"
        cluster.configs(*users, "--entity-name", "ann", "--add-config", credential)
        cluster.configs(*users, "--entity-default", "--add-config", "producer_byte_rate=1024")
        cluster.configs(*users, "--entity-name", "ann", "--add-config", "request_percentage=50.5")
        found = kcli("snapshot", "drift", cluster.address(1), "--format", "jsonl")
        assert (found.returncode, found.stderr.count("the same")) == (0, 1), found.stdout + found.stderr
        rows = {row["node"]: row for row in map(json.loads, found.stdout.splitlines())}
        assert rows["broker 1"]["shows"] == ["topics", "configs", "acls", "quotas", "scram", "features"]
        assert rows["controller 1"]["shows"] == ["configs", "acls", "features"]
        assert "secret" not in found.stdout


def leader_of(cluster: Cluster) -> tuple[int, int]:
    """The newest epoch that a node has noted, and the controller that leads in it."""
    files = [each / "__cluster_metadata-0" / "quorum-state" for each in cluster.log_dirs]
    noted = [json.loads(each.read_text()) for each in files]
    return max((int(each["leaderEpoch"]), int(each["leaderId"])) for each in noted)


def dumped(cluster: Cluster, node: int) -> list[tuple[int, str]]:
    """(offset, type) of the records in a node's log, by Kafka's own dump of it."""
    segments = sorted((cluster.log_dirs[node - 1] / "__cluster_metadata-0").glob("*.log"))
    text = cluster.dump_log(*segments, options=("--cluster-metadata-decoder",))
    found = re.findall(r'^\| offset: (\d+) .*? payload: \{"type":"(\w+)"', text, re.MULTILINE)
    return [(int(offset), kind) for offset, kind in found]


# What every record of these types changes.
CHANGING = {
    "TOPIC_RECORD",
    "PARTITION_RECORD",
    "PARTITION_CHANGE_RECORD",
    "REMOVE_TOPIC_RECORD",
    "REGISTER_BROKER_RECORD",
}


def test_what_watch_shows_is_what_the_log_has(quorum: Cluster, tmp_path: Path) -> None:
    """Over two changes of the leader: the kill -9 of the one that was named, and a stop in good order of the next one.
    Asked at a controller, and at a broker; beside kafka-metadata-quorum, a node's log, and Kafka's dump of that."""
    with ExitStack() as stack:
        quorum.topics("--create", "--topic", "watching", "--partitions", "2")
        _, first = leader_of(quorum)
        other = next(node for node in quorum.node_ids if node != first)
        outputs = [tmp_path / "controller", tmp_path / "broker"]
        watching = []
        for place, output in zip([quorum.address(first, "CONTROLLER"), quorum.address(other)], outputs, strict=True):
            command = [sys.executable, "-m", "kcli.cli", "snapshot", "watch", place]
            stream = stack.enter_context(output.open("wb"))
            command += ["--every", "1", "--format", "jsonl"]
            watching.append(stack.enter_context(running(subprocess.Popen(command, stdout=stream))))

        def seen(text: bytes, times: int = 1) -> Callable[[], bool]:
            return lambda: all(each.read_bytes().count(text) >= times for each in outputs)

        quorum.wait_for(seen(b'"quorum"'))
        quorum.topics("--create", "--topic", "watched", "--partitions", "2")
        quorum.kill(first)
        quorum.wait_for(seen(b'"LeaderChangeMessage"'))
        quorum.run("TopicCommand", "--bootstrap-server", quorum.address(other), "--delete", "--topic", "watching")
        quorum.wait_for(seen(b'"deleted","table":"topics"'))
        quorum.start(first)
        _, second = leader_of(quorum)
        assert second != first
        quorum.stop(second)
        quorum.wait_for(seen(b'"LeaderChangeMessage"', 2))
        third, left = leader_of(quorum), next(node for node in quorum.node_ids if node != second)
        where = ("--bootstrap-server", quorum.address(left))
        quorum.run("TopicCommand", *where, "--create", "--topic", "last", "--partitions", "30")
        quorum.wait_for(seen(b'"topic":"last","partition":29'))
        quorum.wait_for(seen(b'"leader":%d,"epoch":%d,' % (third[1], third[0])))
        status = quorum.run("MetadataQuorumCommand", *where, "describe", "--status")
        for process in watching:
            process.send_signal(signal.SIGINT)
        assert [process.wait(60) for process in watching] == [130, 130]
        assert re.search(rf"LeaderId:\s+{third[1]}\nLeaderEpoch:\s+{third[0]}\n", status), status
        logged = kcli("snapshot", "log", str(quorum.log_dirs[left - 1]), "--format", "jsonl").stdout.splitlines()
        dump = dumped(quorum, left)
        for output in outputs:
            lines = [line for line in output.read_text().splitlines() if '"event":"quorum"' not in line]
            assert lines == logged[logged.index(lines[0]) :][: len(lines)]
            offsets = [json.loads(line)["offset"] for line in lines]
            records = [offset for offset, kind in dump if kind in CHANGING and offsets[0] <= offset <= offsets[-1]]
            assert set(records) <= set(offsets)
            assert len(records) > 30
