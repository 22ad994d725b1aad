"""KRaft snapshots with real controllers: fetched from a quorum, and written for one that has lost its log."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.snapshots.image.diff import diff_images
from kcli.snapshots.reading.load import load_snapshot
from tests import inside
from tests.processes import ended
from tests.real.jvm import run_java
from tests.real.lab import Cluster
from tests.real.maven import broker_jars, compiled
from tests.snapshots.files import partition_folder
from tests.snapshots.refused import BASE, CASES, write

QUORUM = {"metadata.log.max.record.bytes.between.snapshots": 3000, "num.partitions": 30}


def kcli(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = inside.kcli(*arguments)
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    return done


def metadata_folder(cluster: Cluster, node: int) -> Path:
    return cluster.log_dirs[node - 1] / "__cluster_metadata-0"


@pytest.fixture(scope="module")
def quorum() -> Iterator[Cluster]:
    with Cluster("4.4.0", nodes=3, config=QUORUM) as cluster:
        for number in range(4):
            cluster.topics("--create", "--topic", f"orders-{number}")
        yield cluster


def leader_of(cluster: Cluster) -> int:
    state = json.loads((metadata_folder(cluster, 1) / "quorum-state").read_text())
    return int(state["leaderId"])


def is_the_leader_s(cluster: Cluster, file: Path) -> bool:
    theirs = metadata_folder(cluster, leader_of(cluster)) / file.name
    return theirs.read_bytes() == file.read_bytes()


def test_the_latest_snapshot_of_a_quorum_from_any_of_its_nodes(quorum: Cluster, tmp_path: Path) -> None:
    """KIP-630: `kcli snapshot fetch` from Kafka 4.4, asked at each controller and broker."""
    bootstraps = [quorum.address(node, "CONTROLLER") for node in quorum.node_ids] + [quorum.bootstrap]
    for number, bootstrap in enumerate(bootstraps):
        done = kcli("snapshot", "fetch", "--bootstrap", bootstrap, "-o", str(tmp_path / str(number)))
        file = Path(done.stdout.strip())
        assert int(file.name[:20]) > 100
        assert is_the_leader_s(quorum, file)
        kcli("snapshot", "verify", str(file))


def test_every_node_s_directory_is_sound_and_their_snapshots_are_the_same_in_other_orders(quorum: Cluster) -> None:
    names = [{each.name for each in metadata_folder(quorum, node).glob("*.checkpoint")} for node in quorum.node_ids]
    common = sorted(set.intersection(*names))[-1]
    images = []
    for node in quorum.node_ids:
        kcli("snapshot", "verify", str(metadata_folder(quorum, node)))
        images.append(load_snapshot(memoryview((metadata_folder(quorum, node) / common).read_bytes())))
    assert not list(diff_images(images[0], images[1], secrets=True))
    assert not list(diff_images(images[0], images[2], secrets=True))


def test_a_fetch_that_is_killed_half_way_goes_on(quorum: Cluster, tmp_path: Path) -> None:
    controller = quorum.address(leader_of(quorum), "CONTROLLER")
    command = [sys.executable, "-m", "kcli.cli", "snapshot", "fetch", "--bootstrap", controller, "-o", str(tmp_path)]
    with ended(
        subprocess.Popen([*command, "--max-bytes", "20"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ) as running:
        until = time.monotonic() + 60
        while not any(part.stat().st_size > 2000 for part in tmp_path.glob("*.part")):
            assert time.monotonic() < until
            assert running.poll() is None
            time.sleep(0.005)
        running.kill()
        running.communicate()
    (part,) = tmp_path.glob("*.part")
    size = part.stat().st_size
    wanted = f"{int(part.name[:20])}-{int(part.name[21:31])}"
    done = kcli(*command[3:], "--snapshot", wanted)
    assert f"continues at byte {size:,}" in done.stderr
    assert is_the_leader_s(quorum, Path(done.stdout.strip()))


def test_a_leader_that_is_killed(quorum: Cluster, tmp_path: Path) -> None:
    before = leader_of(quorum)
    quorum.kill(before)
    try:
        others = [quorum.address(node, "CONTROLLER") for node in quorum.node_ids if node != before]
        done = kcli("snapshot", "fetch", "--bootstrap", ",".join(others), "-o", str(tmp_path))
        kcli("snapshot", "verify", done.stdout.strip())
    finally:
        quorum.start(before)


def test_kafka_s_own_reader_takes_what_we_write_for_what_we_read(tmp_path: Path) -> None:
    """RecordsSnapshotReader of 4.4 with checksums on, replayed into a MetadataImage (SnapshotReplay.java)."""
    folder = partition_folder("440-three/n1")
    last = sorted(folder.glob("*.checkpoint"))[-1]
    made = kcli("snapshot", "create", "--log", str(folder), "--max-batch-bytes", "4000", "-o", str(tmp_path))
    jars = broker_jars("4.4.0")
    classes = compiled("SnapshotReplay.java", tuple(jars))
    files = [str(last), made.stdout.strip()]
    reported = [json.loads(line) for line in run_java([classes, *jars], "SnapshotReplay", *files).stdout.splitlines()]
    assert len(reported) == 2
    for file, answer in zip(files, reported, strict=True):
        summary = json.loads(kcli("snapshot", "image", file, "--format", "json").stdout)["summary"]
        assert {name: summary[name] for name in ("topics", "partitions", "brokers", "acls")} == {
            name: answer[name] for name in ("topics", "partitions", "brokers", "acls")
        }


def test_a_controller_s_managers_refuse_and_take_what_we_say(tmp_path: Path) -> None:
    """Logs replayed by 4.4's own ReplicationControlManager, ClusterControlManager, ... (ControllerReplay.java)."""
    jars = broker_jars("4.4.0")
    classes = compiled("ControllerReplay.java", tuple(jars))
    folders = [write(tmp_path / str(number), records) for number, (records, _) in enumerate(CASES.values())]
    files = [str(folder / f"{0:020d}.log") for folder in folders]
    entry = "org.apache.kafka.controller.ControllerReplay"
    lines = run_java([classes, *jars], entry, *files).stdout.decode().splitlines()
    judged = [int(line.split()[0]) for line in lines if re.match(r"-?\d+ ", line)]
    expected = [-1 if which is None else len(BASE) + which for _, which in CASES.values()]
    assert dict(zip(CASES, judged, strict=True)) == dict(zip(CASES, expected, strict=True))


def describe(cluster: Cluster) -> list[str]:
    """What Kafka's own tools say of topics, configs, quotas and ACLs, without what moves by itself."""
    reported = [
        re.sub(r"(LastKnownElr|Elr|Leader|Isr):\s*\S*", "", cluster.topics("--describe")),
        cluster.configs("--describe", "--entity-type", "topics"),
        cluster.configs("--describe", "--entity-type", "brokers"),
        cluster.configs("--describe", "--entity-type", "users"),
        cluster.run("AclCommand", "--bootstrap-server", cluster.bootstrap, "--list"),
    ]
    return ["\n".join(sorted(line for line in text.splitlines() if line.strip())) for text in reported]


def test_a_controller_starts_from_a_snapshot_of_ours_without_its_log() -> None:
    with Cluster("4.4.0", acl=True, config={"num.partitions": 4}) as cluster:
        cluster.topics("--create", "--topic", "orders", "--config", "retention.ms=86400000")
        cluster.topics("--create", "--topic", "audit", "--partitions", "7")
        cluster.topics("--create", "--topic", "gone")
        cluster.topics("--delete", "--topic", "gone")
        change = ("--alter", "--entity-type", "brokers", "--entity-default", "--add-config", "log.cleaner.threads=2")
        cluster.configs(*change)
        cluster.configs(
            "--alter", "--entity-type", "users", "--entity-name", "a", "--add-config", "producer_byte_rate=9"
        )
        acl = ("--add", "--allow-principal", "User:alice", "--operation", "READ", "--topic", "orders")
        cluster.run("AclCommand", "--bootstrap-server", cluster.bootstrap, *acl)
        cluster.wait_for(lambda: "User:alice" in describe(cluster)[-1])
        before = describe(cluster)
        cluster.stop(1)
        folder = metadata_folder(cluster, 1)
        made = Path(kcli("snapshot", "create", "--log", str(folder)).stdout.strip())
        kcli("snapshot", "verify", str(made))
        for file in folder.iterdir():
            if file != made and file.name not in ("quorum-state", "partition.metadata"):
                file.unlink()
        cluster.start(1)
        cluster.wait_for(lambda: describe(cluster) == before)
        cluster.topics("--create", "--topic", "afterwards")
        kcli("snapshot", "verify", str(folder))
        kcli("snapshot", "image", str(folder), "cat", "topics/byName/afterwards/name")
