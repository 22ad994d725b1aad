"""Nodes of one real quorum that hold other metadata, from the same log (docs/kafka-metadata-drift.md)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

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


def kcli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kcli.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def retention(cluster: Cluster, node: int) -> str:
    """What a broker says that a topic's retention is."""
    resource = {"resourceType": 2, "resourceName": "orders", "configurationKeys": ["retention.ms"]}
    request = {"resources": [resource], "includeSynonyms": False, "includeDocumentation": False}
    asked = ["send", "-", "--api", "DescribeConfigs", "--bootstrap", cluster.address(node)]
    command = [sys.executable, "-m", "kcli.cli", *asked]
    done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True, timeout=60, check=True)
    (found,) = json.loads(done.stdout)["response"]["results"]
    return str(found["configs"][0]["value"])


def has_snapshot(folder: Path, above: int) -> bool:
    return any(int(each.name[:20]) > above for each in folder.glob("*.checkpoint"))


def test_a_quorum_that_drifts() -> None:
    """A topic with a config comes and goes while a node is down: there the config stays, for the next one."""
    with Cluster("4.4.0", nodes=3, config=CONFIG, heap="256m") as cluster:
        folders = [each / "__cluster_metadata-0" for each in cluster.log_dirs]
        cluster.topics("--create", "--topic", "warm", "--partitions", "3")
        cluster.stop(3)
        others = ("--bootstrap-server", cluster.address(1))
        created = ("--create", "--topic", "orders", "--replication-factor", "2", "--config", "retention.ms=1002166")
        cluster.run("TopicCommand", *others, *created)
        cluster.run("TopicCommand", *others, "--delete", "--topic", "orders")
        cluster.start(3)
        cluster.topics("--create", "--topic", "orders", "--partitions", "1")
        for number in range(3):
            cluster.topics("--create", "--topic", f"fill-{number}", "--partitions", "30")
        cluster.wait_for(lambda: has_snapshot(folders[2], 100))
        assert [retention(cluster, node) for node in cluster.node_ids] == ["604800000", "604800000", "1002166"]
        live = kcli("snapshot", "drift", cluster.address(1, "CONTROLLER"))
        assert live.returncode == 1, live.stderr
        assert live.stdout.splitlines()[-2:] == [
            f"config TOPIC orders retention.ms: none by the log, value 1002166 on {kind} 3"
            for kind in ("controller", "broker")
        ]
        assert "6 of 6 nodes asked" in live.stderr
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
        cluster.configs(*altered, "--add-config", "retention.ms=5000")
        cluster.configs(*altered, "--delete-config", "retention.ms")
        cluster.wait_for(lambda: {retention(cluster, node) for node in cluster.node_ids} == {"604800000"})
        assert kcli("snapshot", "drift", *map(str, folders)).returncode == 0


def leader_of(cluster: Cluster) -> int:
    """The controller that leads, as a node has noted it."""
    noted = (cluster.log_dirs[0] / "__cluster_metadata-0" / "quorum-state").read_text()
    return int(json.loads(noted)["leaderId"])


def test_what_watch_shows_is_what_the_log_has(tmp_path: Path) -> None:
    """Over the kill -9 of the leader, which is the controller that was named; asked at a broker, too."""
    with Cluster("4.4.0", nodes=3, heap="256m") as cluster, ExitStack() as stack:
        cluster.topics("--create", "--topic", "warm", "--partitions", "2")
        leader = leader_of(cluster)
        other = next(node for node in cluster.node_ids if node != leader)
        outputs = [tmp_path / "controller", tmp_path / "broker"]
        watching = []
        for place, output in zip([cluster.address(leader, "CONTROLLER"), cluster.address(other)], outputs, strict=True):
            command = [sys.executable, "-m", "kcli.cli", "snapshot", "watch", place]
            stream = stack.enter_context(output.open("wb"))
            process = subprocess.Popen([*command, "--every", "1", "--format", "jsonl"], stdout=stream)
            watching.append(stack.enter_context(process))
            stack.callback(process.kill)
        cluster.wait_for(lambda: all(b'"quorum"' in each.read_bytes() for each in outputs))
        cluster.topics("--create", "--topic", "orders", "--partitions", "2")
        cluster.kill(leader)
        cluster.wait_for(lambda: all(b'"LeaderChangeMessage"' in each.read_bytes() for each in outputs))
        cluster.run("TopicCommand", "--bootstrap-server", cluster.address(other), "--delete", "--topic", "warm")
        cluster.wait_for(lambda: all(b'"deleted","table":"topics"' in each.read_bytes() for each in outputs))
        for process in watching:
            process.send_signal(signal.SIGINT)
        assert [process.wait(30) for process in watching] == [130, 130]
        logged = kcli("snapshot", "log", str(cluster.log_dirs[other - 1]), "--format", "jsonl").stdout.splitlines()
        for output in outputs:
            seen = [line for line in output.read_text().splitlines() if '"event":"quorum"' not in line]
            assert seen
            assert seen == logged[logged.index(seen[0]) :][: len(seen)]
