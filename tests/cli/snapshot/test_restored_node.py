import fcntl
from pathlib import Path

import pytest

from kcli.cli.snapshot.restored_node import RestoredNode
from kcli.errors import InputError, UsageError
from kcli.snapshots.writing.restoration import parse_voters
from tests.snapshots.made import DIRECTORIES, TOPIC_ID, image

NAME = "00000000000000000100-0000000002.checkpoint"
META = f"#\nversion=1\ncluster.id=abc\nnode.id=1\ndirectory.id={DIRECTORIES[1]}\n"


def test_a_directory_that_is_not_there_yet(tmp_path: Path) -> None:
    node = RestoredNode(str(tmp_path / "new"), 1, "abc")
    assert list(node.fitness(image(), [])) == [] and node.in_the_way(None) == []
    with node.locked():
        done = list(node.put(NAME, lambda out: out.write(b"x"), DIRECTORIES[1], []))
    final = node.partition / NAME
    assert done == [f"wrote {final}", f"wrote {tmp_path / 'new' / 'meta.properties'}"]
    assert final.read_bytes() == b"x" and final.stat().st_mode & 0o777 == 0o400
    assert (tmp_path / "new" / "meta.properties").read_text() == META
    assert sorted(each.name for each in node.partition.iterdir()) == [NAME]


def test_a_log_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(META)
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    there = [NAME, f"{0:020d}.log", f"{0:020d}.index", "quorum-state", "leader-epoch-checkpoint", f"{NAME}.deleted"]
    for name in (*there, "partition.metadata", "notes.txt"):
        (folder / name).write_bytes(b"x")
    node = RestoredNode(str(folder), None, None)
    assert (node.node_id, node.cluster_id) == (1, "abc")
    assert [each.name for each in node.in_the_way(None)] == sorted(there)
    rest = node.in_the_way(folder / NAME)
    assert [each.name for each in rest] == sorted(there[1:])
    assert list(node.put(NAME, None, None, rest))[-1] == f"kept {folder / NAME}"
    assert sorted(each.name for each in folder.iterdir()) == [NAME, "notes.txt", "partition.metadata"]
    assert (tmp_path / "meta.properties").read_text() == META


def test_what_can_t_be_written_removes_nothing(tmp_path: Path) -> None:
    node = RestoredNode(str(tmp_path), 1, "abc")
    node.partition.mkdir()
    log = node.partition / f"{0:020d}.log"
    log.write_bytes(b"x")

    def write(_: object) -> None:
        raise InputError("broken")

    with pytest.raises(InputError):
        list(node.put(NAME, write, None, [log]))
    assert [each.name for each in node.partition.iterdir()] == [log.name]


def test_who_a_node_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--node-id is needed"):
        RestoredNode(str(tmp_path), None, "abc")
    with pytest.raises(UsageError, match="--cluster-id is needed"):
        RestoredNode(str(tmp_path), 1, None)
    (tmp_path / "meta.properties").write_text(META)
    voters = parse_voters(f"1@h:1:{DIRECTORIES[2]}")
    said = [each.what.partition(": ")[2] for each in RestoredNode(str(tmp_path), 1, "xyz").fitness(image(), voters)]
    assert said == ["cluster.id abc (xyz expected)", f"directory.id {DIRECTORIES[1]} ({DIRECTORIES[2]} expected)"]
    (found,) = RestoredNode(str(tmp_path), None, None).fitness(image(), parse_voters("2@h:1"))
    assert found == ("error", "node 1 is not among the voters (2@h:1)")
    (tmp_path / "meta.properties").write_text("node.id=\\u12")
    with pytest.raises(InputError, match=r"meta\.properties"):
        RestoredNode(str(tmp_path), 1, "abc")


def test_partitions_that_the_snapshot_lacks(tmp_path: Path) -> None:
    for name, identity in (("orders-0", TOPIC_ID), ("later-1", DIRECTORIES[1]), ("odd", "?")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "partition.metadata").write_text(f"version: 0\ntopic_id: {identity}\n")
    (found,) = RestoredNode(str(tmp_path), 1, "abc").fitness(image(), [])
    assert found.severity == "note" and found.what.startswith(
        "2 partitions here are not in the snapshot (later-1, odd)"
    )


def test_a_broker_that_runs(tmp_path: Path) -> None:
    node = RestoredNode(str(tmp_path), 1, "abc")
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="a broker runs on it"), node.locked():
            pass
