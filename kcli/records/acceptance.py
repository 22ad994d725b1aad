"""Acceptance of record batches by Kafka's rules, and the error codes of their refusal.

The rules, in the order in which a broker applies them (Kafka 4.4: ProduceRequest.validateRecords, UnifiedLog's
analyzeAndValidateRecords, LogValidator, ByteBufferLogInputStream, DefaultRecordBatch):

- One batch of magic 2 a partition, from Produce v3 on; zstd from v7 on. Bytes after it that are no whole batch are
  ignored, unless they have a size field below 14 or an unknown magic.
- The base offset is 0; the batch has at most max.message.bytes; its checksum is right; its codec is one of 0 to 4.
- The batch has as many records as offsets, at least one. It is no control batch. A producer id needs a base sequence.
- Every record is whole, none is missing, and nothing follows the last. In a compressed batch the lengths of records
  are not checked, but the offsets must run on from 0. Otherwise the broker fails, as it does for a payload that does
  not decompress.
- No record's timestamp is more than an hour (message.timestamp.after.max.ms) ahead of the broker's clock, nor further
  behind it than message.timestamp.before.max.ms. In a compacted topic every record has a key.

The embedded broker and `kcli check` use this module; `record_faults` finds faults of batches of any origin.
"""

import contextlib
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from kcli.core.records import batches as core
from kcli.core.records import record_values
from kcli.core.records.batches import CRC_START, HEADER_SIZE, LEAST_LENGTH, LENGTH_END, MAGIC_AT, SIZE_AT
from kcli.errors import DecodeError, InputError, KcliError
from kcli.grammar.batches import VARINT, VARLONG
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.trace import DecodeTrace
from kcli.records.batches import NO_EPOCH, TRANSACTIONAL, Batch, problem_text
from kcli.records.codecs import CODECS, decompress
from kcli.schemas.errors import error_code

MAGIC_2_SINCE, ZSTD_SINCE = 3, 7  # versions of Produce
MOST_BYTES = 1048588  # the default of max.message.bytes, the limit of a batch
AHEAD_MS, LONGEST_AGO_MS = 3_600_000, (1 << 63) - 1  # message.timestamp.after.max.ms, and before
GZIP, ZSTD = CODECS.index("gzip"), CODECS.index("zstd")
GZIP_START, GZIP_HEADER = b"\x1f\x8b\x08\0", 10  # the size in bytes of a header as Kafka writes it
LONGEST = (1 << 31) - 1


class RefusedError(KcliError):
    """Records that a broker refuses. error: Kafka's name of the error code; records: {index: fault} of single
    records.
    """

    def __init__(self, error: str, text: str, records: Mapping[int, str] | None = None) -> None:
        super().__init__(text)
        self.error, self.records = error, records or {}

    def row(self) -> dict[str, Any]:
        """Return the error as most responses have it."""
        return {"errorCode": error_code(self.error), "errorMessage": str(self)}


class TimeLimits(NamedTuple):
    """The limits of timestamps that a topic accepts, in ms: `before` and `after` the broker's time `now`."""

    now: int
    before: int = LONGEST_AGO_MS
    after: int = AHEAD_MS

    def accepts(self, earliest: int, latest: int) -> bool:
        """Return whether records between these times are accepted."""
        return self.now - self.before <= earliest <= latest <= self.now + self.after

    def fault(self, timestamp: int) -> str:
        """Return why a timestamp is refused; "" if it is accepted."""
        if self.accepts(timestamp, timestamp):
            return ""
        late = timestamp > self.now + self.after
        far = f"at most {self.after} ms ahead" if late else f"at most {self.before} ms behind"
        return f"timestamp {timestamp}: {far} of {self.now} expected"


def accepted(
    records: bytes | memoryview,
    version: int,
    most: int = MOST_BYTES,
    times: TimeLimits | None = None,
    *,
    keyed: bool = False,
) -> Batch:
    """Return the batch of magic 2 in the records field of a Produce request, v3 or newer. Raises RefusedError.

    most: max.message.bytes; times: None accepts any timestamp; keyed: every record needs a key, as in a compacted topic
    """
    first = whole_size(records, 0)
    if first is None:
        raise RefusedError("INVALID_RECORD", f"no whole record batch in {len(records)} bytes: one expected")
    if records[MAGIC_AT] != 2:
        raise RefusedError("INVALID_RECORD", f"magic {records[MAGIC_AT]}: Produce v{version} carries magic 2")
    if first < HEADER_SIZE:
        raise RefusedError("CORRUPT_MESSAGE", f"a batch of {first} bytes: {HEADER_SIZE} or more expected")
    rows, _code, _end = core.frames(memoryview(records)[:first])
    batch = Batch(memoryview(records), rows[0])
    if version < ZSTD_SINCE and batch.codec == ZSTD:
        raise RefusedError("UNSUPPORTED_COMPRESSION_TYPE", f"zstd needs Produce v{ZSTD_SINCE} or newer, not v{version}")
    if whole_size(records, first) is not None:
        raise RefusedError("INVALID_RECORD", f"another batch at byte {first}: one a partition expected")
    check_batch(batch, most)
    check_records(batch, times)
    if keyed:
        check_keys(batch)
    return batch


def is_transactional(records: bytes | memoryview) -> bool:
    """Return whether the field begins with a transactional batch of magic 2."""
    return len(records) >= HEADER_SIZE and records[MAGIC_AT] == 2 and bool(records[CRC_START + 1] & TRANSACTIONAL)


def whole_size(records: bytes | memoryview, at: int) -> int | None:
    """Return the size in bytes of the batch at `at`; None if it is not whole. Raises RefusedError if the bytes can't
    begin a batch.
    """
    left = len(records) - at
    if left < LENGTH_END:
        return None
    size = int.from_bytes(records[at + SIZE_AT : at + LENGTH_END], "big", signed=True)
    if size < LEAST_LENGTH[0]:
        raise RefusedError(
            "CORRUPT_MESSAGE", f"a batch at byte {at} says {size} bytes: {LEAST_LENGTH[0]} or more expected"
        )
    if size > LONGEST - LENGTH_END:
        raise RefusedError("UNKNOWN_SERVER_ERROR", f"a batch at byte {at} says {size} bytes: fewer than 2 GiB expected")
    if left <= MAGIC_AT:
        return None
    if records[at + MAGIC_AT] > 2:
        magic = int.from_bytes(records[at + MAGIC_AT : at + MAGIC_AT + 1], "big", signed=True)
        raise RefusedError("CORRUPT_MESSAGE", f"magic {magic} at byte {at + MAGIC_AT}: 2 expected")
    return size + LENGTH_END if size + LENGTH_END <= left else None


def check_batch(batch: Batch, most: int = MOST_BYTES) -> None:
    """Check the header of a producer's batch of magic 2. Raises RefusedError."""
    if batch.base_offset != 0:
        raise RefusedError("INVALID_RECORD", f"base offset {batch.base_offset}: a producer sends 0")
    if batch.size > most:
        raise RefusedError("MESSAGE_TOO_LARGE", f"a batch of {batch.size} bytes; max.message.bytes is {most}")
    if not batch.crc_valid:
        raise RefusedError("CORRUPT_MESSAGE", f"wrong checksum {batch.crc:08x} in the batch")
    if batch.codec >= len(CODECS):
        raise RefusedError("UNKNOWN_SERVER_ERROR", f"compression {batch.codec}: 0 to {ZSTD} expected")
    if text := count_problem(batch):
        raise RefusedError("INVALID_RECORD", text)
    if batch.is_control:
        raise RefusedError("INVALID_RECORD", "a control batch: only the coordinator writes these")
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        raise RefusedError("INVALID_RECORD", f"producer {batch.producer_id} without a base sequence")
    if batch.producer_id >= 0 and batch.producer_epoch < NO_EPOCH:
        raise RefusedError("INVALID_PRODUCER_EPOCH", f"producer epoch {batch.producer_epoch}: 0 or more expected")


def count_problem(batch: Batch) -> str:
    """Return the fault in the counts of a producer's batch, or "": it has at least one record, and as many offsets as
    records.
    """
    offset_count = batch.last_offset - batch.base_offset + 1
    if batch.count <= 0:
        return f"recordCount {batch.count}: 1 or more expected"
    return (
        ""
        if offset_count == batch.count
        else f"lastOffsetDelta {offset_count - 1}: {batch.count - 1} expected for {batch.count} records"
    )


def check_keys(batch: Batch) -> None:
    """Check that every record has a key, without which a compacted topic can't keep it. Raises RefusedError."""
    message = "a compacted topic cannot accept a message without key"
    keyless = [number for number, each in enumerate(batch.records()) if each.key is None]
    if keyless:
        raise RefusedError("INVALID_RECORD", f"records[{keyless[0]}]: {message}", dict.fromkeys(keyless, message))


def check_records(batch: Batch, times: TimeLimits | None) -> None:
    """Check the records of a batch, and with `times` their timestamps. Raises RefusedError."""
    damage = ""
    try:
        data = decompress(batch.codec, batch.payload or b"", batch.magic)
    except InputError as error:
        data, damage = salvaged(batch.codec, batch.payload or b""), str(error)
    problem, (steady, _), (earliest, latest) = record_values.walk_records(data, batch.count)
    fault = ": ".join(problem_text(problem)) if problem is not None else ""
    if fault and batch.codec:
        fault, cut, steady = skim(memoryview(data), batch.count)
        damage = damage if cut or not fault else ""
    if damage:
        raise RefusedError("UNKNOWN_SERVER_ERROR", damage)
    if fault:
        raise RefusedError("INVALID_RECORD", fault)
    earliest, latest = earliest + batch.base_timestamp, latest + batch.base_timestamp
    if times is not None and not times.accepts(earliest, latest) and not batch.is_append_time:
        found = {number: times.fault(each.timestamp) for number, each in enumerate(batch.records())}
        wrong = {number: text for number, text in found.items() if text}
        raise RefusedError("INVALID_TIMESTAMP", times.fault(latest) or times.fault(earliest), wrong)
    if batch.codec and not steady:
        raise RefusedError("UNKNOWN_SERVER_ERROR", "offset deltas that do not run on from 0 in a compressed batch")


def salvaged(codec: int, data: memoryview | bytes) -> bytes:
    """Return the bytes of records that a broker reads from the stream of a damaged payload before the damage."""
    with contextlib.suppress(zlib.error):
        if codec == GZIP and data[: len(GZIP_START)] == GZIP_START:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data[GZIP_HEADER:], MOST_BYTES)
    if codec == ZSTD:
        import zstandard

        with contextlib.suppress(zstandard.ZstdError):
            return zstandard.ZstdDecompressor().stream_reader(data).read(MOST_BYTES)
    return b""


def skim(data: memoryview, count: int) -> tuple[str, bool, bool]:
    """Skim the records by their fields and ignore their lengths, as a broker reads a compressed batch
    (PartialDefaultRecord).

    Returns (fault or "", whether the fault is that the bytes end, whether offset deltas count up from 0).
    """
    source, steady = ByteSource(data), True
    for index in range(count):
        try:
            if (size := number(source)) < 0:
                return f"records[{index}].length: {size}: 0 or more expected", False, steady
            source.take(1, "attributes")
            VARLONG.parse_word(source, DecodeTrace(), "timestampDelta")
            steady = number(source) == index and steady
            for _ in ("key", "value"):
                source.take(max(number(source), 0), "")
            headers = number(source)
            for _ in range(headers):
                if (size := number(source)) < 0:
                    return f"records[{index}].headers.key: {size} bytes: 0 or more expected", False, steady
                source.take(size, "")
                source.take(max(number(source), 0), "")
            if headers < 0:
                return f"records[{index}].headers: {headers}: 0 or more expected", False, steady
        except DecodeError as error:
            return f"records[{index}]: {error.reason}", True, steady
    left = source.left()
    return (f"records: {left} bytes are left after the {count} records" if left else ""), False, steady


def number(source: ByteSource) -> int:
    return VARINT.parse_word(source, DecodeTrace(), "")
