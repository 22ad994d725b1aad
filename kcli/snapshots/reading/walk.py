"""The records of one batch of a snapshot or metadata log, as the kernel reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kcli.core.snapshots.snapshot import PartitionChanges, Walk
from kcli.errors import InputError
from kcli.snapshots.reading.framing import Batch, Fault, batches, body, release

if TYPE_CHECKING:
    from kcli.snapshots.image.partitions import PartitionTable

# Faults of a record outside of its message, and what Kafka's reader expects.
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
COUNTED = "counted"  # no fault: the kernel added the record to the table of partitions, but could not apply it


class Entry(NamedTuple):
    """One record of a batch.

    offset    in a log its offset; in a snapshot a count from 0
    key       apiKey of a metadata record, or type of a control record; None where `problem` hides it
    version   of the record; for a control record the version in its key
    start, end  the message's bytes in the batch's opened body
    problem   "" or a key of PROBLEMS
    """

    offset: int
    key: int | None
    version: int | None
    start: int
    end: int
    problem: str


Row = tuple[int, int | None, int | None, int, int, str]


def opened(data: memoryview, batch: Batch) -> memoryview:
    """Return a batch's records, decompressed if necessary. Raises InputError if they can't be."""
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
    """Yield the records of a batch as rows in the shape of Entry. records: the batch's body, from `opened`.

    With `partitions`, the PartitionRecords that the kernel reads are added there and not yielded. With `changes`, the
    kernel applies these and the PartitionChangeRecords there. With both, records that were added to `partitions` but
    not applied are yielded as COUNTED. matching: PartitionRecords are compared with `changes`, not applied; those that
    differ are COUNTED. mapped: `records` lies in a file's map, so that its pages can be returned to the system on the
    way.
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
    """Yield every record of a batch with its message's bytes. It is slower than `walk`."""
    records = opened(data, batch)
    for row in walk(records, batch):
        entry = Entry(*row)
        yield entry, records[entry.start : entry.end]


def metadata_rows(data: memoryview, mapped: object = None) -> Iterator[tuple[Row, memoryview]]:
    """Yield (row, its batch's records) of every metadata record of a file, up to the first fault in the framing.
    Batches that can't be opened are skipped. mapped: see `release`.
    """
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
