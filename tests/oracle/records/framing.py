"""Reads entries one by one: where a batch or message begins and ends, and its header."""

from dataclasses import dataclass

from kcli.core.records.batches import CRC_START, HEADER_SIZE, LEAST_LENGTH, LENGTH_END, MAGIC_AT, SIZE_AT
from kcli.errors import DecodeError
from kcli.grammar.batches import BATCH_HEADER, MESSAGES
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.trace import DecodeTrace
from tests.oracle.records.crc import crc32, crc32c

DONE, END, PARTIAL, LENGTH, SHORT, MAGIC, SUSPECT = 0, 1, 2, 3, 4, 5, 9
BROKEN_KEY, BROKEN_VALUE = 4, 5


@dataclass(slots=True)
class Frame:
    """An entry: what `kb_batch` of the core holds. payload: the stored records, or a message's value (None: null)."""

    position: int
    size: int
    magic: int
    attributes: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int
    key: bytes | None
    payload: memoryview | None
    payload_position: int
    key_position: int
    key_size: int
    value_size: int
    broken: int = 0
    crc_valid: bool = False

    @property
    def codec(self) -> int:
        """The number of the compression codec."""
        return self.attributes & 7

    @property
    def plausible(self) -> bool:
        """Whether the fields of the header make sense together."""
        if self.magic > 2 or self.base_offset < 0 or self.codec > 4:
            return False
        return not self.broken if self.magic < 2 else self.count >= 0 and self.last_offset >= self.base_offset


def wrap(value: int) -> int:
    """int64 sums wrap."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def read_frame(data: memoryview, at: int, end: int) -> tuple[int, Frame | None]:
    """(DONE, the entry at `at`), or why there is none: END, PARTIAL, LENGTH, SHORT, MAGIC."""
    left = end - at
    if left <= 0:
        return END, None
    if left < 18:
        return PARTIAL, None
    size = int.from_bytes(data[at + SIZE_AT : at + LENGTH_END], "big", signed=True)
    magic = int.from_bytes(data[at + MAGIC_AT : at + MAGIC_AT + 1], "big", signed=True)
    if size < LEAST_LENGTH[0]:
        return LENGTH, None
    if size + LENGTH_END > left:
        return PARTIAL, None
    if magic < 0:
        return MAGIC, None
    if size < LEAST_LENGTH[min(magic, 2)]:
        return SHORT, None
    entry = data[at : at + size + LENGTH_END]
    return DONE, batch_frame(entry, at) if magic >= 2 else message_frame(entry, at, magic)


def batch_frame(entry: memoryview, at: int) -> Frame:
    head = BATCH_HEADER.parse_word(ByteSource(entry[:HEADER_SIZE]), DecodeTrace(), "")
    return Frame(
        at,
        len(entry),
        head["magic"],
        head["attributes"],
        head["baseOffset"],
        wrap(head["baseOffset"] + head["lastOffsetDelta"]),
        head["partitionLeaderEpoch"],
        head["crc"],
        head["baseTimestamp"],
        head["maxTimestamp"],
        head["producerId"],
        head["producerEpoch"],
        head["baseSequence"],
        head["recordCount"],
        None,
        entry[HEADER_SIZE:],
        at + HEADER_SIZE,
        -1,
        -1,
        -1,
        crc_valid=crc32c(entry[CRC_START:]) == head["crc"],
    )


def message_frame(entry: memoryview, at: int, magic: int) -> Frame:
    """Read a message of magic 0 or 1. A key or value that does not fit makes it broken; its frame is still valid."""
    grammar, source, broken = MESSAGES[magic], ByteSource(entry), 0
    value: dict[str, object] = {}
    sizes = {"key": -1, "value": -1}
    for field in grammar.fields:
        if field.name in sizes:
            start = source.tell()
            sizes[field.name] = int.from_bytes(entry[start : start + 4], "big", signed=True)
            if field.name == "key" and sizes["key"] > len(entry) - start - 8:
                broken = BROKEN_KEY
                break
        try:
            value[field.name] = field.subcon.parse_word(source, DecodeTrace(), field.name)
        except DecodeError:
            broken = BROKEN_VALUE
            break
    offset, time = value["offset"], value.get("timestamp", -1)
    key, body = value.get("key"), value.get("value")
    assert isinstance(offset, int) and isinstance(time, int)
    attributes, crc = value["attributes"], value["crc"]
    assert isinstance(attributes, int) and isinstance(crc, int)
    fixed = 26 if magic == 0 else 34
    value_at = fixed + max(sizes["key"], 0)
    return Frame(
        at,
        len(entry),
        magic,
        attributes & 0xFF,
        offset,
        offset,
        -1,
        crc,
        time,
        time,
        -1,
        -1,
        -1,
        1,
        key if isinstance(key, bytes) else None,
        entry[value_at : value_at + sizes["value"]] if body is not None else None,
        at + value_at if body is not None else -1,
        at + fixed - 4 if key is not None else -1,
        sizes["key"],
        sizes["value"],
        broken,
        crc_valid=crc32(entry[MAGIC_AT:]) == crc,
    )


def is_sound(data: memoryview, at: int, end: int) -> bool:
    """Whether a whole batch with a right checksum begins there."""
    _status, frame = read_frame(data, at, end)
    return frame is not None and frame.plausible and frame.crc_valid
