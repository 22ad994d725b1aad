"""The parts of a batch of magic 2 that may be wrong each by itself, and the measure of how right a batch is."""

from typing import NamedTuple

from kcli.core.records import record_values
from kcli.core.records.batches import CRC_START, HEADER_SIZE, LENGTH_END, MAGIC_AT, SIZE_AT
from kcli.core.records.crc import crc32c
from kcli.errors import InputError
from kcli.grammar.batches import BATCH_HEADER
from kcli.grammar.slips.plausibility import YEAR_2096
from kcli.records.batches import CODEC_MASK
from kcli.records.codecs import CODECS, decompress

MAGIC = 2
GZIP = 1  # a codec
UNFOLDED = 1 << 22  # the most decompressed bytes of records that are read
WRONG_CHECKSUM = 3.0  # oddness; a right checksum shows that nothing else was changed
FAR = 1 << 40  # ms: a larger value is no delta
ABSOLUTE, SUSPECT = 6.0, 2.0  # oddness
OLDEST = 10**9  # ms
LARGE = 1 << 40  # producer ids


def field_places() -> dict[str, tuple[int, int, str]]:
    places, at = {}, 0
    for field in BATCH_HEADER.fields:
        places[field.name] = at, at + field.subcon.least, field.subcon.type
        at += field.subcon.least
    return places


FIELDS = field_places()  # {name: (start, end, type)}


class Parts(NamedTuple):
    """The parts of a batch. records: decompressed, None if they can't be; the others are fields of the header."""

    records: bytes | None
    codec: int
    crc: int
    base_time: int
    record_count: int
    last_delta: int


def number(batch: bytes, name: str) -> int:
    """Return the value of a header's field."""
    start, end, type_ = FIELDS[name]
    return int.from_bytes(batch[start:end], "big", signed=not type_.startswith("u"))


def parts_of(batch: bytes) -> Parts | None:
    """Return the parts of a batch; None if it is too short for a header."""
    if len(batch) < HEADER_SIZE:
        return None
    codec = number(batch, "attributes") & CODEC_MASK
    records: bytes | None = None
    if codec < len(CODECS):
        try:
            records = bytes(decompress(codec, batch[HEADER_SIZE:], MAGIC, UNFOLDED))
        except InputError:
            records = None
    numbers = [number(batch, name) for name in ("crc", "baseTimestamp", "recordCount", "lastOffsetDelta")]
    return Parts(records, codec, *numbers)


def replaced(batch: bytes, name: str, value: int) -> bytes:
    """Return the batch with another value of a header's field."""
    start, end, type_ = FIELDS[name]
    return batch[:start] + value.to_bytes(end - start, "big", signed=not type_.startswith("u")) + batch[end:]


def with_length(batch: bytes) -> bytes:
    """Return the batch with its actual length as batchLength."""
    return replaced(batch, "batchLength", len(batch) - LENGTH_END)


def oddness_of(batch: bytes) -> float | None:
    """Return how unlikely a batch is: 0 for one that is completely right, None for one that can't be read."""
    parts = parts_of(batch)
    if parts is None or batch[MAGIC_AT] != MAGIC or parts.records is None or parts.record_count < 1:
        return None
    if int.from_bytes(batch[SIZE_AT:LENGTH_END], "big", signed=True) != len(batch) - LENGTH_END:
        return None
    problem, (steady, _largest), (earliest, latest) = record_values.walk_records(parts.records, parts.record_count)
    if problem is not None or not steady or parts.last_delta != parts.record_count - 1:
        return None
    oddness = 0.0 if crc32c(batch[CRC_START:]) == parts.crc else WRONG_CHECKSUM
    oddness += ABSOLUTE if parts.base_time > 0 and max(abs(earliest), abs(latest)) > FAR else 0.0
    return oddness + header_oddness(batch)


def header_oddness(batch: bytes) -> float:
    """Return how odd a header is: implausible times, or a producer with only some of id, epoch and sequence."""
    base, latest = number(batch, "baseTimestamp"), number(batch, "maxTimestamp")
    producer = [number(batch, name) for name in ("producerId", "producerEpoch", "baseSequence")]
    oddness = sum(SUSPECT for time in (base, latest) if not (time in (-1, 0) or OLDEST < time < YEAR_2096))
    oddness += SUSPECT if latest < base else 0.0
    oddness += 0.0 if len({value < 0 for value in producer}) == 1 else SUSPECT
    oddness += sum(SUSPECT for value in producer if value < -1 or value > LARGE)
    return oddness + (SUSPECT if number(batch, "partitionLeaderEpoch") < -1 else 0.0)
