"""The head of each entry of a log, whatever its magic: offset int64, then the int32 size of the following bytes.

The places are the core's, for commands that start without grammars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.core.records.batches import LENGTH_END, SIZE_AT

if TYPE_CHECKING:
    from mmap import mmap

LEAST_ENTRY = 18  # bytes that show what an entry is: head, then CRC or epoch, magic, attributes


def entry_size(data: bytes | bytearray | memoryview | mmap, at: int = 0) -> int:
    """Return the size in bytes of the whole entry at `at`, by its size field; at most 12 where that makes no
    sense.
    """
    return int.from_bytes(data[at + SIZE_AT : at + LENGTH_END], "big", signed=True) + LENGTH_END
