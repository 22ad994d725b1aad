import json
import shutil
from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.snapshots.files import partition_folder

FOLDER = partition_folder("431-single/n1")
FILES = [str(each) for each in sorted(FOLDER.glob("*.checkpoint"))]
Captured = pytest.CaptureFixture[str]


def test_two_snapshots(capfd: Captured) -> None:
    assert main(["snapshot", "diff", FILES[2], FILES[3], "--format", "jsonl"]) == 0
    captured = capfd.readouterr()
    rows = [json.loads(line) for line in captured.out.splitlines()]
    assert {row["change"] for row in rows} == {"created", "deleted", "changed"}
    changed = next(row for row in rows if row["change"] == "changed" and row["table"] == "partitions")
    assert {"from", "to"} == set(changed["fields"]["partitionEpoch"])
    assert "created" in captured.err


def test_text(capfd: Captured) -> None:
    assert main(["snapshot", "diff", FILES[2], FILES[3], "--quiet"]) == 0
    captured = capfd.readouterr()
    lines = captured.out.splitlines()
    assert any(line.startswith("+ delegation token ") for line in lines)
    assert any(line.startswith("- topic ") for line in lines)
    assert any(line.startswith("~ partition ") and " -> " in line for line in lines)
    assert captured.err == ""


def test_two_offsets_and_the_exit_code(capfd: Captured) -> None:
    assert main(["snapshot", "diff", f"{FOLDER}@952", FILES[2], "--exit-code"]) == 0
    assert "no difference" in capfd.readouterr().err
    assert main(["snapshot", "diff", f"{FOLDER}@952", f"{FOLDER}@1007", "--exit-code"]) == 1
    assert capfd.readouterr().err.endswith(" from offset 952, epoch 1 to offset 1007, epoch 1\n")


def test_an_offset_inside_a_batch(capfd: Captured) -> None:
    assert main(["snapshot", "diff", f"{FOLDER}@952", f"{FOLDER}@1000"]) == 0
    said = capfd.readouterr().err.splitlines()
    assert said[0].endswith("@1000: offset 1000 lies inside the batch of 956 to 1006: the state before 956")
    assert said[1] == "no difference from offset 952, epoch 1 to offset 956, epoch 1"


def test_a_snapshot_is_not_compared_with_itself(tmp_path: Path, capfd: Captured) -> None:
    folder = shutil.copytree(FOLDER, tmp_path / "log")
    file = folder / Path(FILES[2]).name
    file.unlink()
    state, made = f"{FOLDER}@641", tmp_path / "made"
    assert main(["snapshot", "create", "--log", str(FOLDER), "--at-offset", "641", "-o", str(made)]) == 0
    shutil.copy(next(made.iterdir()), file)  # under the name 952-1
    assert main(["snapshot", "diff", str(file), f"{folder}@952", "--exit-code", "-q"]) == 1
    assert main(["snapshot", "diff", str(file), f"{folder}@2026-11-21T01:15:34.398Z", "--exit-code", "-q"]) == 1
    assert main(["snapshot", "diff", str(file), state, "--exit-code", "-q"]) == 0
    capfd.readouterr()
    assert main(["snapshot", "verify", str(folder)]) == 1
    assert "another state, or another cluster's" in capfd.readouterr().out


def test_a_gap_in_the_log(tmp_path: Path, capfd: Captured) -> None:
    folder = shutil.copytree(FOLDER, tmp_path / "log")
    (folder / "00000000000000000641.log").unlink()
    for wanted in (["diff", f"{folder}@44", f"{folder}@641"], ["diff", f"{folder}@44", f"{folder}@700"]):
        assert main(["snapshot", *wanted]) == (0 if wanted[2].endswith("641") else 3)
    for path in folder.glob("*9[0-9]*.checkpoint"):
        path.unlink()
    (folder / "00000000000000001600-0000000001.checkpoint").unlink()
    capfd.readouterr()
    assert main(["snapshot", "image", str(folder)]) == 3
    assert "the log has no offsets 641 to 1149" in capfd.readouterr().err
    assert main(["snapshot", "diff", f"{folder}@44", str(folder)]) == 3
    assert main(["snapshot", "create", "--log", str(folder), "-o", str(tmp_path / "made")]) == 3
    assert "the log has no offsets 641 to 1149" in capfd.readouterr().err
    assert not (tmp_path / "made").exists()


def test_what_is_not_there(capfd: Captured) -> None:
    assert main(["snapshot", "diff", FILES[0], "nowhere"]) == 3
    assert len(capfd.readouterr().err.splitlines()) == 1
