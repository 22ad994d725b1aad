"""The two indexes of a segment, kept in memory and written behind.

The offset index has relative offsets and the positions of the batches that end with them; the time index the largest
timestamp so far and the relative offset of the batch that has it. Both are sparse and sorted (grammar/logfiles.py).

After a crash they are made anew from the log, so nothing hangs on when they reach the disk.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from pathlib import Path

from kcli.grammar.fixed import fixed_layout
from kcli.grammar.logfiles import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY

__all__ = ["OffsetIndex", "TimeIndex"]

OFFSET_ENTRY = fixed_layout(OFFSET_INDEX_ENTRY)
TIME_ENTRY = fixed_layout(TIME_INDEX_ENTRY)
# Entries that may wait for being written.
BEHIND = 512


class OffsetIndex:
    """Relative offsets and the positions of their batches."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offsets: array[int] = array("i")
        self.positions: array[int] = array("i")
        self._written = 0

    def __len__(self) -> int:
        return len(self.offsets)

    def load(self) -> None:
        """Read the file; entries of zeros behind the end (Kafka preallocates) are left out."""
        for offset, position in OFFSET_ENTRY.iter_unpack(whole_entries(self.path, OFFSET_ENTRY.size)):
            if offset < 0 or position < 0 or (self.offsets and offset <= self.offsets[-1]):
                break
            self.offsets.append(offset)
            self.positions.append(position)
        self._written = len(self.offsets)

    def add(self, offset: int, position: int) -> None:
        """An entry behind the last one; one that does not rise is left out."""
        if self.offsets and offset <= self.offsets[-1]:
            return
        self.offsets.append(offset)
        self.positions.append(position)
        if len(self.offsets) - self._written >= BEHIND:
            self.flush()

    def position_of(self, offset: int) -> int:
        """Where to begin to look for the batch with this relative offset."""
        at = bisect_right(self.offsets, offset) - 1
        return self.positions[at] if at >= 0 else 0

    def flush(self) -> None:
        """Write the entries that wait. OSError."""
        start = self._written
        packed = b"".join(map(OFFSET_ENTRY.pack, self.offsets[start:], self.positions[start:]))
        write_behind(self.path, packed, start * OFFSET_ENTRY.size)
        self._written = len(self.offsets)

    def clear(self) -> None:
        """Forget all entries, to make them anew."""
        del self.offsets[:], self.positions[:]
        self._written = 0


class TimeIndex:
    """Largest timestamps so far, and the relative offsets of the batches that have them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.timestamps: array[int] = array("q")
        self.offsets: array[int] = array("i")
        self._written = 0

    def __len__(self) -> int:
        return len(self.timestamps)

    def load(self) -> None:
        """Read the file; entries that do not rise, as Kafka leaves zeros behind the end, are left out."""
        for timestamp, offset in TIME_ENTRY.iter_unpack(whole_entries(self.path, TIME_ENTRY.size)):
            if self.timestamps and timestamp <= self.timestamps[-1]:
                break
            self.timestamps.append(timestamp)
            self.offsets.append(offset)
        self._written = len(self.timestamps)

    def add(self, timestamp: int, offset: int) -> None:
        """An entry behind the last one; one whose timestamp does not rise is left out."""
        if timestamp < 0 or (self.timestamps and timestamp <= self.timestamps[-1]):
            return
        self.timestamps.append(timestamp)
        self.offsets.append(offset)
        if len(self.timestamps) - self._written >= BEHIND:
            self.flush()

    def offset_before(self, timestamp: int) -> int:
        """A relative offset from which on to look for the first record of at least this timestamp."""
        at = bisect_left(self.timestamps, timestamp) - 1
        return self.offsets[at] if at >= 0 else 0

    def flush(self) -> None:
        """Write the entries that wait. OSError."""
        start = self._written
        packed = b"".join(map(TIME_ENTRY.pack, self.timestamps[start:], self.offsets[start:]))
        write_behind(self.path, packed, start * TIME_ENTRY.size)
        self._written = len(self.timestamps)

    def clear(self) -> None:
        """Forget all entries, to make them anew."""
        del self.timestamps[:], self.offsets[:]
        self._written = 0


def whole_entries(path: Path, size: int) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return b""
    return data[: len(data) // size * size]


def write_behind(path: Path, packed: bytes, position: int) -> None:
    """Write at `position`, and nothing behind it."""
    there = path.exists()
    if not there:
        path.parent.mkdir(parents=True, exist_ok=True)  # the segment may still be in memory
    with path.open("r+b" if there else "wb") as file:
        file.seek(position)
        file.write(packed)
        file.truncate()
