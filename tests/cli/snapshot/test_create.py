from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.snapshots.files import partition_folder

FOLDER = partition_folder("431-single/n1")
Captured = pytest.CaptureFixture[str]


def create(*arguments: str) -> int:
    return main(["snapshot", "create", "--log", str(FOLDER), *arguments])


def test_a_snapshot_from_the_log_alone_is_kafka_s_own(tmp_path: Path, capfd: Captured) -> None:
    """From the first snapshot, which holds no record, and the whole log up to where Kafka took its last one."""
    first, *_, last = sorted(FOLDER.glob("*.checkpoint"))
    assert create("--snapshot", str(first), "--at-offset", "1600", "-o", str(tmp_path), "--stats") == 0
    captured = capfd.readouterr()
    made = Path(captured.out.strip())
    assert made == tmp_path / last.name
    assert "GenSnapshotLatencyMs" in captured.err
    assert made.stat().st_size == last.stat().st_size
    assert main(["snapshot", "verify", str(made)]) == 0
    assert main(["snapshot", "diff", str(made), str(last), "--exit-code", "--secrets"]) == 0


def test_the_end_of_the_log(tmp_path: Path, capfd: Captured) -> None:
    assert create("-o", str(tmp_path), "--quiet", "--max-batch-bytes", "4096") == 0
    assert [each.name for each in tmp_path.iterdir()] == ["00000000000000001602-0000000001.checkpoint"]
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--at-offset", "60"], 2, "is inside a batch"),
        (["--at-offset", "99999"], 3, "not reached"),
        (["--at-offset", "1600"], 2, "exists already"),
        (["--at-offset", "0"], 2, "at-offset"),
    ],
)
def test_what_is_refused(arguments: list[str], code: int, text: str, capfd: Captured) -> None:
    assert create(*arguments) == code
    assert text in capfd.readouterr().err
    assert not list(FOLDER.glob("*.part"))


def test_an_empty_log(tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / f"{0:020d}.log").touch()
    assert main(["snapshot", "create", "--log", str(tmp_path)]) == 3
    assert "the log is empty" in capfd.readouterr().err
