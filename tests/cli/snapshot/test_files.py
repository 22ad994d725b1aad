from pathlib import Path

import pytest

from kcli.cli.snapshot.files import place_snapshot, publish
from kcli.errors import UsageError
from kcli.snapshots.reading.names import SnapshotId

ID = SnapshotId(5, 1)


def test_a_snapshot_is_placed_whole_or_not_at_all(tmp_path: Path) -> None:
    with place_snapshot(tmp_path / "new", ID) as (stream, path):
        stream.write(b"abc")
        assert not path.exists()
    assert path.read_bytes() == b"abc"
    assert path.stat().st_mode & 0o222 == 0
    assert [each.name for each in path.parent.iterdir()] == [ID.file_name]
    with pytest.raises(UsageError, match="exists already"), place_snapshot(path.parent, ID):
        pass
    with pytest.raises(ZeroDivisionError), place_snapshot(tmp_path, ID) as (stream, _):
        stream.write(b"x")
        raise ZeroDivisionError
    assert not list(tmp_path.glob("*.checkpoint*"))


def test_publishing_replaces_nothing_but_the_name(tmp_path: Path) -> None:
    part = tmp_path / "a.part"
    part.write_bytes(b"x")
    publish(part, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"x"
