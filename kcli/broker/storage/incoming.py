"""Batches from producers: they are checked, and then get their offsets when they are appended.

The rules for magic 2 are in `kcli.records.acceptance`. For magic 0 and 1 the checksums, compressed sets and
max.message.bytes are checked. As in Kafka 3 they are stored as magic 2, unless the topic has an older
message.format.version: then in the magic in which they came. Batches of magic 2 get their offset and epoch in front
of what the checksum covers. A compressed message set of magic 1 has relative offsets, so that only its wrapper gets an
offset; one of magic 0 has absolute offsets, and has to be compressed again.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kcli.broker.storage.headers import StoredBatch
from kcli.core.records import batches as core
from kcli.core.records import record_values
from kcli.core.records.batches import CRC_START, HEADER_SIZE, LENGTH_END, MAGIC_AT, SIZE_AT
from kcli.core.records.crc import crc32, crc32c
from kcli.errors import InputError
from kcli.grammar.batches import BATCH_HEADER, MESSAGE_HEADS
from kcli.grammar.words.fixed import fixed_layout
from kcli.records.acceptance import MAGIC_2_SINCE, RefusedError, TimeLimits, accepted, check_batch
from kcli.records.batches import APPEND_TIME, CODEC_MASK, Batch, scan
from kcli.records.builder import build_batch
from kcli.records.codecs import CODECS, compress, decompress

HEADER, MESSAGE = fixed_layout(BATCH_HEADER), fixed_layout(MESSAGE_HEADS[1])
FRONT = HEADER.part("baseOffset", "partitionLeaderEpoch")
LONGEST_SET = 256 << 20


class Incoming(NamedTuple):
    """A batch to append to a log.

    head: its header as received; data: all bytes; offsets: how many it needs; max_timestamp: as stored (ms);
    inner: the messages in a compressed one, which need absolute offsets and have to be compressed again.
    """

    head: Batch
    data: memoryview
    offsets: int
    max_timestamp: int
    inner: bytes | None = None


def read_incoming(
    records: bytes | memoryview,
    most: int,
    append_time: int | None = None,
    version: int | None = None,
    times: TimeLimits | None = None,
    *,
    keyed: bool = False,
) -> list[Incoming]:
    """Return the batches of a Produce request's records field. Raises RefusedError with the broken rule.

    most: max.message.bytes. append_time: the broker's time (ms) if message.timestamp.type is LogAppendTime, else None.
    version: of the request; None if a broker has accepted the batches before, so that records are not checked. times,
    keyed: see `accepted`.
    """
    if version is not None and version >= MAGIC_2_SINCE:
        made = [modern(accepted(records, version, most, times, keyed=keyed))]
    else:
        made = [incoming(head, most) for head in whole_batches(records)]
        if version is not None and any(each.head.magic == 2 for each in made):
            raise RefusedError("INVALID_RECORD", f"Produce v{version} carries magic 0 or 1, not 2")
    if keyed and any(each.head.magic < 2 and not has_keys(each) for each in made):
        raise RefusedError("INVALID_RECORD", "a compacted topic cannot accept a message without key")
    return made if append_time is None else [stamped(each, append_time) for each in made]


def has_keys(each: Incoming) -> bool:
    return all(record.key is not None for record in each.head.records())


def whole_batches(records: bytes | memoryview) -> list[Batch]:
    rows, code, end = core.frames(records, 0)
    if code != core.END:
        raise RefusedError("CORRUPT_MESSAGE", f"no whole record batch at byte {end} of {len(records)}")
    if not rows:
        raise RefusedError("INVALID_RECORD", "a produce request needs records")
    view = memoryview(records)
    return [Batch(view, row) for row in rows]


def incoming(head: Batch, most: int) -> Incoming:
    if head.magic not in (0, 1, 2):
        raise RefusedError("CORRUPT_MESSAGE", f"magic {head.magic} at byte {head.position}: 0, 1 or 2 expected")
    if head.magic == 2:
        check_batch(head, most)
        return modern(head)
    if not head.crc_valid:
        raise RefusedError("CORRUPT_MESSAGE", f"wrong checksum in the batch at byte {head.position}")
    if head.size > most:
        raise RefusedError("MESSAGE_TOO_LARGE", f"a batch of {head.size} bytes; max.message.bytes is {most}")
    return legacy(head)


def modern(head: Batch) -> Incoming:
    return Incoming(head, head.bytes, head.count, head.max_timestamp)


def legacy(head: Batch) -> Incoming:
    """Return a message of magic 0 or 1, with the messages in a compressed one. Raises RefusedError."""
    if not head.codec:
        return Incoming(head, head.bytes, 1, head.max_timestamp)

    payload = head.payload
    if payload is None:
        raise RefusedError("CORRUPT_MESSAGE", "a compressed message without a value")
    try:
        inner = bytes(decompress(head.codec, payload, head.magic, LONGEST_SET))
    except InputError as error:
        raise RefusedError("CORRUPT_MESSAGE", str(error)) from None
    rows, code, _ = core.frames(inner, 0)
    if code != core.END or not rows or any(not row[8] or row[2] != head.magic or row[3] & 7 for row in rows):
        raise RefusedError(
            "CORRUPT_MESSAGE", f"a compressed set that holds other things than messages of magic {head.magic}"
        )
    relative = head.magic == 1 and all(row[4] == number for number, row in enumerate(rows))
    latest = max(row[10] for row in rows)
    return Incoming(head, head.bytes, len(rows), latest, None if relative else inner)


def stamped(each: Incoming, now: int) -> Incoming:
    """Return a batch with the broker's time (ms) in place of the producer's; magic 0 has no timestamps."""
    magic = each.head.magic
    if magic == 0:
        return each
    data = bytearray(each.data)
    if magic == 2:
        HEADER.put(data, attributes=each.head.attributes | APPEND_TIME, maxTimestamp=now)
        HEADER.put(data, crc=crc32c(memoryview(data)[CRC_START:]))
    else:
        data[MESSAGE.offsets["attributes"]] |= APPEND_TIME
        MESSAGE.put(data, timestamp=now)
        MESSAGE.put(data, crc=crc32(memoryview(data)[MAGIC_AT:]))
    return each._replace(data=memoryview(data), max_timestamp=now)


def upgraded(batches: Sequence[Incoming], append_time: int | None) -> Incoming:
    """Return messages of magic 0 and 1 as one batch of magic 2 with the codec of the first, as in Kafka 3."""
    records = [record for each in batches for record in each.head.records()]
    rows = [(record.timestamp, record.key, record.value, ()) for record in records]
    data = build_batch(rows, codec=CODECS[batches[0].head.codec], append_time=append_time)
    return modern(next(scan(data)))


def recoded(each: Incoming, codec: str, level: int | None) -> Incoming:
    """Return a batch of magic 2 compressed with the topic's codec (compression.type) in place of the producer's."""
    number = 0 if codec == "uncompressed" else CODECS.index(codec)
    if each.head.magic < 2 or each.head.codec == number:
        return each

    records = decompress(each.head.codec, each.head.payload or b"", each.head.magic)
    data = bytearray(each.data[:HEADER_SIZE]) + compress(number, records, each.head.magic, level)
    at = HEADER.offsets["attributes"]
    attributes = int.from_bytes(data[at : at + 2], "big", signed=True)
    HEADER.put(data, attributes=attributes & ~CODEC_MASK | number)
    HEADER.put(data, crc=crc32c(memoryview(data)[CRC_START:]))
    return each._replace(data=memoryview(data))


def numbered(each: Incoming, base: int, epoch: int, position: int) -> tuple[list[bytes | memoryview], StoredBatch]:
    """Return the parts of a batch with offsets from `base` on, and its place in the file at `position`."""
    last = base + each.offsets - 1
    data = each.data
    if each.head.magic == 2:
        front = FRONT.pack(base, len(data) - LENGTH_END, epoch)
        return [front, data[MAGIC_AT:]], StoredBatch(position, len(data), base, last, each.max_timestamp)
    if each.inner is not None:
        data = memoryview(compressed_again(each, base))
    return [last.to_bytes(SIZE_AT, "big"), data[SIZE_AT:]], StoredBatch(
        position, len(data), last, last, each.max_timestamp
    )


def compressed_again(each: Incoming, base: int) -> bytes:
    """Return a wrapper compressed again, with absolute offsets in it (magic 0), or relative ones from 0 on (magic
    1).
    """
    assert each.inner is not None
    inner = bytearray(each.inner)
    magic, first = each.head.magic, base if each.head.magic == 0 else 0
    for number, row in enumerate(core.frames(each.inner, 0, False)[0]):
        inner[row[0] : row[0] + SIZE_AT] = (first + number).to_bytes(SIZE_AT, "big")
    value = bytes(compress(each.head.codec, inner, magic))
    return record_values.write_message(
        base + each.offsets - 1, magic, each.head.attributes, each.max_timestamp, None, value
    )


def stored(data: bytes | memoryview) -> list[Incoming]:
    """Return batches that already have offsets, as in a Fetch response or a segment; damaged ones are left out."""
    return [
        Incoming(head, head.bytes, head.last_offset - head.base_offset + 1, head.max_timestamp)
        for head in scan(data, damages=[])
        if head.crc_valid
    ]
