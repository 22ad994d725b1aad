"""A partition's log: rolling, finding, deleting, gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.broker.storage.file_pool import FilePool
from kcli.broker.storage.incoming import read_incoming, stored
from kcli.broker.storage.log import Log, LogSettings
from kcli.records import scan
from tests.broker.talk import batch

SMALL = LogSettings(segment_bytes=1000, index_interval_bytes=100)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log.create(tmp_path, FilePool(2), SMALL)


def append(log: Log, *values: str, time: int = 0, epoch: int = 0) -> int:
    return log.append(read_incoming(batch(*values, time=time), 1 << 20), epoch)


def test_segments_roll_before_they_grow_too_big(log: Log) -> None:
    for _ in range(40):
        append(log, "x" * 100)
    assert len(log.segments) > 4
    assert all(each.size <= 1000 for each in log.segments)
    assert [each.base_offset for each in log.segments[1:]] == [each.next_offset for each in log.segments[:-1]]


def test_a_batch_bigger_than_a_segment_has_one_of_its_own(log: Log) -> None:
    append(log, "a")
    append(log, "x" * 5000)
    append(log, "b")
    assert [each.base_offset for each in log.segments] == [0, 1, 2]


def test_a_segment_has_no_offset_that_its_index_can_not_hold(log: Log) -> None:
    """Its entries have the distance from the segment's first offset as an int32."""
    append(log, "a")
    log.make_room(10, 1 << 31)
    assert len(log.segments) == 1
    log.make_room(10, (1 << 31) + 1)
    assert len(log.segments) == 2


def test_each_offset_is_found_in_its_batch(log: Log) -> None:
    for _ in range(30):
        append(log, "a", "b", "c")
    for offset in range(90):
        found = log.find(offset)
        assert found is not None
        assert found[1].base_offset <= offset <= found[1].last_offset
    assert log.find(90) is None


def test_a_read_begins_with_the_batch_of_its_offset(log: Log) -> None:
    for number in range(6):
        append(log, str(number), "-")
    found = log.read(3, 10_000)
    assert found is not None
    assert [each.base_offset for each in scan(found.read())] == [2, 4, 6, 8, 10]
    assert log.read(12, 10_000) is None
    limited = log.read(3, 10_000, limit=6)
    assert limited is not None
    assert [each.base_offset for each in scan(limited.read())] == [2, 4]
    assert b"".join(found) == found.read()


def test_records_are_deleted_from_the_front(log: Log) -> None:
    for _ in range(30):
        append(log, "x" * 100)
    files = set(log.folder.glob("*.log"))
    log.delete_before(20)
    assert log.start_offset == 20
    assert log.bases[0] <= 20
    gone = files - set(log.folder.glob("*.log"))
    assert gone
    assert all(int(path.stem) < 20 for path in gone)
    log.delete_before(30)
    assert (log.start_offset, log.end_offset, log.size) == (30, 30, 0)
    assert append(log, "more") == 30


def test_times_are_found(log: Log) -> None:
    for number in range(40):
        append(log, "x" * 50, time=number * 100)
    for when, base in ((-5, 0), (0, 0), (1, 1), (100, 1), (3850, 39), (3900, 39)):
        found = log.first_at(when)
        assert found is not None
        assert found[1].base_offset == base
    assert log.first_at(3901) is None


def test_stored_batches_keep_their_offsets(tmp_path: Path) -> None:
    log = Log.create(tmp_path, FilePool(), SMALL)
    log.append_stored(stored(batch("a", "b", base_offset=100, partition_leader_epoch=2)))
    log.append_stored(stored(batch("c", base_offset=500, partition_leader_epoch=4)))
    log.append_stored(stored(batch("late", base_offset=101)))
    assert (log.start_offset, log.end_offset) == (100, 501)
    found = log.find(250)
    assert found is not None
    assert found[1].base_offset == 500
    assert log.epochs.entries == [(2, 100), (4, 500)]
    assert append(log, "d", epoch=4) == 501


def test_a_full_disk_leaves_the_log_whole(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    append(log, "a")
    real = os.pwritev
    file = log.active.path

    def short(fd: int, parts: list[bytes], position: int) -> int:
        real(fd, [b"".join(parts)[:10]], position)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwritev", short)
    size = file.stat().st_size
    with pytest.raises(OSError, match="No space"):
        append(log, "b")
    monkeypatch.undo()
    assert file.stat().st_size == size
    assert append(log, "c") == 1
    assert [each.base_offset for each in scan(file.read_bytes())] == [0, 1]


def test_few_open_files_serve_many_segments(log: Log) -> None:
    """The pool here holds two."""
    for _ in range(60):
        append(log, "x" * 100)
    assert len(log.segments) > 8
    slices = [log.read(offset, 200, whole_first=True) for offset in range(60)]
    assert [next(iter(scan(each.read(), damages=[]))).base_offset for each in slices if each] == list(range(60))


@pytest.mark.parametrize(("lasting", "names"), [(True, 5), (False, 0)])
def test_what_only_a_next_start_reads_is_written_where_there_may_be_one(
    tmp_path: Path, lasting: bool, names: int
) -> None:
    log = Log.create(tmp_path, FilePool(lasting=lasting), LogSettings())
    append(log, "a")
    log.close()
    assert len([path.name for path in tmp_path.iterdir()]) == names
    assert log.epochs.entries == [(0, 0)]
