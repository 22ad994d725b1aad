import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.snapshots.image.image import Image
from kcli.snapshots.reading.folders import FolderNode
from tests.snapshots.files import partition_folder, unpacked

Captured = pytest.CaptureFixture[str]


def folders() -> list[str]:
    return [str(unpacked("drift") / f"n{number}") for number in (1, 2, 3)]


def test_a_quorum_that_drifts(capfd: Captured) -> None:
    one, two, three = folders()
    assert main(["snapshot", "drift", one, two, three]) == 1
    captured = capfd.readouterr()
    lines = captured.out.splitlines()
    assert [line.split()[1:] for line in lines[:4]] == [
        ["log", "end", "epoch", "behind", "compared", "at"],
        ["303", "1", "0", "303"],
        ["303", "1", "0", "303"],
        ["303", "1", "0", "303"],
    ]
    held = f"config TOPIC orders retention.ms: none on {one}, {two}; value 1002166 on {three}"
    assert lines[4:] == [f"{held} (last changed by record 63, RemoveTopicRecord)"]
    assert captured.err == "3 nodes at offset 303: 1 object differs\n"
    assert main(["snapshot", "drift", "-q", one, two]) == 0
    assert capfd.readouterr().err == ""


def test_json_lines(capfd: Captured) -> None:
    one, _, three = folders()
    assert main(["snapshot", "drift", three, one, "--format", "jsonl"]) == 1
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [row["event"] for row in rows] == ["node", "node", "drift"]
    same = {"endOffset": 303, "epoch": 1, "behind": 0, "comparedAt": 303, "logDiffersAt": None}
    assert rows[0] == {"event": "node", "node": three, **same}
    assert rows[2]["key"] == ["TOPIC", "orders", "retention.ms"]
    assert rows[2]["values"][one] is None
    assert rows[2]["values"][three]["value"] == "1002166"
    assert rows[2]["lastRecord"] == {"offset": 63, "type": "RemoveTopicRecord", "time": "2026-11-23T06:48:35.548Z"}


def test_lag_is_no_drift(tmp_path: Path, capfd: Captured) -> None:
    source = partition_folder("431-single/n1")
    behind = shutil.copytree(source, tmp_path / "behind")
    (behind / "00000000000000001150.log").unlink()
    (behind / "00000000000000001600-0000000001.checkpoint").unlink()
    assert main(["snapshot", "drift", str(source), str(behind)]) == 0
    captured = capfd.readouterr()
    assert captured.out.splitlines()[2].split()[1:] == ["1150", "1", "452", "1150"]
    assert captured.err == "2 nodes at offset 1150: the same\n"


def test_a_batch_that_is_being_written_is_lag(tmp_path: Path, capfd: Captured) -> None:
    source = partition_folder("431-single/n1")
    writing = shutil.copytree(source, tmp_path / "writing")
    (writing / "00000000000000001600-0000000001.checkpoint").unlink()
    last = writing / "00000000000000001150.log"
    last.write_bytes(last.read_bytes()[:-10])
    assert main(["snapshot", "drift", str(source), str(writing)]) == 0
    captured = capfd.readouterr()
    assert captured.out.splitlines()[2].split()[3] == "1"
    assert captured.err.endswith(": the same\n")
    assert captured.err.count("\n") == 1


def test_files_that_a_node_removes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    source = partition_folder("431-single/n1")
    running = shutil.copytree(source, tmp_path / "running")
    known = FolderNode.image

    def image(node: FolderNode, *arguments: Any) -> Image:
        (running / "00000000000000000000.log").unlink(missing_ok=True)
        raise_once()
        return known(node, *arguments)

    def raise_once() -> None:
        if not (running / "renamed").exists():
            (running / "renamed").touch()
            raise FileNotFoundError(2, "No such file or directory", "gone.checkpoint")

    monkeypatch.setattr(FolderNode, "image", image)
    assert main(["snapshot", "drift", str(source), str(running)]) == 0
    assert capfd.readouterr().err == "2 nodes at offset 1602: the same\n"


def test_a_log_that_is_damaged(tmp_path: Path, capfd: Captured) -> None:
    source = partition_folder("431-single/n1")
    other = shutil.copytree(source, tmp_path / "other")
    log = other / "00000000000000001150.log"
    data = bytearray(log.read_bytes())
    data[17] ^= 1  # the first batch's checksum
    log.chmod(0o644)
    log.write_bytes(data)
    assert main(["snapshot", "drift", str(source), str(other)]) == 1
    assert "its log has other records from offset 1150 on, of the same epoch" in capfd.readouterr().out


def test_what_is_refused(tmp_path: Path, capfd: Captured) -> None:
    one, two, _ = folders()
    assert main(["snapshot", "drift", one]) == 2
    assert main(["snapshot", "drift", one, "nowhere"]) == 3
    assert main(["snapshot", "drift", one, str(partition_folder("440-three/n1"))]) == 3
    assert "no two of these nodes show the state at one offset" in capfd.readouterr().err
    other = shutil.copytree(two, tmp_path / "other")
    (other / "meta.properties").write_text("cluster.id=x\n")
    assert main(["snapshot", "drift", one, str(other)]) == 3
    assert f"{other} x" in capfd.readouterr().err
