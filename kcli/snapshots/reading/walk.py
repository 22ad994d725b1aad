"""The records of one batch of a snapshot or metadata log, by the compiled kernel or, without it, in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kcli.core.codec.varints import read_unsigned, read_zigzag
from kcli.snapshots.reading.framing import Batch, body

if TYPE_CHECKING:
    from kcli.core.snapshots.snapshot import PartitionChanges
    from kcli.snapshots.image.partitions import PartitionTable

# The faults of a record that show before its message is read, and what Kafka's reader expects.
PROBLEMS = {
    "record": "the record's own lengths don't agree with the bytes that are there",
    "surplus": "bytes are left in the batch after its last record",
    "null-value": "the record has no value (a metadata record has one)",
    "empty-value": "the record's value is empty (a frame version, type and version expected)",
    "frame": "the value ends inside its frame (frame version, type and version expected)",
    "frame-version": "unknown frame version (1 expected)",
    "frame-range": "the type or version in the frame is above 32767",
    "key": "the record has a key (metadata records have none)",
    "headers": "the record has headers (metadata records have none)",
    "offset": "the record's offset is not the one after its neighbour's",
    "control-key": "a control record's key is at least 4 bytes (version and type)",
}
SOFT = ("key", "headers", "offset")  # those that leave the message readable
COUNTED = "counted"  # no fault: the record went into the table of partitions, and could not be applied by the kernel


class Entry(NamedTuple):
    """One record. offset: in a snapshot a plain count from 0, in a log the log's.

    key      apiKey of a metadata record, or type of a control record; None where `problem` hides it
    version  of the record; for a control record the version in its key
    start, end  the message's bytes in the batch's opened body
    problem  "" or a key of PROBLEMS
    """

    offset: int
    key: int | None
    version: int | None
    start: int
    end: int
    problem: str


Row = tuple[int, int | None, int | None, int, int, str]


def opened(data: memoryview, batch: Batch) -> memoryview:
    """A batch's records, decompressed where need be. InputError when they can't be."""
    if batch.attributes & 7 == 0:
        return body(data, batch)
    from kcli.records.codecs import decompress

    return memoryview(decompress(batch.attributes & 7, body(data, batch)))


def walk(
    records: memoryview,
    batch: Batch,
    partitions: PartitionTable | None = None,
    mapped: bool = False,
    changes: PartitionChanges | None = None,
    matching: bool = False,
) -> Iterator[Row]:
    """The records of `records` (a batch's opened body) as rows in the shape of Entry.

    With `partitions`, the PartitionRecords that the kernel reads go there and are not given out. With `changes`, the
    kernel applies those and PartitionChangeRecords there. With both, what goes there and is not applied is COUNTED.
    matching: PartitionRecords are not applied, but compared: those that say something else are COUNTED.
    mapped: `records` lies in a file's map, whose pages may be given back on the way.
    """
    try:
        from kcli.core.snapshots.snapshot import Walk
    except ImportError:
        return walk_interpreted(records, batch)
    fast = partitions.fast if partitions is not None else None
    return Walk(
        records,
        batch.base_offset,
        batch.record_count,
        batch.is_control,
        fast,
        mapped and batch.attributes & 7 == 0,
        changes,
        matching,
    )


def entries(data: memoryview, batch: Batch) -> Iterator[tuple[Entry, memoryview]]:
    """Every record of a batch with its message's bytes; slower than `walk`."""
    records = opened(data, batch)
    for row in walk(records, batch):
        entry = Entry(*row)
        yield entry, records[entry.start : entry.end]


def walk_interpreted(records: memoryview, batch: Batch) -> Iterator[Row]:
    """What the kernel's Walk does, in Python."""
    at, end = 0, len(records)
    for place in range(max(batch.record_count, 0)):
        try:
            at, offset_delta, key, value, headers = cut_record(records, at)
        except ValueError:
            yield batch.base_offset, None, None, at, end, "record"
            return
        offset = batch.base_offset + offset_delta
        if value is None:
            yield offset, None, None, at, at, "null-value"
        elif batch.is_control:
            yield control_row(records, offset, key, value)
        elif value[0] == value[1]:
            yield offset, None, None, at, at, "empty-value"
        else:
            row = framed_row(records, offset, key, value, headers, at)
            yield row if row[5] or offset_delta == place else (*row[:5], "offset")
    if at != end:
        yield batch.base_offset, None, None, at, end, "surplus"


Span = tuple[int, int]


def cut_record(data: memoryview, at: int) -> tuple[int, int, Span | None, Span | None, int]:
    """(end, offset delta, key span, value span, header count) of the record at `at`; ValueError: its lengths lie."""
    size, at = read_zigzag(data, at, len(data), 5)
    if size < 1 or size > len(data) - at:
        raise ValueError
    stop = at + size
    _, at = read_zigzag(data, at + 1, stop, 10)
    offset_delta, at = read_zigzag(data, at, stop, 5)
    key, at = sized(data, at, stop)
    value, at = sized(data, at, stop)
    headers, at = read_zigzag(data, at, stop, 5)
    if headers < 0:
        raise ValueError
    for _ in range(headers):
        name, at = sized(data, at, stop)
        if name is None:
            raise ValueError
        _, at = sized(data, at, stop)
    if at != stop:
        raise ValueError
    return stop, offset_delta, key, value, headers


def control_row(data: memoryview, offset: int, key: Span | None, value: Span) -> Row:
    if key is None or key[1] - key[0] < 4:
        return offset, None, None, *value, "control-key"
    version, kind = (int.from_bytes(data[at : at + 2]) for at in (key[0], key[0] + 2))
    return offset, kind, version, *value, ""


def framed_row(data: memoryview, offset: int, key: Span | None, value: Span, headers: int, after: int) -> Row:
    at, end = value
    kind = version = 0
    try:
        frame, at = read_unsigned(data, at, end, 5)
        if frame == 1:
            kind, at = read_unsigned(data, at, end, 5)
            version, at = read_unsigned(data, at, end, 5)
    except ValueError:
        return offset, None, None, value[0], after, "frame"
    if frame != 1:
        problem = "frame-version"
    elif max(kind, version) > 32767:
        problem = "frame-range"
    else:
        problem = "key" if key is not None else "headers" if headers else ""
    return offset, kind, version, at, end, problem


def sized(data: memoryview, at: int, end: int) -> tuple[Span | None, int]:
    """The span behind a varint length; None for null (-1)."""
    size, at = read_zigzag(data, at, end, 5)
    if size < -1 or size > end - at:
        raise ValueError
    return (None, at) if size < 0 else ((at, at + size), at + size)
