"""One segment of a log: the batches' file and its two indexes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcli.broker.storage.file_pool import FilePool, LogFile
from kcli.broker.storage.headers import StoredBatch, first_from, walk
from kcli.broker.storage.index import OffsetIndex, TimeIndex

CHUNK = 1 << 18
# The largest offset of a segment, relative to its first.
FARTHEST = (1 << 31) - 1
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex")
SWAP = ".swap"


@dataclass(slots=True)
class Slice:
    """Bytes of a segment's file: they may end in the middle of a batch. remote: the segment is in remote storage;
    first: bytes of the first batch, 0 if unknown.
    """

    file: LogFile
    position: int
    size: int
    remote: bool = False
    first: int = 0

    def read(self) -> bytes:
        """Read all its bytes. Raises OSError."""
        return self.file.read(self.position, self.size)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes, a chunk at a time."""
        for start in range(0, self.size, CHUNK):
            yield self.file.read(self.position + start, min(CHUNK, self.size - start))


class Segment:
    """base_offset: as in the file's name; next_offset: behind the last record; size: bytes of whole batches.

    copy: the folder with its copy in remote storage, None without one; remote: it is there alone (KIP-405)
    """

    def __init__(self, folder: Path, base_offset: int, pool: FilePool, index_interval: int) -> None:
        self.folder, self.base_offset, self.pool = folder, base_offset, pool
        self.index_interval = index_interval
        self.path = self.path_of(".log")
        self.offsets = OffsetIndex(self.path_of(".index"))
        self.times = TimeIndex(self.path_of(".timeindex"))
        self.copy: Path | None = None
        self.remote = False
        self.next_offset = base_offset
        self.size = 0
        self.max_timestamp = -1
        self.max_timestamp_offset = base_offset
        self.first_timestamp = -1
        self._since_entry = 0
        self._indexed = True
        # The position found last, for the next read in sequence.
        self._last: StoredBatch | None = None

    def path_of(self, suffix: str) -> Path:
        """Return the path of one of its files, by suffix (".log", ".index")."""
        return self.folder / f"{self.base_offset:020d}{suffix}"

    def file(self) -> LogFile:
        """Open the .log file. Raises OSError."""
        return self.pool.open(self.path)

    # --- writing

    def append(self, parts: Sequence[bytes | memoryview], places: Sequence[StoredBatch]) -> None:
        """Write batches behind the end; `places` are where they come to be. OSError leaves the segment as it was."""
        total = sum(each.size for each in places)
        self.pool.open_to_write(self.path, total).write(parts, self.size, total)
        for each in places:
            self.note(each)

    def note(self, each: StoredBatch) -> None:
        """Account for a batch that is in the file now."""
        if each.max_timestamp > self.max_timestamp:
            self.max_timestamp, self.max_timestamp_offset = each.max_timestamp, each.last_offset
        if self.first_timestamp < 0:
            self.first_timestamp = each.max_timestamp
        if self._since_entry > self.index_interval:
            self.offsets.add(each.last_offset - self.base_offset, each.position)
            self.times.add(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
            self._since_entry = 0
        self._since_entry += each.size
        self.size = each.position + each.size
        self.next_offset = each.last_offset + 1

    def rewrite(self, parts: Sequence[bytes], places: Sequence[StoredBatch], others: Sequence[Segment] = ()) -> None:
        """Put other batches in the place of all there are, in a file of their own. others: segments behind, which go.

        Who holds a slice of an old file can still read it. Once the new one has its name with SWAP it counts, after a
        crash, too. Raises OSError; then all is as it was.
        """
        beside, swap = (self.path.with_name(self.path.name + suffix) for suffix in (".cleaned", SWAP))
        beside.write_bytes(b"".join(parts))
        beside.replace(swap)
        for merged in others:
            merged.delete()
        self.pool.forget(self.path)
        swap.replace(self.path)
        for index in (self.offsets, self.times):
            index.path.unlink(missing_ok=True)
        self.forget_indexes()
        self._indexed, self._last = True, None
        self.size, self.next_offset = 0, self.base_offset
        self.max_timestamp, self.max_timestamp_offset, self.first_timestamp = -1, self.base_offset, -1
        for each in places:
            self.note(each)
        self.seal()

    # --- reading

    def find(self, offset: int) -> StoredBatch | None:
        """Return the batch that holds `offset`, or the first one after it."""
        last = self._last
        if last is not None and last.last_offset + 1 == offset:
            start = last.position + last.size
        else:
            self.load_indexes()
            start = self.offsets.position_of(max(0, offset - self.base_offset))
        found = first_from(self.file(), start, self.size, offset)
        self._last = found or last
        return found

    def slice(self, position: int, size: int, first: int = 0) -> Slice:
        """Return bytes from a position on. first: bytes of the first batch, 0 for unknown."""
        return Slice(self.file(), position, min(size, self.size - position), self.remote, first)

    def first_at(self, timestamp: int, from_offset: int = 0) -> StoredBatch | None:
        """Return the first batch, from an offset on, with a largest timestamp of at least this."""
        if self.max_timestamp < timestamp:
            return None
        self.load_indexes()
        start = self.offsets.position_of(self.times.offset_before(timestamp))
        for each in walk(self.file(), start, self.size):
            if each.max_timestamp >= timestamp and each.last_offset >= from_offset:
                return each
        return None

    # --- opening and closing

    def open_sealed(self) -> None:
        """Open a segment that is known to be complete: its end is searched behind the last index entry.

        An index that does not fit the batches is rebuilt; bytes behind the last batch are left out.
        """
        self.size = self.path.stat().st_size
        self._indexed = False
        self.load_indexes()
        if self.times.timestamps:
            self.max_timestamp = self.times.timestamps[-1]
            self.max_timestamp_offset = self.base_offset + self.times.offsets[-1]
        end = 0
        start = self.offsets.positions[-1] if len(self.offsets) else 0
        if not self._fits():
            self.forget_indexes()
            self.max_timestamp, self.max_timestamp_offset, start = -1, self.base_offset, 0
            for each in self._sound(0, self.size):
                self.note(each)
        for each in self._sound(start, self.path.stat().st_size):
            end = each.position + each.size
            self.next_offset = each.last_offset + 1
            if each.max_timestamp > self.max_timestamp:
                self.max_timestamp, self.max_timestamp_offset = each.max_timestamp, each.last_offset
        self.size = end

    def _fits(self) -> bool:
        """Return whether the last entry of the index names a batch."""
        if not len(self.offsets):
            return True
        found = next(self._sound(self.offsets.positions[-1], self.size), None)
        return found is not None and found.base_offset <= self.base_offset + self.offsets.offsets[-1]

    def _sound(self, position: int, end: int) -> Iterator[StoredBatch]:
        """Yield the batches from a position on, up to the first with offsets outside of this segment."""
        least = self.base_offset
        for each in walk(self.file(), position, end):
            if not least <= each.base_offset <= each.last_offset <= self.base_offset + FARTHEST:
                return
            least = each.last_offset + 1
            yield each

    def load_indexes(self) -> None:
        """Read both index files."""
        if not self._indexed:
            self._indexed = True
            self.offsets.load()
            self.times.load()

    def forget_indexes(self) -> None:
        """Clear the indexes, to be made anew."""
        self.offsets.clear()
        self.times.clear()
        self._since_entry = 0

    def seal(self) -> None:
        """Write the indexes as Kafka leaves them when a segment is rolled or closed: the largest timestamp at the
        end.
        """
        self.load_indexes()
        self.times.add(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
        self.offsets.flush()
        self.times.flush()

    def move(self, folder: Path) -> None:
        """Point the segment to its files' new folder."""
        self.load_indexes()
        self.pool.forget(self.path)
        self.folder = folder
        self.path = self.path_of(".log")
        self.offsets.path, self.times.path = self.path_of(".index"), self.path_of(".timeindex")

    def delete(self) -> None:
        """Delete its files."""
        self.pool.forget(self.path)
        for folder in {self.folder, self.copy or self.folder}:
            for suffix in (*SUFFIXES, ".snapshot"):
                with contextlib.suppress(FileNotFoundError):
                    (folder / self.path_of(suffix).name).unlink()
