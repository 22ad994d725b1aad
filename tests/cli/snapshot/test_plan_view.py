import shutil
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.cli.snapshot.plan_view import binary
from tests.snapshots.files import partition_folder

FOLDER = str(partition_folder("440-three/n1"))
Captured = pytest.CaptureFixture[str]


def test_text(capfd: Captured) -> None:
    assert main(["snapshot", "plan", FOLDER, "--format", "text", "--max-interval-ms", "0"]) == 0
    text = capfd.readouterr().out
    assert text.startswith("snapshot due: no: 7 records and 473 bytes since the latest snapshot\n")
    assert "log begins at 2,440, may advance to 3,436" in text
    assert "settings: Kafka defaults (no server.properties)\n" in text
    assert "by type: PARTITION_CHANGE_RECORD " in text
    assert ", never by age\n" in text


def test_a_table_of_files(capfd: Captured) -> None:
    assert main(["snapshot", "plan", FOLDER]) == 0
    lines = [" ".join(line.split()) for line in capfd.readouterr().out.splitlines()]
    assert "file offsets size covered by its loss takes" in lines
    assert "00000000000000002440.log 2,440 to 2,865 30 kB 3436-1 history, but no state" in lines
    (last,) = (line for line in lines if line.startswith("00000000000000003249.log"))
    assert " - all from offset 3,436: " in last


def test_snapshots_without_a_log(samples: Path, tmp_path: Path, capfd: Captured) -> None:
    first, last = sorted((samples / "__cluster_metadata-0").glob("*.checkpoint"))
    assert main(["snapshot", "plan", str(first.parent)]) == 0
    assert "all from offset 796: records that no log here has\n" in capfd.readouterr().out
    shutil.copy(last, tmp_path)
    assert main(["snapshot", "plan", str(tmp_path)]) == 0
    assert "everything: no other file has a state" in capfd.readouterr().out


def test_sizes_are_cut_as_in_the_kip() -> None:
    assert (binary(118_800_000), binary(792), binary(0)) == ("113.29 MB", "0.77 kB", "0.00 kB")
