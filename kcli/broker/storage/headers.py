"""Iteration over the batches of a segment file by their headers, with few and small reads."""

from collections.abc import Iterator
from typing import NamedTuple

from kcli.broker.storage.file_pool import LogFile
from kcli.core.records.batches import LEAST_LENGTH, LENGTH_END, MAGIC_AT
from kcli.grammar.batches import BATCH_HEADER, MESSAGE_HEADS
from kcli.grammar.words.fixed import fixed_layout

HEADER = fixed_layout(BATCH_HEADER)
OVERHEAD, LEAST = LENGTH_END, min(LEAST_LENGTH)
CHUNK = 4096
# The bytes of a magic 2 header that a StoredBatch needs; messages of magic 0 and 1 may be shorter.
NEEDED = HEADER.offsets["producerId"]
ENTRY = HEADER.part("baseOffset", "batchLength")
MIDDLE = HEADER.part("lastOffsetDelta", "maxTimestamp")
MIDDLE_AT = HEADER.offsets["lastOffsetDelta"]
TIMESTAMP_AT = fixed_layout(MESSAGE_HEADS[1]).offsets["timestamp"]


class StoredBatch(NamedTuple):
    """A batch in a file. position, size: in bytes, with its header; max_timestamp: ms, -1 for none."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int


def walk(file: LogFile, position: int, end: int) -> Iterator[StoredBatch]:
    """Yield the batches from `position` on, up to the first one that is incomplete before `end`."""
    chunk, start = b"", position
    while end - position >= OVERHEAD + LEAST:
        at = position - start
        if at + NEEDED > len(chunk):
            chunk, start, at = file.read(position, min(CHUNK, end - position)), position, 0
            if len(chunk) < OVERHEAD + LEAST:
                return
        base_offset, length = ENTRY.unpack_from(chunk, at)
        size = length + OVERHEAD
        if length < LEAST or position + size > end:
            return
        yield place(chunk, at, position, size, base_offset)
        position += size


def place(chunk: bytes, at: int, position: int, size: int, base_offset: int) -> StoredBatch:
    magic = chunk[at + MAGIC_AT]
    if magic == 2 and len(chunk) - at >= NEEDED:
        last_delta, _, max_timestamp = MIDDLE.unpack_from(chunk, at + MIDDLE_AT)
        return StoredBatch(position, size, base_offset, base_offset + last_delta, max_timestamp)
    at += TIMESTAMP_AT
    timestamp = int.from_bytes(chunk[at : at + 8], "big", signed=True) if magic == 1 else -1
    return StoredBatch(position, size, base_offset, base_offset, timestamp)


def first_from(file: LogFile, position: int, end: int, offset: int) -> StoredBatch | None:
    """Return the first batch from `position` on with this offset or a later one; None if there is none."""
    for found in walk(file, position, end):
        if found.last_offset >= offset:
            return found
    return None
