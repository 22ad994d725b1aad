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
# The largest offset in a segment, relative to its first.
FARTHEST = (1 << 31) - 1
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex")
SWAP = ".swap"


@dataclass(slots=True)
class Slice:
    """Bytes of a segment's file, which may end within a batch. remote: the segment is only in remote storage; first:
    the size of the first batch, 0 if unknown.
    """

    file: LogFile
    position: int
    size: int
    remote: bool = False
    first: int = 0

    def read(self) -> bytes:
        """Read all bytes. Raises OSError."""
        return self.file.read(self.position, self.size)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes in chunks. Raises OSError."""
        for start in range(0, self.size, CHUNK):
            yield self.file.read(self.position + start, min(CHUNK, self.size - start))


class Segment:
    """A segment. base_offset: as in the file's name; next_offset: after the last record; size: bytes of whole batches.

    copy: the folder with its copy in remote storage, None for none; remote: it is only there (KIP-405).
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
        # The batch that was found last, for the next read of a sequential fetch.
        self._last: StoredBatch | None = None

    def path_of(self, suffix: str) -> Path:
        """Return the path of one of the segment's files, by suffix (".log", ".index")."""
        return self.folder / f"{self.base_offset:020d}{suffix}"

    def file(self) -> LogFile:
        """Open the .log file. Raises OSError."""
        return self.pool.open(self.path)

    # --- writing

    def append(self, parts: Sequence[bytes | memoryview], places: Sequence[StoredBatch]) -> None:
        """Append batches. places: their offsets and positions in the file. Raises OSError; then nothing has changed."""
        total = sum(each.size for each in places)
        self.pool.open_to_write(self.path, total).write(parts, self.size, total)
        for each in places:
            self.note(each)

    def note(self, each: StoredBatch) -> None:
        """Update the segment and its indexes for a batch that was written."""
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
        """Replace all batches by others, in a new file. others: the segments after this one, which are deleted.

        Slices of the old files can still be read. As soon as the new file has its name with SWAP it is used, also after
        a crash. Raises OSError.
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
        """Return the batch with `offset`, or the first one after it; None if there is none."""
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
        """Return bytes from a position on. first: the size of the first batch, 0 if unknown."""
        return Slice(self.file(), position, min(size, self.size - position), self.remote, first)

    def first_at(self, timestamp: int, from_offset: int = 0) -> StoredBatch | None:
        """Return the first batch from an offset on with a largest timestamp at or after this; None if there is none."""
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
        """Open a segment that was closed: its end is searched from the last index entry on.

        An index that does not match the batches is rebuilt; bytes after the last batch are ignored. Raises OSError.
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
        """Return whether the last entry of the index is the position of a batch."""
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
        """Clear the indexes, to rebuild them."""
        self.offsets.clear()
        self.times.clear()
        self._since_entry = 0

    def seal(self) -> None:
        """Write the indexes as Kafka does when a segment is closed, with the largest timestamp at the end. Raises
        OSError.
        """
        self.load_indexes()
        self.times.add(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
        self.offsets.flush()
        self.times.flush()

    def move(self, folder: Path) -> None:
        """Change the folder of the segment's files, after they were copied there."""
        self.load_indexes()
        self.pool.forget(self.path)
        self.folder = folder
        self.path = self.path_of(".log")
        self.offsets.path, self.times.path = self.path_of(".index"), self.path_of(".timeindex")

    def delete(self) -> None:
        """Delete the segment's files, and its copy."""
        self.pool.forget(self.path)
        for folder in {self.folder, self.copy or self.folder}:
            for suffix in (*SUFFIXES, ".snapshot"):
                with contextlib.suppress(FileNotFoundError):
                    (folder / self.path_of(suffix).name).unlink()
