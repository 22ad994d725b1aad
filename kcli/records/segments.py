"""The files of a partition's folder beside its log: indexes, aborted transactions, producer state, leader epochs.

Each reader gives rows as dicts with Kafka's names, in the order of the file, and raises DecodeError at what breaks the
file's form, behind the rows before it. Offsets in `.index` and `.timeindex` are relative to the file's name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Any

from kcli.errors import DecodeError
from kcli.records.kernels import crc32c

__all__ = ["READERS", "base_offset_of", "kind_of", "read_rows"]

Row = dict[str, Any]

INDEX_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")
TRANSACTION_ENTRY = struct.Struct(">hqqqq")
PRODUCER_HEADER = struct.Struct(">hIi")
PRODUCER_ENTRY = struct.Struct(">qhiqiqiq")
EPOCHS = "leader-epoch-checkpoint"


def base_offset_of(name: str) -> int:
    """The offset a segment file is named by, 0 when it is named otherwise."""
    stem = PurePath(name).name.partition(".")[0]
    return int(stem) if stem.isdigit() else 0


def kind_of(name: str) -> str | None:
    """Which of the files of a log folder this is: "log", a key of READERS, or None."""
    base = PurePath(name).name
    if base == EPOCHS:
        return base
    suffix = base.rpartition(".")[2] if "." in base else ""
    if suffix == "log" or suffix in READERS:
        return suffix
    return None


def read_rows(kind: str, data: bytes, name: str) -> Iterator[Row]:
    """The rows of a file of that kind. DecodeError."""
    return READERS[kind](data, base_offset_of(name))


def read_index(data: bytes, base: int) -> Iterator[Row]:
    """OffsetIndex: relative offset int32, position int32. Zeroes behind the entries are room not used yet."""
    for at in whole_entries(data, INDEX_ENTRY, "offset index"):
        offset, position = INDEX_ENTRY.unpack_from(data, at)
        yield {"offset": base + offset, "position": position}


def read_timeindex(data: bytes, base: int) -> Iterator[Row]:
    """TimeIndex: timestamp int64 in ms, relative offset int32."""
    for at in whole_entries(data, TIME_ENTRY, "time index"):
        timestamp, offset = TIME_ENTRY.unpack_from(data, at)
        yield {"timestamp": timestamp, "offset": base + offset}


def whole_entries(data: bytes, entry: struct.Struct, what: str) -> Iterator[int]:
    used = len(data.rstrip(b"\0"))
    used += -used % entry.size
    if used > len(data) - len(data) % entry.size:
        used = len(data) - len(data) % entry.size
    # An entry of zeroes alone is the first, or none at all.
    yield from range(0, used, entry.size)
    if len(data) % entry.size:
        left = len(data) % entry.size
        raise DecodeError("", len(data) - left, f"{left} bytes behind the last entry of {entry.size}", what=what)


def read_txnindex(data: bytes, _base: int) -> Iterator[Row]:
    """TransactionIndex: version int16, then producer id, first, last and last stable offset as int64."""
    for at in range(0, len(data) - TRANSACTION_ENTRY.size + 1, TRANSACTION_ENTRY.size):
        version, producer_id, first, last, stable = TRANSACTION_ENTRY.unpack_from(data, at)
        if version != 0:
            raise DecodeError("version", at, f"{version} at {at:#x}: 0 expected", what="transaction index")
        yield {
            "version": version,
            "producerId": producer_id,
            "firstOffset": first,
            "lastOffset": last,
            "lastStableOffset": stable,
        }
    if left := len(data) % TRANSACTION_ENTRY.size:
        raise DecodeError("", len(data) - left, f"{left} bytes behind the last entry of 34", what="transaction index")


def read_producers(data: bytes, _base: int) -> Iterator[Row]:
    """ProducerStateManager's snapshot: version int16, crc-32c of all behind it, then the producers."""
    what = "producer snapshot"
    if len(data) < PRODUCER_HEADER.size:
        raise DecodeError("", 0, f"needs {PRODUCER_HEADER.size} bytes, {len(data)} are here", what=what)
    version, crc, count = PRODUCER_HEADER.unpack_from(data)
    if version != 1:
        raise DecodeError("version", 0, f"{version}: 1 expected", what=what)
    here = (len(data) - PRODUCER_HEADER.size) // PRODUCER_ENTRY.size
    for index in range(min(max(count, 0), here)):
        at = PRODUCER_HEADER.size + index * PRODUCER_ENTRY.size
        producer, epoch, sequence, last, delta, timestamp, coordinator, first = PRODUCER_ENTRY.unpack_from(data, at)
        yield {
            "producerId": producer,
            "producerEpoch": epoch,
            "lastSequence": sequence,
            "lastOffset": last,
            "offsetDelta": delta,
            "lastTimestamp": timestamp,
            "coordinatorEpoch": coordinator,
            "currentTxnFirstOffset": first,
        }
    if count != here or (len(data) - PRODUCER_HEADER.size) % PRODUCER_ENTRY.size:
        raise DecodeError("producers", 6, f"says {count} producers, the bytes of {here} are here", what=what)
    if crc32c(data[6:]) != crc:
        raise DecodeError("crc", 2, f"says {crc}, the bytes give {crc32c(data[6:])}", what=what)


def read_epochs(data: bytes, _base: int) -> Iterator[Row]:
    """LeaderEpochCheckpointFile: lines with version 0, the number of entries, then `epoch startOffset` each."""
    what = "leader epoch checkpoint"
    lines = data.decode("utf-8", "replace").splitlines()
    if len(lines) < 2 or lines[0].strip() != "0" or not lines[1].strip().isdigit():
        raise DecodeError("", 0, "its first lines are version 0 and a count, here " + repr(lines[:2]), what=what)
    count, at = int(lines[1]), len(lines[0]) + len(lines[1]) + 2
    for number, line in enumerate(lines[2:], 3):
        parts = line.split()
        if len(parts) != 2 or not all(part.lstrip("-").isdigit() for part in parts):
            raise DecodeError("", at, f"line {number} is {line!r}: an epoch and its start offset expected", what=what)
        yield {"epoch": int(parts[0]), "startOffset": int(parts[1])}
        at += len(line) + 1
    if count != len(lines) - 2:
        raise DecodeError("", len(lines[0]) + 1, f"says {count} entries, {len(lines) - 2} are here", what=what)


READERS: dict[str, Callable[[bytes, int], Iterator[Row]]] = {
    "index": read_index,
    "timeindex": read_timeindex,
    "txnindex": read_txnindex,
    "snapshot": read_producers,
    EPOCHS: read_epochs,
}
