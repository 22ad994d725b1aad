import shutil
import threading
from pathlib import Path

import pytest

from kcli.snapshots.reading import folder_survey
from tests.snapshots.files import partition_folder
from tests.snapshots.made import NAME, snapshot


def test_a_real_folder() -> None:
    found = folder_survey.FolderSurvey(partition_folder("440-three/n1"))
    assert [str(each) for each in found.ids] == ["2555-1", "2693-1", "2872-1", "3436-1"]
    assert (found.begin, found.end) == (2440, 3443)
    assert sum(span.records for span in found.since) == 7
    assert found.log.records == 3443 - 2440
    snapshots = found.snapshots()
    assert snapshots.count == 4
    assert snapshots.oldest_ms is not None and snapshots.newest_ms is not None
    assert found.log.first_ms is not None and found.log.first_ms < snapshots.oldest_ms < snapshots.newest_ms


def test_folders_with_less(tmp_path: Path) -> None:
    empty = folder_survey.FolderSurvey(tmp_path)
    assert (empty.ids, empty.files, empty.begin, empty.end, empty.snapshots().count) == ([], [], 0, 0, 0)
    (tmp_path / NAME).write_bytes(snapshot())
    alone = folder_survey.FolderSurvey(tmp_path)
    assert (alone.begin, alone.end, alone.log.size, alone.snapshots().newest_ms) == (100, 100, 0, 1_700_000_000_000)
    (tmp_path / f"{100:020d}.log").write_bytes(b"")
    assert folder_survey.FolderSurvey(tmp_path).end == 100


@pytest.mark.parametrize("left", [20, 70])
def test_a_batch_that_a_running_node_is_writing(left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log's last batch is half there, and more of it comes while it is looked at: no damage."""
    folder = Path(shutil.copytree(partition_folder("440-three/n1"), tmp_path / "copy"))
    log = folder / "00000000000000003249.log"
    whole = log.read_bytes()
    log.write_bytes(whole + whole[:left])
    writer = threading.Timer(0.05, log.write_bytes, [whole + whole[: left + 5]])
    monkeypatch.setattr(folder_survey, "PATIENCE", 30.0)
    writer.start()
    found = folder_survey.FolderSurvey(folder)
    writer.join()
    assert (found.problems, found.being_written, found.end) == ([], left, 3443)


@pytest.mark.parametrize("name", ["00000000000000002865.log", "00000000000000003249.log"])
def test_a_batch_that_stays_half_written_is_damage(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(shutil.copytree(partition_folder("440-three/n1"), tmp_path / "copy"))
    log = folder / name
    log.write_bytes(log.read_bytes()[:-7])
    monkeypatch.setattr(folder_survey, "PATIENCE", 0)
    found = folder_survey.FolderSurvey(folder)
    assert found.being_written == 0
    assert [each.file for each in found.problems] == [str(log)]
