"""The twin of `kcli.core.records.batches`: JSON text of batches, their frames, the search for the next sound one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcli.core.records.batches import LEAST_LENGTH, LENGTH_END, MAGIC_AT
from kcli.records.entries import LEAST_ENTRY, entry_size
from tests.oracle.records.batch_text import LEGACY_CODEC, LEGACY_NULL, BatchText
from tests.oracle.records.framing import DONE, END, LENGTH, MAGIC, PARTIAL, SHORT, SUSPECT, is_sound, read_frame

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "DONE",
    "END",
    "LEGACY_CODEC",
    "LEGACY_NULL",
    "LENGTH",
    "MAGIC",
    "PARTIAL",
    "SHORT",
    "SUSPECT",
    "BatchText",
    "find",
    "frames",
    "sound",
    "whole",
]


def whole(data: Buffer, start: int, size: int, limit: int = -1) -> tuple[int, int, int]:
    """Walk over whole entries by their sizes: the status, where that ended, and where the last one began."""
    view, status, last = memoryview(data), DONE, start
    while limit < 0 or start < limit:
        status, frame = read_frame(view, start, size)
        if frame is None:
            break
        start, last = start + frame.size, start
    return status, start, last


def find(data: Buffer, start: int, stop: int) -> int:
    """Where the next plausible entry with a right checksum begins; -1: nowhere."""
    view = memoryview(data)
    for at in range(start, stop - LEAST_ENTRY + 1):
        if view[at + MAGIC_AT] > 2:
            continue
        size = entry_size(view, at)
        if LEAST_LENGTH[0] + LENGTH_END <= size <= stop - at and is_sound(view, at, stop):
            return at
    return -1


def sound(data: Buffer, start: int, stop: int) -> tuple[bool, bool]:
    """Whether a plausible entry is at `start`, and whether its checksum is right, too."""
    _status, frame = read_frame(memoryview(data), start, stop)
    plausible = frame is not None and frame.plausible
    return plausible, plausible and frame is not None and frame.crc_valid


def frames(data: Buffer, start: int = 0, check: bool = True) -> tuple[list[tuple[Any, ...]], int, int]:
    """The headers of the batches in a buffer, the status that ended the walk, and where (as core.records.batches)."""
    view = memoryview(data)
    rows: list[tuple[Any, ...]] = []
    while True:
        status, frame = read_frame(view, start, len(view))
        if frame is None:
            return rows, status, start
        rows.append(
            (
                frame.position,
                frame.size,
                frame.magic,
                frame.attributes,
                frame.base_offset,
                frame.last_offset,
                frame.leader_epoch,
                frame.crc,
                frame.crc_valid if check else None,
                frame.base_timestamp,
                frame.max_timestamp,
                frame.producer_id,
                frame.producer_epoch,
                frame.base_sequence,
                frame.count,
                frame.payload_position,
                -1 if frame.payload is None else len(frame.payload),
                frame.key_position,
                frame.key_size,
            )
        )
        start += frame.size
