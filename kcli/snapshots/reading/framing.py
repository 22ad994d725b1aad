"""Batches of a snapshot or a metadata log segment, one header at a time.

A snapshot is a sequence of record batches of magic 2 (Kafka's `RecordsSnapshotWriter`), as a log segment is, and
nothing else. This module finds the batches and computes their checksums. It skips a bad batch with a plausible length,
so that all sound batches of a damaged file are read.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kcli.core.records.batches import CRC_START, HEADER_SIZE, LENGTH_END
from kcli.grammar.batches import BATCH_HEADER
from kcli.grammar.words.fixed import fixed_layout
from kcli.records.codecs import CODECS

HEADER = fixed_layout(BATCH_HEADER).struct
PIECE = 8 << 20  # bytes; so much is read before the pages are returned to the system


class Batch(NamedTuple):
    """The header of one batch. position, size: bytes in the file; timestamps in ms."""

    position: int
    size: int
    base_offset: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_offset(self) -> int:
        """The offset of the last record."""
        return self.base_offset + self.last_offset_delta

    @property
    def end(self) -> int:
        """The byte position of its end."""
        return self.position + self.size

    @property
    def is_control(self) -> bool:
        """Return whether its records are control records."""
        return bool(self.attributes & 0x20)

    @property
    def compression(self) -> str:
        """The name of the codec, "none" for most snapshots."""
        codec = self.attributes & 7
        return CODECS[codec] if codec < len(CODECS) else f"codec {codec}"

    @property
    def append_timestamp(self) -> int:
        """The batch's maxTimestamp in ms: when the leader wrote it."""
        return self.max_timestamp


class Fault(NamedTuple):
    """Bytes at `position` that are not a batch. left: bytes from there to the end of the file, none of which can be
      read;
    code: the kind of fault, "cut" or "magic"; reason: the same as a text.
    """

    position: int
    left: int
    code: str
    reason: str


def batches(data: memoryview, start: int = 0) -> Iterator[Batch | Fault]:
    """Yield every batch from the byte `start` on, and at the end a Fault if other bytes follow."""
    position, end = start, len(data)
    while position < end:
        left = end - position
        if left < HEADER_SIZE:
            yield Fault(position, left, *short(data, position, left))
            return
        fields = HEADER.unpack_from(data, position)
        size = fields[1] + LENGTH_END
        if fault := misfit(fields[1], fields[3], size, left, data, position):
            yield Fault(position, left, *fault)
            return
        yield Batch(position, size, fields[0], *fields[2:])
        position += size


def short(data: memoryview, position: int, left: int) -> tuple[str, str]:
    if not any(data[position : position + left]):
        return "zeros", f"{left} zero bytes where a batch should begin"
    return "cut", f"a batch header is {HEADER_SIZE} bytes long, {left} are left"


def misfit(length: int, magic: int, size: int, left: int, data: memoryview, position: int) -> tuple[str, str] | None:
    if size < HEADER_SIZE:
        if not any(data[position : position + min(left, 4096)]):
            return "zeros", f"{left} zero bytes where a batch should begin"
        return "batch-length", f"batchLength {length} is less than a header takes ({HEADER_SIZE - LENGTH_END})"
    if magic < 0 or magic > 2:
        return "magic", f"magic {magic} (2 expected)"
    if size > left:
        return "cut", f"the batch is {size} bytes long, {left} are left"
    return None


def checksum(data: memoryview, batch: Batch, mapped: object = None) -> int:
    """Return the CRC-32C of a batch's bytes after its checksum; `mapped` as in `release`."""
    from kcli.core.records.crc import crc32c  # not from the package, which loads more kernels

    value, at = 0, batch.position + CRC_START
    while at < batch.end:
        stop = min(at + PIECE, batch.end)
        value = crc32c(data[at:stop], value)
        if batch.size > 2 * PIECE:
            release(mapped, at, stop)
        at = stop
    return value


def body(data: memoryview, batch: Batch) -> memoryview:
    """Return the bytes after a batch's header: its records, or their compressed form."""
    return data[batch.position + HEADER_SIZE : batch.end]


def release(mapped: object, start: int, end: int) -> None:
    """Return the pages between two byte positions of a memory map to the system. mapped: the map; without one nothing
    happens.
    """
    advise = getattr(mapped, "madvise", None)
    if advise is None:
        return
    import mmap

    page = mmap.PAGESIZE
    first, last = -(-start // page) * page, end // page * page
    if last > first:
        advise(mmap.MADV_DONTNEED, first, last - first)
