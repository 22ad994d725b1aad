import json
import shutil
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.snapshots.image.diff import diff_images
from kcli.snapshots.reading.load import load_snapshot
from tests.snapshots.files import partition_folder
from tests.snapshots.made import DIRECTORIES, NAME, image, snapshot

Captured = pytest.CaptureFixture[str]
STATIC = partition_folder("391-three/n11")
DYNAMIC = partition_folder("440-three/n1")


def restore(*arguments: object) -> int:
    return main(["snapshot", "restore", *map(str, arguments)])


def test_the_steps(capfd: Captured) -> None:
    newest = sorted(STATIC.glob("*.checkpoint"))[-1]
    assert restore(newest, "--voters", "1@a:1,2@b:2", "--cluster-id", "abc", "--release", "3.9") == 0
    captured = capfd.readouterr()
    lines = captured.out.splitlines()
    assert "note   metadata.version 3.9-IV0: nodes of that release or later load it" in lines
    given = "--cluster-id abc --voters 1@a:1,2@b:2"
    assert f"3. On controller 2: kcli snapshot restore {newest} --to LOGDIR --node-id 2 {given}" in lines
    assert "4. In every server.properties: controller.quorum.voters=1@a:1,2@b:2" in lines
    assert captured.err == ""
    assert restore(newest, "--format", "jsonl") == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert {tuple(row) for row in rows} == {("severity", "what"), ("step", "what")}


def test_a_snapshot_as_it_is(tmp_path: Path, capfd: Captured) -> None:
    newest = sorted(STATIC.glob("*.checkpoint"))[-1]
    place = ("--to", tmp_path / "m", "--node-id", 11, "--cluster-id", "abc")
    assert restore(newest, *place, "--dry-run") == 0
    assert not (tmp_path / "m").exists()
    assert f"would write {tmp_path / 'm' / '__cluster_metadata-0' / newest.name}" in capfd.readouterr().out
    assert restore(newest, *place, "-q") == 0
    captured = capfd.readouterr()
    assert [line.split()[0] for line in captured.out.splitlines()] == ["wrote", "wrote"] and captured.err == ""
    made = tmp_path / "m" / "__cluster_metadata-0" / newest.name
    assert made.read_bytes() == newest.read_bytes()
    assert main(["snapshot", "verify", str(made.parent)]) == 0
    assert restore(newest, *place) == 2
    assert "a metadata log exists already (1 file, " in capfd.readouterr().err
    assert restore(newest, *place, "--force") == 0


def test_a_log_on_the_spot(tmp_path: Path, capfd: Captured) -> None:
    """The node's own log becomes the snapshot that it leads to, with new voters in it."""
    folder = Path(shutil.copytree(DYNAMIC, tmp_path / "__cluster_metadata-0"))
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=1\n")
    voters = ",".join(f"{number}@h{number}:9093:{directory}" for number, directory in DIRECTORIES.items())
    assert restore(tmp_path, "--to", tmp_path, "--voters", voters, "--force") == 1
    assert f"directory.id none ({DIRECTORIES[1]} expected)" in capfd.readouterr().out
    (tmp_path / "meta.properties").unlink()
    assert restore(tmp_path, "--to", tmp_path, "--voters", voters, "--node-id", 1, "--cluster-id", "abc") == 2
    assert len(list(folder.iterdir())) == len(list(DYNAMIC.iterdir()))
    words = ("--voters", voters, "--node-id", 1, "--cluster-id", "abc", "--force")
    assert restore(tmp_path, "--to", tmp_path, *words) == 0
    (made,) = (each for each in folder.iterdir() if each.name != "partition.metadata")
    found = load_snapshot(memoryview(made.read_bytes()))
    assert found.kraft_version == 1
    assert [each["voterDirectoryId"] for each in found.voters or ()] == list(DIRECTORIES.values())
    assert f"directory.id={DIRECTORIES[1]}\n" in (tmp_path / "meta.properties").read_text()


def test_other_hosts_change_the_voters_and_nothing_else(tmp_path: Path, capfd: Captured) -> None:
    newest = sorted(DYNAMIC.glob("*.checkpoint"))[-1]
    before = load_snapshot(memoryview(newest.read_bytes()))
    moved = ",".join(f"{each['voterId']}@h{each['voterId']}:9093" for each in before.voters or ())
    assert restore(newest, "--to", tmp_path, "--voters", moved, "--node-id", 1, "--cluster-id", "abc") == 0
    made = tmp_path / "__cluster_metadata-0" / newest.name
    after = load_snapshot(memoryview(made.read_bytes()))
    assert [each["endpoints"][0]["host"] for each in after.voters or ()] == ["h1", "h2", "h3", "h4"]
    assert [each["voterDirectoryId"] for each in after.voters or ()] == [
        each["voterDirectoryId"] for each in before.voters or ()
    ]
    assert {each.table for each in diff_images(before, after, secrets=True)} == {"voters"}
    assert main(["snapshot", "verify", str(made.parent)]) == 0
    capfd.readouterr()


def test_an_offset_of_the_log(tmp_path: Path, capfd: Captured) -> None:
    assert restore(f"{DYNAMIC}@2693", "--to", tmp_path, "--node-id", 1, "--cluster-id", "a") == 0
    assert (tmp_path / "__cluster_metadata-0" / "00000000000000002693-0000000001.checkpoint").exists()
    capfd.readouterr()


def test_the_source_stays_where_it_is_the_target(tmp_path: Path, capfd: Captured) -> None:
    folder = Path(shutil.copytree(STATIC, tmp_path / "__cluster_metadata-0"))
    newest = sorted(folder.glob("*.checkpoint"))[-1]
    before = newest.read_bytes()
    words = (newest, "--to", tmp_path, "--node-id", 11, "--cluster-id", "abc")
    assert restore(*words, "--force", "--dry-run") == 0
    assert f"would keep {newest}" in capfd.readouterr().out
    assert restore(*words, "--force") == 0
    assert newest.read_bytes() == before
    assert not list(folder.glob("*.log"))
    assert restore(*words) == 0  # nothing is left to remove
    capfd.readouterr()


@pytest.mark.parametrize("case", ["flip-record-byte", "cut-in-a-batch"])
def test_a_damaged_snapshot_is_not_restored(case: str, tmp_path: Path, capfd: Captured) -> None:
    data = bytearray(snapshot())
    if case == "flip-record-byte":
        data[len(data) // 2] ^= 1
    else:
        del data[-5:]
    (tmp_path / NAME).write_bytes(data)
    assert restore(tmp_path / NAME, "--to", tmp_path / "m", "--node-id", 1, "--cluster-id", "abc") == 1
    assert "error  " in capfd.readouterr().out
    assert not (tmp_path / "m").exists()


def test_what_is_refused(tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / NAME).write_bytes(snapshot(image()))
    (tmp_path / "odd").write_bytes(snapshot(image()))
    assert restore(tmp_path / NAME, "--release", "4.2") == 1
    assert restore(tmp_path / NAME, "--dry-run") == 2
    assert restore(tmp_path / NAME, "--voters", "x") == 2
    assert restore(tmp_path / NAME, "--to", tmp_path / "m") == 2
    assert restore(tmp_path / "odd") == 3
    assert restore(tmp_path / "nowhere") == 3
    assert not (tmp_path / "m").exists()
    capfd.readouterr()
