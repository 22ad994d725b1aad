"""The offsets of a records field in a response, and the batch that is cut off at its end.

The records of a partition end at the byte limits of the response, also within a batch.
"""

from typing import NamedTuple

from kcli.broker.storage.headers import HEADER
from kcli.broker.storage.incoming import stored
from kcli.core.records.batches import LENGTH_END, MAGIC_AT, SIZE_AT

# The highest end offset of a log.
LAST_END = (1 << 63) - 1
EPOCH_AT, DELTA_AT = HEADER.offsets["partitionLeaderEpoch"], HEADER.offsets["lastOffsetDelta"]


class Span(NamedTuple):
    """The offsets of a partition's records in one response: the first, and the one after the last (LAST_END if the last
    batch is cut off)."""

    first: int
    end: int


class CutBatch(NamedTuple):
    """The beginning of a batch that is cut off. last: its last offset, -1 if that is cut off, too. size: bytes of the
    whole batch, 0 if that is cut off.
    """

    base: int
    last: int
    size: int
    epoch: int


def span_of(records: bytes) -> Span | None:
    """Return the offsets of a records field; None if it has no records."""
    batches = list(stored(records)) if records else []
    cut = cut_batch(records, batches[-1].head.last_offset + 1 if batches else -1)
    if not batches:
        return Span(cut.base, LAST_END) if cut is not None and cut.base >= 0 else None
    first, last = batches[0].head, batches[-1].head
    end = (last.last_offset if last.magic == 2 else last.base_offset) + 1
    return Span(first.base_offset, LAST_END if cut is not None else end)


def cut_batch(records: bytes, follows: int) -> CutBatch | None:
    """Return the batch that is cut off at the end of a records field; None if there is none. follows: the batch's first
    offset if that is cut off, too.
    """
    at = 0
    while len(records) - at >= LENGTH_END:
        size = LENGTH_END + int.from_bytes(records[at + SIZE_AT : at + LENGTH_END], "big", signed=True)
        if size <= LENGTH_END or len(records) - at < size:
            break
        at += size
    rest = records[at:]
    if not rest:
        return None
    if len(rest) < LENGTH_END:
        return CutBatch(follows, -1, 0, 0)
    base, size = number_at(rest, 0, SIZE_AT), LENGTH_END + number_at(rest, SIZE_AT, LENGTH_END)
    if len(rest) > MAGIC_AT and rest[MAGIC_AT] != 2:
        return CutBatch(follows if follows >= 0 else base, base, size, 0)
    if len(rest) < DELTA_AT + 4:
        return CutBatch(base, -1, size, 0)
    return CutBatch(base, base + number_at(rest, DELTA_AT, DELTA_AT + 4), size, number_at(rest, EPOCH_AT, EPOCH_AT + 4))


def number_at(data: bytes, start: int, end: int) -> int:
    return int.from_bytes(data[start:end], "big", signed=True)
