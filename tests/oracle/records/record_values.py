"""Records as Python values, both ways, on the grammar: what `kcli.core.records.record_values` does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kcli.core.records.batches import CRC_AT, CRC_START, HEADER_SIZE, LENGTH_END, MAGIC_AT
from kcli.errors import DecodeError
from kcli.grammar.batches import BATCH_HEADER, MESSAGES, RECORD
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.trace import DecodeTrace
from tests.oracle.records.crc import crc32, crc32c
from tests.oracle.records.framing import DONE, PARTIAL, Frame, read_frame, wrap

if TYPE_CHECKING:
    from typing_extensions import Buffer

Row = tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
Problem = tuple[int, int, int, int, int]

COUNT_MORE, COUNT_FEWER, COUNT_NEGATIVE = 9, 10, 11
# A word of the grammar that failed, as the kernels' codes have it.
CODES = {"length": 3, "key": 4, "value": 5, "headers": 6}


def read_records(
    data: Buffer, count: int, base_offset: int, base_timestamp: int, append_time: bool
) -> tuple[list[Row], Problem | None]:
    """The records of a batch of magic 2, decompressed, and what ended them early."""
    source, rows = ByteSource(memoryview(data)), list[Row]()
    for index in range(max(count, 0)):
        start = source.tell()
        if not source.left():
            return rows, (COUNT_MORE, index, start, count, index)
        try:
            value = RECORD.parse_word(source, DecodeTrace(), "")
        except DecodeError as error:
            return rows, problem_of(error, index)
        headers = tuple((h["key"].decode("utf-8", "surrogateescape"), h["value"]) for h in value["headers"])
        time = base_timestamp if append_time else wrap(base_timestamp + value["timestampDelta"])
        rows.append((wrap(base_offset + value["offsetDelta"]), time, value["key"], value["value"], headers))
    if count < 0:
        return rows, (COUNT_NEGATIVE, 0, 0, count, 0)
    if source.left():
        return rows, (COUNT_FEWER, len(rows), source.tell(), count, source.left())
    return rows, None


def walk_records(data: Buffer, count: int) -> tuple[Problem | None, tuple[bool, int], tuple[int, int]]:
    """The same without values: (problem, (do offset deltas run on from 0, the largest), (least, largest time))."""
    rows, problem = read_records(data, count, 0, 0, False)
    offsets, times = [row[0] for row in rows], [row[1] for row in rows]
    steady = offsets == [*range(len(offsets))]
    return problem, (steady, max([-1, *offsets])), (min(times, default=0), max(times, default=0))


def problem_of(error: DecodeError, record: int) -> Problem:
    """Which field, and the first two numbers that the reason names (places aside)."""
    numbers = [int(word) for word in error.reason.replace(",", " ").split() if word.lstrip("-").isdigit()]
    says, here = (*numbers, 0, 0)[:2]
    if "goes on after" in error.reason:
        return 1, record, error.offset, 0, 0
    name = error.path.partition(".")[0].partition("[")[0].partition("#")[0]
    if "is cut" in error.reason:
        return 2, record, error.offset, says, here
    code = CODES.get(name, 2)
    if code == 6 and "[" in error.path:
        code = 7 if error.path.endswith("key") else 8
    return code, record, error.offset, says, here


def open_set(wrapper: Frame, data: memoryview) -> tuple[list[Frame], int, Problem | None]:
    """The inner messages of a wrapper, what to add to their offsets, and what is wrong with them."""
    frames, at = list[Frame](), 0
    while True:
        status, frame = read_frame(data, at, len(data))
        if status not in (DONE, PARTIAL) and at < len(data):
            return [], 0, (20, len(frames), at, 0, wrapper.magic)
        if frame is None:
            break
        code = 17 if frame.magic != wrapper.magic else frame.broken or (16 if frame.codec else 0)
        if code:
            return [], 0, (code, len(frames), at, frame.magic, wrapper.magic)
        frames.append(frame)
        at += frame.size
    if not frames:
        return [], 0, (19, 0, 0, wrapper.last_offset, 0)
    last = frames[-1].base_offset
    if wrapper.magic == 1 and wrapper.last_offset != 0:
        if wrapper.last_offset < last:
            return [], 0, (18, len(frames), 0, wrapper.last_offset, last)
        return frames, wrap(wrapper.last_offset - last), None
    return frames, 0, None


def read_messages(
    data: Buffer, magic: int, attributes: int, offset: int, timestamp: int
) -> tuple[list[Row], Problem | None]:
    """The messages in a wrapper of magic 0 or 1, and what ended them early."""
    none = (-1,) * 6
    wrapper = Frame(
        0, 0, magic, attributes, offset, offset, -1, 0, timestamp, timestamp, *none[:3], 1, None, None, *none[:4]
    )
    frames, base, problem = open_set(wrapper, memoryview(data))
    append_time = magic == 1 and bool(attributes & 8)
    rows: list[Row] = [
        (
            wrap(frame.base_offset + base),
            timestamp if append_time else frame.max_timestamp,
            frame.key,
            None if frame.payload is None else bytes(frame.payload),
            (),
        )
        for frame in frames
    ]
    return rows, problem


def write_records(
    records: Iterable[tuple[int, int, bytes | None, bytes | None, Sequence[tuple[bytes, bytes | None]]]],
    base_offset: int,
    base_timestamp: int,
) -> bytes:
    """Records of magic 2 as bytes, offsets and timestamps as differences."""
    out = bytearray()
    for offset, time, key, value, headers in records:
        delta = wrap(offset - base_offset)
        if not -(1 << 31) <= delta < 1 << 31:
            raise OverflowError(f"offset {offset} is too far from the base offset {base_offset} for one batch")
        row = {
            "attributes": 0,
            "timestampDelta": wrap(time - base_timestamp),
            "offsetDelta": delta,
            "key": key,
            "value": value,
            "headers": [{"key": name, "value": content} for name, content in headers],
        }
        RECORD.build_word(row, out, DecodeTrace(), "")
    return bytes(out)


def write_header(
    base_offset: int,
    leader_epoch: int,
    magic: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    count: int,
    payload: Buffer,
    crc: int | None = None,
) -> bytes:
    """A batch of magic 2 of these fields and payload, with its size and checksum."""
    data = bytes(memoryview(payload))
    out = bytearray()
    row = {
        "baseOffset": base_offset,
        "batchLength": HEADER_SIZE - LENGTH_END + len(data),
        "partitionLeaderEpoch": leader_epoch,
        "magic": magic,
        "crc": crc or 0,
        "attributes": attributes,
        "lastOffsetDelta": last_offset_delta,
        "baseTimestamp": base_timestamp,
        "maxTimestamp": max_timestamp,
        "producerId": producer_id,
        "producerEpoch": producer_epoch,
        "baseSequence": base_sequence,
        "recordCount": count,
    }
    BATCH_HEADER.build_word(row, out, DecodeTrace(), "")
    out += data
    if crc is None:
        out[CRC_AT:CRC_START] = crc32c(out[CRC_START:]).to_bytes(4, "big")
    return bytes(out)


def write_message(
    offset: int,
    magic: int,
    attributes: int,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
    crc: int | None = None,
) -> bytes:
    """A message of magic 0 or 1, with its size and checksum."""
    size = 14 + 8 * (magic == 1) + len(key or b"") + len(value or b"")
    row = {
        "offset": offset,
        "messageSize": size,
        "crc": crc or 0,
        "magic": magic,
        "attributes": (attributes & 0xFF) - (256 if attributes & 0x80 else 0),
        "key": key,
        "value": value,
    }
    if magic == 1:
        row["timestamp"] = timestamp
    out = bytearray()
    MESSAGES[magic].build_word(row, out, DecodeTrace(), "")
    if crc is None:
        out[LENGTH_END:MAGIC_AT] = crc32(out[MAGIC_AT:]).to_bytes(4, "big")
    return bytes(out)
