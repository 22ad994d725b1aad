from __future__ import annotations

from pathlib import Path

import pytest

from kcli.cli.snapshot_files import chosen_files, listing_of, metadata_directory, open_file, place_snapshot, publish
from kcli.errors import InputError, UsageError
from kcli.snapshots.names import SnapshotId
from tests.snapshots.files import LAST_431, log_file, partition_folder

ID = SnapshotId(5, 1)


def test_a_file_is_a_map_of_its_bytes() -> None:
    path = log_file(LAST_431)
    with open_file(str(path)) as file:
        assert (file.name, bytes(file.data)) == (path.name, path.read_bytes())
        assert file.mapped is not None


def test_an_empty_file_and_a_directory(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    with open_file(str(empty)) as file:
        assert (len(file.data), file.mapped) == (0, None)
    with pytest.raises(InputError, match="is a directory"), open_file(str(tmp_path)):
        pass


def test_a_view_that_is_kept_is_no_error() -> None:
    with open_file(str(log_file(LAST_431))) as file:
        kept = file.data[:10]
    assert len(kept) == 10


def test_what_a_directory_means() -> None:
    folder = partition_folder("431-single/n1")
    assert metadata_directory(str(folder.parent)) == metadata_directory(str(folder)) == folder
    assert len(chosen_files((str(folder),))) == 4
    assert len(chosen_files((str(folder), "x"), logs=True)) == 10
    assert len(listing_of(folder).segments) == 5
    with pytest.raises(InputError, match="not a directory"):
        metadata_directory(str(folder / "quorum-state"))


def test_a_snapshot_is_placed_whole_or_not_at_all(tmp_path: Path) -> None:
    with place_snapshot(tmp_path / "new", ID) as (stream, path):
        stream.write(b"abc")
        assert not path.exists()
    assert path.read_bytes() == b"abc"
    assert path.stat().st_mode & 0o222 == 0
    assert [each.name for each in path.parent.iterdir()] == [ID.file_name]
    with pytest.raises(UsageError, match="there already"), place_snapshot(path.parent, ID):
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
