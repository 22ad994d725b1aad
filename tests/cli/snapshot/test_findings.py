from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.cli.snapshot import findings as snapshot_findings
from kcli.snapshots.reading.files import OpenFile, open_file
from tests.cli.snapshot.test_verify import copied, reported

Captured = pytest.CaptureFixture[str]


def test_a_segment_that_is_missing(tmp_path: Path, capfd: Captured) -> None:
    folder = copied(tmp_path)
    (folder / "00000000000000000427.log").unlink()
    assert ("error", "log-order", "00000000000000000641.log") in reported(folder, capfd)
    for name in ("00000000000000000000.log", "00000000000000000053.log", "00000000000000000641.log"):
        (folder / name).unlink()
    for snapshot in folder.glob("*.checkpoint"):
        snapshot.unlink()
    assert ("error", "invariant", "00000000000000001150.log") in reported(folder, capfd)


def test_small_files(tmp_path: Path, capfd: Captured) -> None:
    folder = copied(tmp_path)
    (folder / "quorum-state").write_text('{"leaderId":1,"leaderEpoch":0,"votedId":-1,"data_version":1}')
    (folder / "leader-epoch-checkpoint").write_text("0\n1\nx\n")
    (folder / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAg")
    (folder / "00000000000000002000-0000000001.checkpoint.part").write_bytes(b"")
    found = reported(folder, capfd)
    assert found >= {
        ("error", "quorum-state", "quorum-state"),
        ("error", "files", "leader-epoch-checkpoint"),
        ("error", "files", "partition.metadata"),
        ("note", "files", "00000000000000002000-0000000001.checkpoint.part"),
    }


def test_damage_in_a_directory_has_its_file(tmp_path: Path, capfd: Captured) -> None:
    folder = copied(tmp_path)
    log = folder / "00000000000000000053.log"
    log.chmod(0o644)
    data = bytearray(log.read_bytes())
    data[5000] ^= 1
    log.write_bytes(data)
    assert ("error", "checksum", log.name) in reported(folder, capfd)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    folder = copied(tmp_path)

    def refuse(path: str) -> object:
        if path.endswith("427.log"):
            raise PermissionError(13, "Permission denied", path)
        return open_file(path)

    monkeypatch.setattr(snapshot_findings, "open_file", refuse)
    assert main(["snapshot", "verify", str(folder), "--format", "table"]) == 3
    captured = capfd.readouterr()
    assert captured.out == f"{folder}: 1 file not read\n"
    assert captured.err == f"kcli: {folder}/00000000000000000427.log: Permission denied\n"


def test_a_running_node_s_folder_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    folder = copied(tmp_path)
    gone = [folder / "00000000000000000053.log", folder / "00000000000000000000.log"]

    def remove_meanwhile(path: str) -> object:
        if path.endswith("0000.log") and gone:
            for each in gone:
                each.unlink()
            for each in list(folder.glob("*-*")):
                if "00000952" not in each.name and "00001600" not in each.name and "epoch" not in each.name:
                    each.unlink(missing_ok=True)
            (folder / "00000000000000000427.log").unlink()
            (folder / "00000000000000000641.log").unlink()
            gone.clear()
        return open_file(path)

    monkeypatch.setattr(snapshot_findings, "open_file", remove_meanwhile)
    assert main(["snapshot", "verify", str(folder)]) == 0
    captured = capfd.readouterr()
    assert captured.err == ""
    assert "ends at 952, before the log begins (1150)" in captured.out


def test_each_file_of_a_sound_folder_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    """The log is replayed while its segments are examined; only what is not as it should be is looked at again."""
    pytest.importorskip("kcli.core.snapshots.snapshot")
    folder, read = copied(tmp_path), list[str]()

    def reads(name: str) -> object:
        read.append(Path(name).name)
        return open_file(name)

    for module in ("cli.snapshot.findings", "snapshots.reading.api"):
        monkeypatch.setattr(f"kcli.{module}.open_file", reads)
    assert main(["snapshot", "verify", "--replay", str(folder)]) == 0
    assert sorted(read) == sorted(path.name for path in folder.glob("0*"))
    capfd.readouterr()


def cut_meanwhile(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have another program cut off a segment that is mapped, as often as it is read."""
    whole = path.read_bytes()

    @contextmanager
    def opened(name: str) -> Iterator[OpenFile]:
        path.write_bytes(whole)
        with open_file(name) as file:
            os.truncate(path, 10_000)
            yield file

    monkeypatch.setattr("kcli.snapshots.reading.files.SMALL", 0)
    for module in ("cli.snapshot.findings", "snapshots.reading.api"):
        monkeypatch.setattr(f"kcli.{module}.open_file", opened)


@pytest.mark.parametrize("replay", [[], ["--replay"]])
def test_a_log_that_is_cut_off_while_it_is_read(
    replay: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    """No end by a signal: one line and exit 3 where it does not come to rest, and all else is still verified."""
    folder = copied(tmp_path)
    path = folder / "00000000000000001150.log"
    cut_meanwhile(path, monkeypatch)
    monkeypatch.setattr("kcli.snapshots.reading.files.PATIENCE", 0)
    assert main(["snapshot", "verify", str(folder), *replay]) == 3
    captured = capfd.readouterr()
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"kcli: {path}: another program cut it off while it was read: from ")
    assert captured.out.endswith("1 file not read\n")
