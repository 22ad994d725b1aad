import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.snapshots.files import LAST_431, all_files, damaged, dumped, log_file, partition_folder

FILE = str(log_file(LAST_431))
Captured = pytest.CaptureFixture[str]


def test_records_as_json_lines(capfd: Captured) -> None:
    assert main(["snapshot", "inspect", FILE, "--records", "--format", "jsonl", "--show-secrets"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    truth = next(list(dumped(dump)) for file, dump in all_files() if str(file) == FILE)
    assert [(row["offset"], row["type"], row["version"], row["data"]) for row in rows] == truth


def test_a_directory_gives_every_file(capfd: Captured) -> None:
    folder = partition_folder("431-single/n1")
    assert main(["snapshot", "inspect", str(folder.parent), "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [row["endOffset"] for row in rows] == [0, 44, 952, 1600]
    assert main(["snapshot", "inspect", str(folder), "--records"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert len(rows) > 2000
    removed = [row["data"] for row in rows if row["type"] == "REMOVE_ACCESS_CONTROL_ENTRY_RECORD"]
    added = {row["data"]["id"]: row["data"] for row in rows if row["type"] == "ACCESS_CONTROL_ENTRY_RECORD"}
    assert removed
    assert all(data == {"id": data["id"], "_removed": added[data["id"]]} for data in removed)
    named = [row["data"] for row in rows if row["type"] == "REMOVE_TOPIC_RECORD"]
    assert named
    assert all(data["_topicName"] for data in named)


def test_records_of_a_log_have_time_and_leader_epoch(capfd: Captured) -> None:
    folder = partition_folder("431-single/n1")
    assert main(["snapshot", "inspect", str(folder / "00000000000000000427.log"), "--records"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [list(row) for row in rows] == [["offset", "timestamp", "leaderEpoch", "type", "version", "data"]] * 214
    assert {row["leaderEpoch"] for row in rows} == {1}
    assert 1795223720000 < rows[0]["timestamp"] < rows[-1]["timestamp"] < 1795223740000


def test_the_table(capfd: Captured) -> None:
    assert main(["snapshot", "inspect", FILE, "--format", "table", "--stats"]) == 0
    text = capfd.readouterr().out
    assert "snapshot up to offset 1600 (exclusive), epoch 1   metadata 4.3-IV0   KRaft 1, voters 1" in text
    assert "SnapshotSizeBytes 38369" in text


def test_damage_is_told_and_the_rest_written(capfd: Captured) -> None:
    for options in ([], ["--records"], ["--format", "table"]):
        assert main(["snapshot", "inspect", str(damaged("cut-in-data")), *options]) == 3
        captured = capfd.readouterr()
        assert captured.out
        assert "at byte 166: the batch is 38128 bytes long, 17801 are left" in captured.err
    assert main(["snapshot", "inspect", "--quiet", str(damaged("bit-flip-crc-field")), "--records"]) == 3
    captured = capfd.readouterr()
    assert len(captured.out.splitlines()) == 487
    assert len(captured.err.splitlines()) == 1


def test_standard_input_and_a_file_for_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: Captured) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(log_file(LAST_431).read_bytes()))))
    out = tmp_path / "out.jsonl"
    assert main(["snapshot", "inspect", "-", "--records", "-o", str(out)]) == 0
    assert len(out.read_text().splitlines()) == 487
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["nowhere.checkpoint"], 3, "No such file"),
        ([], 2, "Missing argument"),
        ([FILE, "--format", "xml"], 2, "xml"),
        ([FILE, "--schema", "nothing"], 2, "nothing"),
    ],
)
def test_wrong_usage(arguments: list[str], code: int, text: str, capfd: Captured) -> None:
    assert main(["snapshot", "inspect", *arguments]) == code
    captured = capfd.readouterr()
    assert text in captured.err
    assert len(captured.err.splitlines()) == 1


def test_a_directory_without_snapshots(tmp_path: Path, capfd: Captured) -> None:
    assert main(["snapshot", "inspect", str(tmp_path)]) == 3
    assert "no snapshot here" in capfd.readouterr().err


@pytest.mark.parametrize(
    "words", [["inspect", FILE], ["image", FILE], ["diff", FILE, FILE], ["verify", FILE]], ids=lambda words: words[0]
)
def test_one_small_file_loads_nothing_of_folders_streams_or_errors(words: list[str]) -> None:
    script = f"import sys; from kcli.cli.main import main; main({['snapshot', *words]}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "kcli.snapshots.reading.decoding" in loaded
    assert not {"tempfile", "shutil", "mmap", "kcli.snapshots.reading.directory", "kcli.schemas.errors"} & loaded
