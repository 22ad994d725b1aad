"""Reads the files beside a partition's log: indexes, aborted transactions, producer state, leader epochs.

Each reader yields rows as dicts with Kafka's names, in the order of the file, and raises DecodeError at the first fault
in the file's form, after the rows before it. The layouts in kcli/grammar are imported only in the functions that use
them, because commands that read only logs start without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from kcli.core.records.crc import crc32c
from kcli.errors import DecodeError

if TYPE_CHECKING:
    from kcli.grammar.words.structs import Struct

Row = dict[str, Any]

EPOCHS = "leader-epoch-checkpoint"
OFFSET_DIGITS = 20
# Most bytes of a file beside a log: a time index with an entry of 12 bytes for each batch (61 bytes or more) of 2 GiB.
LARGEST = 512 << 20


def base_offset_of(name: str) -> int:
    """Return the offset in the name of a segment or of a file beside it; 0 for other names, such as 1629.bin or
    /dev/fd/63. Kafka writes offsets with 20 digits.
    """
    stem = PurePath(name).name.partition(".")[0]
    is_offset = stem.isascii() and stem.isdigit() and (len(stem) == OFFSET_DIGITS or kind_of(name) is not None)
    return int(stem) if is_offset else 0


def kind_of(name: str) -> str | None:
    """Return the kind of a file in a partition's directory: "log", a key of READERS, or None."""
    base = PurePath(name).name
    if base == EPOCHS:
        return base
    suffix = base.rpartition(".")[2] if "." in base else ""
    if suffix == "log" or suffix in READERS:
        return suffix
    return None


def read_rows(kind: str, data: bytes, name: str) -> Iterator[Row]:
    """Return the rows of a file of this kind. Raises DecodeError."""
    return READERS[kind](data, base_offset_of(name))


def read_file_rows(kind: str, path: str) -> Iterator[Row]:
    """Read the rows of a file of this kind, at most LARGEST bytes. Raises OSError and DecodeError."""
    with Path(path).open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise DecodeError("", LARGEST, f"more than the {LARGEST >> 20} MiB that one can have", what=f"{kind} file")
    yield from read_rows(kind, data, path)


def read_index(data: bytes, base: int) -> Iterator[Row]:
    """Read an OffsetIndex. Zeroes after the entries are unused room."""
    from kcli.grammar.files.logfiles import OFFSET_INDEX_ENTRY

    for row in used_entries(data, OFFSET_INDEX_ENTRY, "offset index"):
        yield {"offset": base + row["relativeOffset"], "position": row["position"]}


def read_timeindex(data: bytes, base: int) -> Iterator[Row]:
    """Read a TimeIndex; timestamps in ms."""
    from kcli.grammar.files.logfiles import TIME_INDEX_ENTRY

    for row in used_entries(data, TIME_INDEX_ENTRY, "time index"):
        yield {"timestamp": row["timestamp"], "offset": base + row["relativeOffset"]}


def used_entries(data: bytes, grammar: Struct, name: str) -> Iterator[Row]:
    from kcli.grammar.words.fixed import fixed_layout

    entry = fixed_layout(grammar)
    used = len(data.rstrip(b"\0"))
    # Only the first entry may be zeroes alone; others are unused room.
    yield from entry.rows(data[: used + -used % entry.size])
    check_end(data, entry.size, name)


def check_end(data: bytes, size: int, name: str) -> None:
    if left := len(data) % size:
        raise DecodeError("", len(data) - left, f"{left} bytes after the last entry of {size}", what=name)


def read_txnindex(data: bytes, _base: int) -> Iterator[Row]:
    """Read a TransactionIndex: the aborted transactions of a segment. Raises DecodeError."""
    from kcli.grammar.files.logfiles import TRANSACTION_INDEX_ENTRY, TRANSACTION_INDEX_VERSION
    from kcli.grammar.words.fixed import fixed_layout

    name, entry = "transaction index", fixed_layout(TRANSACTION_INDEX_ENTRY)
    for number, row in enumerate(entry.rows(data)):
        if row["version"] != TRANSACTION_INDEX_VERSION:
            at = number * entry.size
            raise DecodeError("version", at, f"{row['version']} at {at:#x}: 0 expected", what=name)
        yield row
    check_end(data, entry.size, name)


def read_producers(data: bytes, _base: int) -> Iterator[Row]:
    """Read ProducerStateManager's snapshot. Raises DecodeError."""
    from kcli.grammar.files import logfiles
    from kcli.grammar.words.fixed import fixed_layout

    name, head, entry = "producer snapshot", fixed_layout(logfiles.PRODUCER_HEAD), fixed_layout(logfiles.PRODUCER_ENTRY)
    if len(data) < head.size:
        raise DecodeError("", 0, f"needs {head.size} bytes, {len(data)} are here", what=name)
    version, crc, count = head.unpack_from(data)
    if version != logfiles.PRODUCER_SNAPSHOT_VERSION:
        raise DecodeError("version", 0, f"{version}: {logfiles.PRODUCER_SNAPSHOT_VERSION} expected", what=name)
    body = data[head.size :]
    entries = len(body) // entry.size
    yield from entry.rows(body[: max(count, 0) * entry.size])
    if count != entries or len(body) % entry.size:
        at = head.offsets["count"]
        raise DecodeError("producers", at, f"says {count} producers, the bytes of {entries} are here", what=name)
    found = crc32c(data[logfiles.producer_crc_start() :])
    if found != crc:
        raise DecodeError("crc", head.offsets["crc"], f"says {crc}, the bytes give {found}", what=name)


def read_epochs(data: bytes, _base: int) -> Iterator[Row]:
    """Read a LeaderEpochCheckpointFile: the offset at which each leader epoch began. Raises DecodeError."""
    from kcli.grammar.files.checkpoints import LEADER_EPOCHS, VERSION
    from kcli.grammar.words.source import ByteSource
    from kcli.grammar.words.trace import DecodeTrace

    source, trace = ByteSource(data), DecodeTrace()
    try:
        VERSION.parse_word(source, trace, "version")
        yield from LEADER_EPOCHS.entries(source, trace, "entries")
    except DecodeError as error:
        raise DecodeError(error.path, error.offset, error.reason, what="leader epoch checkpoint") from None


def row_size(kind: str) -> int:
    """Return the size in bytes of an entry of this kind of file; 0 if sizes differ or a header precedes the entries."""
    from kcli.grammar.files import logfiles

    entries = {
        "index": logfiles.OFFSET_INDEX_ENTRY,
        "timeindex": logfiles.TIME_INDEX_ENTRY,
        "txnindex": logfiles.TRANSACTION_INDEX_ENTRY,
    }
    return entries[kind].sizeof() if kind in entries else 0


READERS: dict[str, Callable[[bytes, int], Iterator[Row]]] = {
    "index": read_index,
    "timeindex": read_timeindex,
    "txnindex": read_txnindex,
    "snapshot": read_producers,
    EPOCHS: read_epochs,
}
