"""Opening logs again: after an orderly stop, after a crash, with torn and damaged tails."""

from pathlib import Path

import pytest

from kcli.broker.storage.cleaner import Cleaning, CleaningRules
from kcli.broker.storage.file_pool import FilePool
from kcli.broker.storage.incoming import read_incoming, stored
from kcli.broker.storage.log import Log, LogSettings
from kcli.broker.storage.recovery import open_log
from kcli.broker.storage.segment import Segment
from kcli.records import build_batch, build_marker
from kcli.records.batches import scan
from tests.broker.talk import batch

SMALL = LogSettings(segment_bytes=2000, index_interval_bytes=100)


def make(folder: Path, batches: int = 30, settings: LogSettings = SMALL) -> Log:
    log = open_log(folder, FilePool(), settings)
    for number in range(batches):
        log.append(read_incoming(batch("v" * 60, str(number), time=number * 10), 1 << 20), epoch=number // 10)
    return log


def reopen(folder: Path, *, clean: bool = False, start: int = 0) -> Log:
    return open_log(folder, FilePool(), SMALL, start, clean=clean)


def same(one: Log, other: Log) -> None:
    assert (one.end_offset, one.size, one.bases) == (other.end_offset, other.size, other.bases)
    assert one.epochs.entries == other.epochs.entries
    for a, b in zip(one.segments, other.segments, strict=True):
        a.load_indexes()
        b.load_indexes()
        assert (a.max_timestamp, a.max_timestamp_offset) == (b.max_timestamp, b.max_timestamp_offset)
        for offset in range(a.base_offset, a.next_offset):
            assert a.find(offset) == b.find(offset)


@pytest.mark.parametrize("clean", [False, True])
def test_a_log_is_as_it_was(tmp_path: Path, clean: bool) -> None:
    log = make(tmp_path)
    assert len(log.segments) >= 3
    if clean:
        log.close()
    same(log, reopen(tmp_path, clean=clean))


def test_the_epochs_of_the_last_segment_come_from_its_batches(tmp_path: Path) -> None:
    """After a crash their file may be behind: it is brought up to date when a segment is closed."""
    log = make(tmp_path, settings=LogSettings())
    file = tmp_path / "leader-epoch-checkpoint"
    assert file.read_text() == "0\n1\n0 0\n"
    again = reopen(tmp_path)
    same(log, again)
    assert len(again.epochs.entries) == 3
    assert file.read_text() == "0\n3\n0 0\n1 20\n2 40\n"


def test_a_crash_leaves_no_index_and_they_are_made_anew(tmp_path: Path) -> None:
    log = make(tmp_path)
    log.close()
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.*index")}
    last = f"{log.bases[-1]:020d}"
    for suffix in (".index", ".timeindex"):
        (tmp_path / (last + suffix)).write_bytes(b"")
    again = reopen(tmp_path)
    again.close()
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.*index")} == before


@pytest.mark.parametrize("cut", [1, 11, 12, 40, 60, 61, 100])
def test_a_torn_tail_is_cut(tmp_path: Path, cut: int) -> None:
    log = make(tmp_path)
    file = log.active.path
    whole, end = file.stat().st_size, log.end_offset
    last = log.find(end - 1)
    assert last is not None
    with file.open("r+b") as out:
        out.truncate(whole - cut)
    again = reopen(tmp_path)
    assert again.end_offset == last[1].base_offset == end - 2
    assert file.stat().st_size == last[1].position
    again.append(read_incoming(batch("new"), 1 << 20), 3)
    assert again.end_offset == end - 1


@pytest.mark.parametrize("at", [-1, -30, 17, 30])
def test_a_damaged_batch_ends_the_log(tmp_path: Path, at: int) -> None:
    log = make(tmp_path)
    file = log.active.path
    first = log.find(log.bases[-1])
    second = log.find(log.bases[-1] + 2)
    assert first is not None
    assert second is not None
    place = second[1]
    data = bytearray(file.read_bytes())
    data[place.position + (at if at >= 0 else place.size + at)] ^= 0x5A
    file.write_bytes(data)
    again = reopen(tmp_path)
    assert again.end_offset == place.base_offset
    assert file.stat().st_size == place.position


def test_garbage_behind_the_last_batch_is_cut(tmp_path: Path) -> None:
    log = make(tmp_path)
    size = log.active.path.stat().st_size
    with log.active.path.open("ab") as out:
        out.write(bytes(500))
    again = reopen(tmp_path)
    assert again.end_offset == log.end_offset
    assert log.active.path.stat().st_size == size


def test_producers_are_known_again(tmp_path: Path) -> None:
    for clean in (False, True):
        folder = tmp_path / str(clean)
        log = open_log(folder, FilePool(), SMALL)
        for sequence in range(40):
            one = batch("v" * 50, producer_id=3, producer_epoch=1, base_sequence=sequence)
            log.append(read_incoming(one, 1 << 20), 0)
        if clean:
            log.close()
        again = reopen(folder, clean=clean)
        assert again.producers.check(3, 1, 39, 39)[0] == "duplicate"
        assert again.producers.check(3, 1, 40, 40) == (None, None)
        assert again.producers.check(3, 1, 42, 42)[0] == "out of order"
        assert again.producers.check(3, 0, 40, 40)[0] == "fenced"


def test_a_damaged_snapshot_is_passed_over(tmp_path: Path) -> None:
    log = make(tmp_path)
    log.close()
    newest = max(tmp_path.glob("*.snapshot"))
    newest.write_bytes(b"\0" * 20)
    same(log, reopen(tmp_path, clean=True))


def test_transactions_are_known_again(tmp_path: Path) -> None:
    log = open_log(tmp_path, FilePool(), SMALL)
    sequences = {1: 0, 2: 0}
    for producer, commit in ((1, False), (2, True), (1, True), (2, False)):
        for _ in range(9):
            one = batch(
                "v" * 50, producer_id=producer, producer_epoch=0, base_sequence=sequences[producer], transactional=True
            )
            sequences[producer] += 1
            log.append(read_incoming(one, 1 << 20), 0)
        log.append_stored(stored(build_marker(commit, 1, log.end_offset, producer, 0, 0)))
    log.append(
        read_incoming(batch("open", producer_id=1, producer_epoch=0, base_sequence=18, transactional=True), 1 << 20), 0
    )
    assert [(each.producer_id, each.first_offset, each.last_offset) for each in log.producers.aborted] == [
        (1, 0, 9),
        (2, 30, 39),
    ]
    again = reopen(tmp_path)
    assert again.producers.aborted == log.producers.aborted
    assert again.producers.last_stable_offset(again.end_offset) == 40
    again.close()
    assert reopen(tmp_path, clean=True).producers.last_stable_offset(41) == 40


def test_where_the_log_starts_is_given(tmp_path: Path) -> None:
    log = make(tmp_path)
    log.delete_before(25)
    again = reopen(tmp_path, start=25)
    assert again.start_offset == 25
    assert again.bases == log.bases
    assert reopen(tmp_path).start_offset == log.bases[0]


def test_kafkas_preallocated_indexes_are_read(tmp_path: Path) -> None:
    log = make(tmp_path)
    log.close()
    for path in tmp_path.glob("*.*index"):
        path.write_bytes(path.read_bytes() + bytes(12 * 40))
    same(log, reopen(tmp_path, clean=True))


def keyed(folder: Path) -> Log:
    """A log of many segments, of whose keys few are left after a cleaning."""
    log = open_log(folder, FilePool(), SMALL)
    for number in range(300):
        rows = [(number, b"k%d" % (number % 7 if number % 50 else number), b"%d" % number * 20, ())]
        log.append(read_incoming(build_batch(rows), 1 << 20), epoch=0)
    return log


def records_of(log: Log) -> list[tuple[int, bytes | None]]:
    found = (scan(each.slice(0, each.size).read()) for each in log.segments)
    return [(record.offset, record.key) for batches in found for each in batches for record in each.records()]


def test_small_neighbours_become_one_segment(tmp_path: Path) -> None:
    """By their sizes before: those that the first cleaning made small."""
    log = keyed(tmp_path)
    before = list(log.bases)
    Cleaning(log, 0, CleaningRules(0, 0)).run()
    kept = records_of(log)
    assert len(log.segments) > 3
    Cleaning(log, log.active.base_offset, CleaningRules(0, 0)).run()
    assert len(log.segments) == 2 and log.bases == [0, before[-1]]
    assert log.segments[0].size <= SMALL.segment_bytes
    assert records_of(log) == kept
    assert sorted(int(each.stem) for each in tmp_path.glob("*.log")) == log.bases
    assert [int(each.stem) for each in tmp_path.glob("*.index")] == [0]
    for offset, _ in kept:
        found = log.find(offset)
        assert found is not None and found[1].base_offset == offset
    same(log, reopen(tmp_path))


@pytest.mark.parametrize("deleted", [0, 1, 2])
def test_a_crash_while_segments_become_one(tmp_path: Path, deleted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    log = keyed(tmp_path)
    Cleaning(log, 0, CleaningRules(0, 0)).run()
    kept, count = records_of(log), len(log.segments)
    files: list[Path] = []
    delete = Segment.delete

    def crash(segment: Segment) -> None:
        if len(files) == deleted:
            raise KeyboardInterrupt
        files.append(segment.path)
        delete(segment)

    monkeypatch.setattr(Segment, "delete", crash)
    with pytest.raises(KeyboardInterrupt):
        Cleaning(log, log.active.base_offset, CleaningRules(0, 0)).run()
    again = reopen(tmp_path)
    assert records_of(again) == kept
    assert len(again.segments) < count - deleted
    assert not list(tmp_path.glob("*.swap"))


def test_a_batch_that_is_there_already_ends_the_log(tmp_path: Path) -> None:
    """Sound as it is, its offsets are behind the log's end."""
    log = make(tmp_path, settings=LogSettings())
    (path,) = tmp_path.glob("*.log")
    data = path.read_bytes()
    *_, last = scan(data)
    path.write_bytes(data + data[last.file_position :])
    same(log, reopen(tmp_path))
    assert path.read_bytes() == data
