"""The two indexes of a segment, which are kept in memory and written from time to time.

The offset index has relative offsets and the positions of the batches that end with them. The time index has the
largest timestamps so far and the relative offsets of the batches with them. Both are sparse and sorted
(grammar/logfiles.py).

After a crash they are rebuilt from the log, so that it does not matter when they are written.
"""

from array import array
from bisect import bisect_left, bisect_right
from pathlib import Path

from kcli.grammar.files.logfiles import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from kcli.grammar.words.fixed import FixedLayout, fixed_layout

OFFSET_ENTRY = fixed_layout(OFFSET_INDEX_ENTRY)
TIME_ENTRY = fixed_layout(TIME_INDEX_ENTRY)
# The most entries that are not written yet.
BEHIND = 512


class SparseIndex:
    """Entries of two numbers, in ascending order of the first.

    layout: of an entry in the file. kinds: the type codes of `array` for the two numbers.
    """

    def __init__(self, path: Path, layout: FixedLayout, kinds: str) -> None:
        self.path, self.layout = path, layout
        self.keys: array[int] = array(kinds[0])
        self.values: array[int] = array(kinds[1])
        self._written = 0

    def __len__(self) -> int:
        return len(self.keys)

    def load(self) -> None:
        """Read the file up to the first entry that is not ascending, as Kafka's files have zeros after the last one."""
        for key, value in self.layout.iter_unpack(whole_entries(self.path, self.layout.size)):
            if key < 0 or value < 0 or (self.keys and key <= self.keys[-1]):
                break
            self.keys.append(key)
            self.values.append(value)
        self._written = len(self.keys)

    def add(self, key: int, value: int) -> None:
        """Append an entry, unless its key is negative or not above the last one. Raises OSError."""
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
        """Write the entries that are not written yet. Raises OSError."""
        start = self._written
        packed = b"".join(map(self.layout.pack, self.keys[start:], self.values[start:]))
        write_behind(self.path, packed, start * self.layout.size)
        self._written = len(self.keys)

    def clear(self) -> None:
        """Remove all entries from memory, to rebuild the index."""
        del self.keys[:], self.values[:]
        self._written = 0


class OffsetIndex(SparseIndex):
    """Relative offsets and the positions of their batches."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, OFFSET_ENTRY, "ii")
        self.offsets, self.positions = self.keys, self.values

    def position_of(self, offset: int) -> int:
        """Return the position from which to search for the batch with this relative offset."""
        return self.value_before(bisect_right(self.offsets, offset))


class TimeIndex(SparseIndex):
    """The largest timestamps so far (ms), and the relative offsets of the batches with them."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, TIME_ENTRY, "qi")
        self.timestamps, self.offsets = self.keys, self.values

    def offset_before(self, timestamp: int) -> int:
        """Return the relative offset from which to search for the first record at or after this timestamp."""
        return self.value_before(bisect_left(self.timestamps, timestamp))


def whole_entries(path: Path, size: int) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return b""
    return data[: len(data) // size * size]


def write_behind(path: Path, packed: bytes, position: int) -> None:
    """Write at `position`, and truncate the file after that. Raises OSError."""
    exists = path.exists()
    if not exists:
        path.parent.mkdir(parents=True, exist_ok=True)  # the segment may still be in memory
    with path.open("r+b" if exists else "wb") as file:
        file.seek(position)
        file.write(packed)
        file.truncate()
