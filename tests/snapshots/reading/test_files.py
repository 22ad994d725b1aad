from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from kcli.errors import InputError
from kcli.filelike import Stream
from kcli.records.builder import build_control_batch
from kcli.snapshots.reading.files import (
    chosen_files,
    listing_of,
    metadata_directory,
    name_of_contents,
    open_file,
    refuse_other,
    steady,
)
from tests.snapshots.files import LAST_431, log_file, partition_folder


@pytest.fixture
def none_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.snapshots.reading.files.SMALL", 0)


@pytest.mark.usefixtures("none_is_small")
def test_an_open_file_is_put_aside() -> None:
    with open_file(Stream(io.BytesIO(b"abc"))) as file:
        assert bytes(file.data) == b"abc" and file.mapped is not None


@pytest.mark.usefixtures("none_is_small")
def test_a_file_is_a_map_of_its_bytes() -> None:
    path = log_file(LAST_431)
    with open_file(str(path)) as file:
        assert (file.name, bytes(file.data)) == (path.name, path.read_bytes())
        assert file.mapped is not None


def test_a_small_file_is_read_at_once(tmp_path: Path) -> None:
    """A node that follows another leader cuts off the end of its log; what was read stays readable."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(bytes(10_000))
    with open_file(str(path)) as file:
        path.write_bytes(b"")
        assert (len(file.data), sum(file.data), file.mapped) == (10_000, 0, None)


def test_an_empty_file_and_a_directory(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    with open_file(str(empty)) as file:
        assert (len(file.data), file.mapped) == (0, None)
    with pytest.raises(InputError, match="is a directory"), open_file(str(tmp_path)):
        pass


@pytest.mark.usefixtures("none_is_small")
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
    with pytest.raises(InputError, match="No such file or directory"):
        metadata_directory(str(folder / "none"))


def test_a_file_of_something_else_is_no_empty_snapshot(tmp_path: Path) -> None:
    """Its image would be empty, without a difference to another's. A damaged snapshot still tells what it has."""
    (tmp_path / "notes.md").write_bytes(b"# notes\n" * 20)
    with (
        open_file(str(tmp_path / "notes.md")) as file,
        pytest.raises(InputError, match="no snapshot: at byte 0: magic"),
    ):
        refuse_other(file)
    damaged = tmp_path / "00000000000000000007-0000000001.checkpoint"
    damaged.write_bytes(b"\0# notes" * 20)
    with open_file(str(damaged)) as file:
        refuse_other(file)


def test_another_look_where_a_node_was_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as files come or go while what is found is not fine: three times, or until every file could be read."""
    file = tmp_path / "file"

    def looks(answers: list[str], *, writing: bool) -> tuple[str, list[str]]:
        left = list(answers)

        def look() -> str:
            file.write_bytes(bytes(len(left) if writing else 1))
            return left.pop(0)

        file.write_bytes(bytes(1))
        found = steady([tmp_path], look, lambda found: found == "fine", lambda found: found != "torn")
        return found, left

    assert looks(["fine", "bad"], writing=True) == ("fine", ["bad"])
    assert looks(["bad", "bad", "fine", "bad"], writing=True) == ("fine", ["bad"])
    assert looks(["bad", "bad", "bad", "fine"], writing=True) == ("bad", ["fine"])
    assert looks(["torn"] * 9 + ["bad", "fine"], writing=True) == ("bad", ["fine"])
    assert looks(["torn", "fine"], writing=False) == ("torn", ["fine"])
    monkeypatch.setattr("kcli.snapshots.reading.files.PATIENCE", 0)
    assert looks(["torn", "torn", "torn", "fine"], writing=True) == ("torn", ["fine"])


@pytest.mark.usefixtures("none_is_small")
@pytest.mark.parametrize("left", [0, 5000, 99_990])
def test_a_file_that_is_cut_off_while_it_is_read(left: int, tmp_path: Path) -> None:
    """Reading goes on, of zeros, and ends with an error that names the file; what it finds in them is no damage."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"\1" * 100_000)
    with (
        pytest.raises(OSError, match="cut it off while it was read: from 100000 to") as caught,
        open_file(str(path)) as file,
    ):
        os.truncate(path, left)
        assert bytes(file.data) == b"\1" * left + bytes(100_000 - left)
        raise InputError("zeros where a batch should begin")
    assert caught.value.filename == str(path)
    with open_file(str(path)) as file:
        assert len(file.data) == left


@pytest.mark.usefixtures("none_is_small")
def test_a_file_that_grows_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"\1" * 10_000)
    with open_file(str(path)) as file:
        path.write_bytes(b"\1" * 20_000)
        assert bytes(file.data) == b"\1" * 10_000


def test_a_pipe_has_the_name_of_its_contents() -> None:
    log = build_control_batch([(b"\0\0\0\2", bytes(8))], 0, 53)
    snapshot = build_control_batch([(b"\0\0\0\3", bytes(8))], 0)
    named = "00000000000000000007-0000000001.checkpoint"
    assert name_of_contents("63", log) == "00000000000000000053.log"
    assert name_of_contents("63", snapshot) is name_of_contents("63", b"") is None
    assert name_of_contents(named, log) == named
