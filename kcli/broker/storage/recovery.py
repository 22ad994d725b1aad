"""Opening of a partition's folder, after a clean shutdown or a crash.

After a clean shutdown the files are used as they are. After a crash (Kafka's LogLoader and LogSegment.recover) the last
segment is read batch by batch, and truncated at the first one that is incomplete, damaged or out of order. Its indexes
and the producer states since the last snapshot are rebuilt. Earlier segments were closed and synced.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path

from kcli.broker.storage.file_pool import FilePool, files_in
from kcli.broker.storage.headers import StoredBatch
from kcli.broker.storage.log import Log, LogSettings
from kcli.broker.storage.producers import read_aborted
from kcli.broker.storage.segment import FARTHEST, SUFFIXES, SWAP, Segment
from kcli.core.records import batches as core
from kcli.errors import InputError
from kcli.records.batches import Batch

CHUNK = 8 << 20
DIGITS = 20


def open_log(
    folder: Path,
    pool: FilePool,
    settings: LogSettings,
    start_offset: int = 0,
    *,
    clean: bool = False,
    remote: Path | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Log:
    """Open the log in this folder; create it if there is none. start_offset: records before it were deleted.

    clean: the last shutdown was clean. remote: the folder with copies of closed segments; segments that are only there
    are part of the log. note: called with a line about skipped damage. Raises OSError for files that can't be read.
    """
    if not clean:
        finish_cleaning(folder)
    bases = bases_in(folder)
    if not bases:
        folder.mkdir(parents=True, exist_ok=True)
        return Log.create(folder, pool, settings, start_offset)
    copied = bases_in(remote) if remote is not None else []
    log = Log(folder, pool, settings)
    try:
        log.epochs.load()
    except InputError as error:
        note(f"left out: {error}")
    for base in sorted({*bases, *(each for each in copied if each < bases[-1])}):
        made = log.add_segment(base, folder if base in bases else remote or folder)
        made.copy, made.remote = remote if base in copied else None, base not in bases
    for each in log.segments[:-1]:
        open_sealed(each, note)
    log.load_aborted()
    if clean and restore_producers(log, None):
        open_sealed(log.active, note)
    else:
        recover(log, note)
    log.start_offset = min(max(start_offset, log.bases[0]), log.end_offset)
    return log


def finish_cleaning(folder: Path) -> None:
    """Finish an interrupted cleaning: rename its segments, and delete those that they replace."""
    for path in files_in(folder, SWAP):
        base = path.name.partition(".")[0]
        if is_number(base):
            data = path.read_bytes()
            heads = [Batch(memoryview(data), row) for row in core.frames(data, 0)[0]]
            last = heads[-1].last_offset if heads else int(base)
            names = [base, *(f"{each:0{DIGITS}d}" for each in bases_in(folder) if int(base) < each <= last)]
            for name in names:
                for suffix in SUFFIXES if name != base else (".index", ".timeindex"):
                    (folder / f"{name}{suffix}").unlink(missing_ok=True)
            path.replace(folder / f"{base}.log")


def bases_in(folder: Path) -> list[int]:
    """Return the first offsets of the segments in a folder, ascending."""
    return sorted(int(path.stem) for path in files_in(folder, ".log") if is_number(path.stem))


def is_number(text: str) -> bool:
    """Return whether a text is an offset in the form of file names."""
    return len(text) == DIGITS and text.isascii() and text.isdigit() and int(text) < 1 << 63


def open_sealed(segment: Segment, note: Callable[[str], None]) -> None:
    """Open a closed segment; bytes at its end that are no batch are ignored, with a line in the log."""
    segment.open_sealed()
    size = segment.path.stat().st_size
    if segment.size < size:
        note(f"{segment.path}: left out: no batches in {size - segment.size} bytes from byte {segment.size} on")


def restore_producers(log: Log, newest: int | None) -> bool:
    """Restore the producer states from the newest valid snapshot up to this offset, None for the last one. Returns
    False if there is none.
    """
    for path in reversed([each for each in files_in(log.folder, ".snapshot") if is_number(each.stem)]):
        if (newest is None or int(path.stem) <= newest) and log.producers.restore(path.read_bytes()):
            return True
        if newest is None:
            return False
    return False


def recover(log: Log, note: Callable[[str], None]) -> None:
    """Read the last segment, truncate it at damage, and rebuild its indexes and the producer states."""
    segment = log.active
    log.producers.known.clear()
    restore_producers(log, segment.base_offset)
    keep_aborted(log, segment)
    segment.forget_indexes()
    end = segment.path.stat().st_size
    position = 0
    while position < end:
        chunk = take_chunk(log, segment, position, end)
        if chunk == position:
            break
        position = chunk
    if position < end:
        note(f"{segment.path}: cut at byte {position}: no sound batch in the {end - position} bytes from there on")
        segment.file().cut(position)
    log.epochs.truncate_end(max(segment.next_offset, segment.base_offset))
    log.epochs.save()
    segment.seal()
    for path in files_in(log.folder, ".snapshot"):
        if is_number(path.stem) and int(path.stem) > segment.base_offset:
            path.unlink()


def keep_aborted(log: Log, segment: Segment) -> None:
    """Drop the aborted transactions of the last segment, as recovery adds them again by its control batches."""
    path = segment.path_of(".txnindex")
    dropped = len(read_aborted(path))
    if dropped:
        del log.producers.aborted[-dropped:]
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def take_chunk(log: Log, segment: Segment, position: int, end: int) -> int:
    """Add the complete, valid batches of a chunk from `position` on to the segment and the log; return the position of
    their end. The chunk grows until it has a whole batch.
    """
    size = CHUNK
    while True:
        data = segment.file().read(position, min(size, end - position))
        rows, _, stopped = core.frames(data, 0)
        if rows or position + len(data) >= end:
            break
        size *= 2
    view = memoryview(data)
    for row in rows:
        head = Batch(view, row)
        behind = head.base_offset < segment.next_offset or head.last_offset - segment.base_offset > FARTHEST
        if not head.crc_valid or behind or head.last_offset < head.base_offset or head.magic > 2:
            return position + head.position
        place = StoredBatch(position + head.position, head.size, head.base_offset, head.last_offset, head.max_timestamp)
        segment.note(place)
        log.epochs.assign(head.partition_leader_epoch, head.base_offset)
        log.note_producer(head, place)
    return position + stopped
