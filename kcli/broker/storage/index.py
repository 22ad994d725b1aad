"""The two indexes of a segment, kept in memory and written behind.

Offset index: 8 bytes an entry, the offset relative to the segment's base (int32) and the position of the batch that
ends with it (int32). Time index: 12 bytes an entry, the largest timestamp so far (int64) and the relative offset of
the batch that has it (int32). Both are sparse and sorted. Source: Kafka's OffsetIndex and TimeIndex.

After a crash they are made anew from the log, so nothing hangs on when they reach the disk.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left, bisect_right
from pathlib import Path

__all__ = ["OffsetIndex", "TimeIndex"]

OFFSET_ENTRY = struct.Struct(">II")
TIME_ENTRY = struct.Struct(">qI")
# Entries that may wait for being written.
BEHIND = 512


class OffsetIndex:
    """Relative offsets and the positions of their batches."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offsets: array[int] = array("I")
        self.positions: array[int] = array("I")
        self._written = 0

    def __len__(self) -> int:
        return len(self.offsets)

    def load(self) -> None:
        """Read the file; entries of zeros behind the end (Kafka preallocates) are left out."""
        for offset, position in OFFSET_ENTRY.iter_unpack(whole_entries(self.path, OFFSET_ENTRY.size)):
            if self.offsets and offset <= self.offsets[-1]:
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
        start = self._written
        packed = b"".join(map(OFFSET_ENTRY.pack, self.offsets[start:], self.positions[start:]))
        write_behind(self.path, packed, start * OFFSET_ENTRY.size)
        self._written = len(self.offsets)

    def clear(self) -> None:
        del self.offsets[:], self.positions[:]
        self._written = 0


class TimeIndex:
    """Largest timestamps so far, and the relative offsets of the batches that have them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.timestamps: array[int] = array("q")
        self.offsets: array[int] = array("I")
        self._written = 0

    def __len__(self) -> int:
        return len(self.timestamps)

    def load(self) -> None:
        for timestamp, offset in TIME_ENTRY.iter_unpack(whole_entries(self.path, TIME_ENTRY.size)):
            if self.timestamps and timestamp <= self.timestamps[-1]:
                break
            self.timestamps.append(timestamp)
            self.offsets.append(offset)
        self._written = len(self.timestamps)

    def add(self, timestamp: int, offset: int) -> None:
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
        start = self._written
        packed = b"".join(map(TIME_ENTRY.pack, self.timestamps[start:], self.offsets[start:]))
        write_behind(self.path, packed, start * TIME_ENTRY.size)
        self._written = len(self.timestamps)

    def clear(self) -> None:
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
    with path.open("r+b" if path.exists() else "wb") as file:
        file.seek(position)
        file.write(packed)
        file.truncate()
