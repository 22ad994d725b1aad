"""The two indexes of a segment, kept in memory and written behind.

The offset index has relative offsets and the positions of the batches that end with them; the time index the largest
timestamp so far and the relative offset of the batch that has it. Both are sparse and sorted (grammar/logfiles.py).

After a crash they are made anew from the log, so nothing hangs on when they reach the disk.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from pathlib import Path

from kcli.grammar.files.logfiles import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from kcli.grammar.words.fixed import FixedLayout, fixed_layout

OFFSET_ENTRY = fixed_layout(OFFSET_INDEX_ENTRY)
TIME_ENTRY = fixed_layout(TIME_INDEX_ENTRY)
# Entries that may wait for being written.
BEHIND = 512


class SparseIndex:
    """Entries of two numbers, the first of which rises from one to the next.

    layout: of an entry in the file. kinds: of the numbers, as `array` names them.
    """

    def __init__(self, path: Path, layout: FixedLayout, kinds: str) -> None:
        self.path, self.layout = path, layout
        self.keys: array[int] = array(kinds[0])
        self.values: array[int] = array(kinds[1])
        self._written = 0

    def __len__(self) -> int:
        return len(self.keys)

    def load(self) -> None:
        """Read the file; entries that do not rise, as Kafka leaves zeros behind the end, are left out."""
        for key, value in self.layout.iter_unpack(whole_entries(self.path, self.layout.size)):
            if key < 0 or value < 0 or (self.keys and key <= self.keys[-1]):
                break
            self.keys.append(key)
            self.values.append(value)
        self._written = len(self.keys)

    def add(self, key: int, value: int) -> None:
        """Append an entry; one that does not rise, or has no time, is left out."""
        if key < 0 or (self.keys and key <= self.keys[-1]):
            return
        self.keys.append(key)
        self.values.append(value)
        if len(self.keys) - self._written >= BEHIND:
            self.flush()

    def value_before(self, at: int) -> int:
        """Return the value of the last entry before place `at`; 0 if there is none."""
        return self.values[at - 1] if at else 0

    def flush(self) -> None:
        """Write the entries that wait. Raises OSError."""
        start = self._written
        packed = b"".join(map(self.layout.pack, self.keys[start:], self.values[start:]))
        write_behind(self.path, packed, start * self.layout.size)
        self._written = len(self.keys)

    def clear(self) -> None:
        """Forget all entries, to make them anew."""
        del self.keys[:], self.values[:]
        self._written = 0


class OffsetIndex(SparseIndex):
    """Relative offsets and the positions of their batches."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, OFFSET_ENTRY, "ii")
        self.offsets, self.positions = self.keys, self.values

    def position_of(self, offset: int) -> int:
        """Return where to begin to look for the batch with this relative offset."""
        return self.value_before(bisect_right(self.offsets, offset))


class TimeIndex(SparseIndex):
    """Largest timestamps so far, and the relative offsets of the batches that have them."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, TIME_ENTRY, "qi")
        self.timestamps, self.offsets = self.keys, self.values

    def offset_before(self, timestamp: int) -> int:
        """Return a relative offset from which to look for the first record of at least this timestamp."""
        return self.value_before(bisect_left(self.timestamps, timestamp))


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
