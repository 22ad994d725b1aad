"""Open files: few at a time, readable as long as somebody holds them."""

import errno
import os
from pathlib import Path

import pytest

from kcli.broker.storage.file_pool import LONGEST_HELD, FilePool, HeldFile, LogFile


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_the_pool_holds_so_many(tmp_path: Path) -> None:
    pool = FilePool(2)
    before = open_files()
    for number in range(20):
        pool.open(tmp_path / str(number)).write([b"x"], 0, 1)
    assert open_files() <= before + 2
    pool.close()
    assert open_files() == before


def test_who_holds_a_file_can_read_it_to_its_end(tmp_path: Path) -> None:
    pool = FilePool(1)
    held = pool.open(tmp_path / "a")
    held.write([b"ab", memoryview(b"cd")], 0, 4)
    pool.open(tmp_path / "b")
    (tmp_path / "a").unlink()
    assert held.read(1, 9) == b"bcd"


def test_a_write_that_stops_half_way_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwritev
    monkeypatch.setattr(os, "pwritev", lambda fd, parts, at: real(fd, [b"".join(parts)[:3]], at))
    file = LogFile(tmp_path / "a")
    file.write([b"abcd", b"efgh"], 0, 8)
    assert (tmp_path / "a").read_bytes() == b"abcdefgh"


def test_a_pool_gives_up_files_when_the_system_grants_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = FilePool(100)
    for number in range(5):
        pool.open(tmp_path / str(number))

    class Scarce(LogFile):
        """Only where fewer than three others are open."""

        def __init__(self, path: Path) -> None:
            if len(pool._open) >= 3:
                raise OSError(errno.EMFILE, "Too many open files")
            super().__init__(path)

    monkeypatch.setattr("kcli.broker.storage.file_pool.LogFile", Scarce)
    assert pool.open(tmp_path / "new").read(0, 1) == b""
    assert [path.name for path in pool._open] == ["3", "4", "new"]


def test_a_short_file_of_a_temporary_folder_is_in_memory(tmp_path: Path) -> None:
    pool = FilePool(2, lasting=False)
    path = tmp_path / "topic-0" / "a.log"
    pool.open_to_write(path, 4).write([b"ab", memoryview(b"cd")], 0, 4)
    held = pool.open(path)
    assert isinstance(held, HeldFile)
    assert held.read(1, 9) == b"bcd"
    with pytest.raises(OSError, match="no descriptor"):
        held.fileno()
    held.cut(3)
    assert held.read(0, 9) == b"abc"
    assert not list(tmp_path.iterdir())


def test_a_file_that_grows_is_stored_and_read_on(tmp_path: Path) -> None:
    pool = FilePool(1, lasting=False)
    path = tmp_path / "topic-0" / "a.log"
    held = pool.open_to_write(path, 2)
    held.write([b"ab"], 0, 2)
    pool.open_to_write(path, LONGEST_HELD).write([bytes(LONGEST_HELD)], 2, LONGEST_HELD)
    pool.open(tmp_path / "b.log")
    pool.store(tmp_path / "b.log")
    pool.open(tmp_path / "b.log")  # the only one that stays open
    assert not isinstance(pool.open(path), HeldFile)
    assert pool.open(path).read(0, 4) == b"ab\0\0"
    assert held.read(0, 4) == b"ab"
    assert path.stat().st_size == LONGEST_HELD + 2


def test_so_much_is_held_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.broker.storage.file_pool.MOST_HELD", 25)
    pool = FilePool(lasting=False)
    for number in range(5):
        pool.open_to_write(tmp_path / str(number), 10).write([bytes(10)], 0, 10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "3", "4"]
    pool.forget(tmp_path / "0")
    assert isinstance(pool.open_to_write(tmp_path / "5", 10), HeldFile)


def test_a_file_that_was_there_is_no_new_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert FilePool(lasting=False).open(tmp_path / "a").read(0, 9) == b"abc"
