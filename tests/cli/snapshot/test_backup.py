"""`kcli snapshot backup`."""

import shutil
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.cli.snapshot import backup
from tests.processes import on_full_disk
from tests.snapshots.files import partition_folder

FOLDER = partition_folder("431-single/n1")
Captured = pytest.CaptureFixture[str]


def files_in(folder: Path) -> dict[str, bytes]:
    """The files below a folder, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A log directory that may be changed."""
    shutil.copytree(FOLDER, tmp_path / "node/__cluster_metadata-0")
    properties = "version=1\nnode.id=1\ncluster.id=c\ndirectory.id=hUXTkANDRY-D_DC-M4IlOQ\n"
    (tmp_path / "node/meta.properties").write_text(properties)
    return tmp_path / "node"


@pytest.mark.parametrize("inner", ["", "__cluster_metadata-0"])
def test_a_copy_is_what_restore_and_verify_take(node: Path, inner: str, tmp_path: Path, capfd: Captured) -> None:
    new = tmp_path / "kept/monday"
    assert main(["snapshot", "backup", str(node / inner), "-o", str(new)]) == 0
    said = capfd.readouterr()
    assert said.out == f"{new}\n" and said.err.endswith("; kcli snapshot restore starts a quorum with it\n")
    copied, given = files_in(new), files_in(node)
    assert copied.items() <= given.items() and "meta.properties" in copied
    assert {name for name in given if name.endswith((".log", ".checkpoint"))} <= copied.keys()
    assert (new.stat().st_mode & 0o77, [path.name for path in new.parent.iterdir()]) == (0, ["monday"])
    assert all(path.stat().st_mode & 0o77 == 0 for path in new.rglob("*"))
    assert main(["snapshot", "verify", str(new), "-q"]) == main(["snapshot", "verify", str(node), "-q"]) == 0
    assert main(["snapshot", "diff", str(node), str(new), "--exit-code", "-q"]) == 0


@pytest.mark.parametrize("there", ["folder", "file", "link"])
def test_what_is_there_is_never_touched(there: str, node: Path, tmp_path: Path, capfd: Captured) -> None:
    new = tmp_path / "new"
    if there == "link":
        new.symlink_to("nowhere")
    else:
        (new.mkdir if there == "folder" else new.touch)()
    before = files_in(tmp_path)
    assert main(["snapshot", "backup", str(node), "-o", str(new)]) == 2
    assert "exists already" in capfd.readouterr().err and files_in(tmp_path) == before
    assert main(["snapshot", "backup", str(node), "-o", str(node / "__cluster_metadata-0/copy")]) == 2
    assert "is inside" in capfd.readouterr().err and files_in(tmp_path) == before


def test_a_full_disk_is_told_by_name_and_leaves_nothing(node: Path, tmp_path: Path) -> None:
    done = on_full_disk(["snapshot", "backup", str(node), "-o", str(tmp_path / "new")], 1000)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", f"kcli: {tmp_path}/new: File too large\n")
    assert [path.name for path in tmp_path.iterdir()] == ["node"]


def test_damaged_files_are_told_and_leave_no_copy(node: Path, tmp_path: Path, capfd: Captured) -> None:
    snapshot = max((node / "__cluster_metadata-0").glob("*.checkpoint"))
    data = bytearray(snapshot.read_bytes())
    data[len(data) // 2] ^= 1
    snapshot.chmod(0o600)
    snapshot.write_bytes(data)
    assert main(["snapshot", "backup", str(node), "-o", str(tmp_path / "new")]) == 1
    said = capfd.readouterr()
    assert said.out == "" and f"kcli: {snapshot}: " in said.err and "(checksum)" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["node"]


def test_a_file_that_goes_meanwhile_is_no_failure(
    node: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    """As where a running node drops its oldest snapshot between the list and the copy."""
    oldest, copy_file = min((node / "__cluster_metadata-0").glob("*.checkpoint")), backup.copy_file

    def dropping(source: Path, target: Path) -> None:
        if source == oldest:
            oldest.unlink(missing_ok=True)
        copy_file(source, target)

    monkeypatch.setattr(backup, "copy_file", dropping)
    assert main(["snapshot", "backup", str(node), "-o", str(tmp_path / "new"), "-q"]) == 0
    assert oldest.name not in {path.name for path in (tmp_path / "new").rglob("*")}
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["empty", "missing", "file"])
def test_what_is_no_metadata_log_is_one_line(kind: str, tmp_path: Path, capfd: Captured) -> None:
    source = tmp_path / kind
    {"empty": source.mkdir, "missing": lambda: None, "file": source.touch}[kind]()
    assert main(["snapshot", "backup", str(source), "-o", str(tmp_path / "new")]) == 3
    assert capfd.readouterr().err.count("\n") == 1 and not (tmp_path / "new").exists()
