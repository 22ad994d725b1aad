"""The records of one batch of a snapshot or metadata log, as the kernel reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kcli.core.snapshots.snapshot import Walk
from kcli.errors import InputError
from kcli.snapshots.reading.framing import Batch, Fault, batches, body, release

if TYPE_CHECKING:
    from kcli.core.snapshots.snapshot import PartitionChanges
    from kcli.snapshots.image.partitions import PartitionTable

# The faults of a record outside of its message, and the values that Kafka's reader expects.
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
SOFT = ("key", "headers", "offset")  # faults that leave the message readable
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
    """Return a batch's records, decompressed where need be. Raises InputError when they can't be."""
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
    """Yield the records of `records` (a batch's opened body) as rows in the shape of Entry.

    With `partitions`, the PartitionRecords that the kernel reads go there and are not yielded. With `changes`, the
    kernel applies those and PartitionChangeRecords there. With both, records for `partitions` that are not applied are
    COUNTED. matching: PartitionRecords are not applied, but compared: different ones are COUNTED. mapped: `records`
    lies in a file's map; its pages can be given back on the way.
    """
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
    """Yield every record of a batch with its message's bytes; slower than `walk`."""
    records = opened(data, batch)
    for row in walk(records, batch):
        entry = Entry(*row)
        yield entry, records[entry.start : entry.end]


def metadata_rows(data: memoryview, mapped: object = None) -> Iterator[tuple[Row, memoryview]]:
    """Yield every metadata record of a file with known bounds, and its batch's records; mapped: see `release`."""
    for batch in batches(data):
        if isinstance(batch, Fault):
            return
        if batch.magic == 2 and not batch.is_control:
            try:
                records = opened(data, batch)
            except InputError:
                continue
            for row in walk(records, batch):
                yield row, records
        release(mapped, batch.position, batch.end)
