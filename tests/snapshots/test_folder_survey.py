from __future__ import annotations

from pathlib import Path

from kcli.snapshots.folder_survey import FolderSurvey
from tests.snapshots.files import partition_folder
from tests.snapshots.made import NAME, snapshot


def test_a_real_folder() -> None:
    found = FolderSurvey(partition_folder("440-three/n1"))
    assert [str(each) for each in found.ids] == ["2555-1", "2693-1", "2872-1", "3436-1"]
    assert (found.begin, found.end) == (2440, 3443)
    assert sum(span.records for span in found.since) == 7
    assert found.log.records == 3443 - 2440
    snapshots = found.snapshots()
    assert snapshots.count == 4
    assert snapshots.oldest_ms is not None and snapshots.newest_ms is not None
    assert found.log.first_ms is not None and found.log.first_ms < snapshots.oldest_ms < snapshots.newest_ms


def test_folders_with_less(tmp_path: Path) -> None:
    empty = FolderSurvey(tmp_path)
    assert (empty.ids, empty.files, empty.begin, empty.end, empty.snapshots().count) == ([], [], 0, 0, 0)
    (tmp_path / NAME).write_bytes(snapshot())
    alone = FolderSurvey(tmp_path)
    assert (alone.begin, alone.end, alone.log.size, alone.snapshots().newest_ms) == (100, 100, 0, 1_700_000_000_000)
    (tmp_path / f"{100:020d}.log").write_bytes(b"")
    assert FolderSurvey(tmp_path).end == 100
