"""Recognizes log segments, and the logs and snapshots of KRaft, by their first bytes, because a pipe has no name."""

from itertools import islice

from kcli.core.records.batches import HEADER_SIZE, LENGTH_END, MAGIC_AT, SIZE_AT
from kcli.errors import InputError
from kcli.records.batches import Batch, scan
from kcli.schemas.field_codes import ControlType

LOOKED_AT = 1 << 12  # bytes of a file that are read to recognize its kind
ATTRIBUTES = 0x7F  # bits that a batch of magic 2 may have
# Types of the control records that only KRaft writes.
KRAFT = range(ControlType.LEADER_CHANGE, ControlType.KRAFT_VOTERS + 1)


def starts_log(start: bytes) -> bool:
    """Return whether bytes are the start of a log segment: a batch with the right checksum, or the header of a batch
    longer than LOOKED_AT.
    """
    if start[:2] != b"\0\0" or start[MAGIC_AT : MAGIC_AT + 1] not in (b"\0", b"\1", b"\2"):
        return False
    size = int.from_bytes(start[SIZE_AT:LENGTH_END], "big", signed=True)
    if len(start) < LOOKED_AT or LENGTH_END + size <= len(start):
        return first_batch(start) is not None
    return is_header(start, size) if start[MAGIC_AT] == 2 else is_message(start, size)


def begins_batch(start: bytes) -> bool:
    """Return whether bytes begin with the plausible header of a batch of magic 2, even if its magic, length or checksum
    is wrong.
    """
    size = int.from_bytes(start[SIZE_AT:LENGTH_END], "big", signed=True)
    return start[:2] == b"\0\0" and len(start) >= HEADER_SIZE and is_header(start, size)


def is_message(start: bytes, size: int) -> bool:
    """Return whether the bytes begin with a message without a key, as compressed sets have, whose value's length fits
    its size.
    """
    key = 18 + 8 * start[MAGIC_AT]  # after the timestamp of magic 1
    value = key + 4
    length = int.from_bytes(start[value : value + 4], "big")
    return start[key:value] == b"\xff" * 4 and LENGTH_END + size == value + 4 + length


def is_header(start: bytes, size: int) -> bool:
    """Return whether the numbers in the header of a batch of magic 2 agree."""
    attributes, last_delta, count = (int.from_bytes(start[at:end], "big") for at, end in ((21, 23), (23, 27), (57, 61)))
    return attributes <= ATTRIBUTES and 0 < count <= last_delta + 1 <= 1 << 31 and count <= size


def first_batch(start: bytes) -> Batch | None:
    """Return the batch at the start of the bytes; None if there is none, or its checksum is wrong."""
    try:
        return next((batch for batch in islice(scan(start), 1) if batch.crc_valid), None)
    except InputError:
        return None


def control_kind(batch: Batch | None) -> int | None:
    """Return the type of a batch's first control record; None if it has none."""
    if batch is None or not batch.is_control:
        return None
    try:
        return next((int.from_bytes((each.key or b"")[2:4], "big") for each in batch.records()), None)
    except InputError:
        return None


def is_metadata(start: bytes) -> bool:
    """Return whether a log begins as KRaft's logs do: with a leader change, or a snapshot's header."""
    return control_kind(first_batch(start)) in KRAFT


def segment_name(start: bytes) -> str | None:
    """Return the name of the metadata log's segment with these first bytes; None if they are not a batch or may be a
    snapshot's.
    """
    batch = first_batch(start)
    if batch is None or (batch.base_offset == 0 and control_kind(batch) != ControlType.LEADER_CHANGE):
        return None
    return f"{batch.base_offset:020d}.log"
