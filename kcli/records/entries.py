"""The head of each entry of a log, of any magic: offset int64, then the int32 size of the following bytes.

The positions come from the core, for commands that start without the grammars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.core.records.batches import LENGTH_END, SIZE_AT

if TYPE_CHECKING:
    from mmap import mmap

LEAST_ENTRY = 18  # bytes up to the attributes: head, then CRC or epoch, magic


def entry_size(data: bytes | bytearray | memoryview | mmap, at: int = 0) -> int:
    """Return the size in bytes of the whole entry at `at`, by its size field; 12 or less if the field is 0 or
    negative.
    """
    return int.from_bytes(data[at + SIZE_AT : at + LENGTH_END], "big", signed=True) + LENGTH_END
