"""Records whose fields are written in another form than zigzag varints: read so, and written as they would be right."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kcli.core.codec.varints import read_unsigned
from kcli.core.records import record_values
from kcli.grammar.slips.lengths import CHARACTERS, UNITS, text_sizes
from kcli.grammar.words.varints import Zigzag

MOST = 5000  # records
MOST_SAID = 1 << 62  # by a number
VARLONG = Zigzag(64)
Read = Callable[[bytes, int], tuple[int, int] | None]  # (value, where it ends) of a number, None where there is none
# The numbers of a record, in their order; those of headers stand once for all of them.
NUMBERS = ("length", "timestampDelta", "offsetDelta", "key", "value", "headers", "headers.key", "headers.value")


class ReadRecord(NamedTuple):
    """at: field -> where its (first) number begins. canonical: the bytes as they would be right. offset_delta, time:
    its deltas. attributes: of which Kafka has none so far. end: where it ends."""

    at: dict[str, int]
    canonical: bytes
    offset_delta: int
    time: int
    attributes: int
    end: int


def zigzag(data: bytes, at: int) -> tuple[int, int] | None:
    found = unsigned(data, at)
    return None if found is None else (found[0] >> 1 ^ -(found[0] & 1), found[1])


def unsigned(data: bytes, at: int) -> tuple[int, int] | None:
    try:
        return read_unsigned(data, at, most=10)
    except ValueError:
        return None


def plain(data: bytes, at: int) -> tuple[int, int] | None:
    """Read a varint of the number as it is; negative ones take all bits."""
    found = unsigned(data, at)
    if found is None:
        return None
    value, end = found
    bits = 64 if end - at > 5 else 32
    return (value - (1 << bits) if value >= 1 << (bits - 1) else value), end


def fixed(width: int) -> Read:
    def read(data: bytes, at: int) -> tuple[int, int] | None:
        raw = data[at : at + width]
        return (int.from_bytes(raw, "big", signed=True), at + width) if len(raw) == width else None

    return read


def with_itself(data: bytes, at: int) -> tuple[int, int] | None:
    found = zigzag(data, at)
    return None if found is None else (found[0] - (found[1] - at), found[1])


def plus_one(data: bytes, at: int) -> tuple[int, int] | None:
    found = unsigned(data, at)
    return None if found is None else (found[0] - 1, found[1])


def missing(data: bytes, at: int) -> tuple[int, int] | None:
    return 0, at


def counting(what: str) -> Read:
    """Make what reads the length of a text in bytes where it counts its characters, or units of UTF-16."""

    def read(data: bytes, at: int) -> tuple[int, int] | None:
        found = zigzag(data, at)
        if found is None:
            return None
        sizes = text_sizes(data, found[1], found[0])
        return next(((size, found[1]) for size, question in sizes if question == what), found)

    return read


class Form(NamedTuple):
    """slip: its name. question: in words. fields: the numbers that it is tried for. right: how they would be right."""

    slip: str
    question: str
    read: Read
    fields: tuple[str, ...] = NUMBERS
    right: str = "as zigzag varint"


FORMS = (
    Form("zigzag left out", "was zigzag left out?", plain),
    Form(
        "compact",
        "was it written compact, as length + 1?",
        plus_one,
        ("key", "value", "headers", "headers.key", "headers.value"),
    ),
    Form("fixed width", "was it written as int32?", fixed(4)),
    Form("fixed width", "was it written as int16?", fixed(2)),
    Form("fixed width", "was it written as int64?", fixed(8), ("timestampDelta", "offsetDelta")),
    Form("fixed width", "was it written as int8?", fixed(1)),
    Form("counts itself", "does it count its own bytes?", with_itself, ("length",)),
    Form("left out", "was it left out?", missing, ("timestampDelta", "offsetDelta", "headers")),
    *(
        Form("counts characters", what, counting(what), ("key", "value", "headers.key", "headers.value"), "in bytes")
        for what in (CHARACTERS, UNITS)
    ),
    Form("attributes left out", "were they left out?", missing, ("attributes",)),
)


class Reader:
    """Reads one record, and writes it as it would be right (`body`: what is behind its length)."""

    def __init__(self, data: bytes, start: int, forms: dict[str, Read]) -> None:
        """Read a record's bytes. forms: of numbers that are written otherwise."""
        self.data, self.at, self.forms = data, start, forms
        self.places, self.body = dict[str, int](), bytearray()

    def number(self, name: str) -> int:
        """Return the next number. Raises ValueError if there is none."""
        self.places.setdefault(name, self.at)
        found = self.forms.get(name, zigzag)(self.data, self.at)
        if found is None or abs(found[0]) >= MOST_SAID:
            raise ValueError(name)
        value, self.at = found
        return value

    def put(self, value: int) -> int:
        self.body += VARLONG.bytes_for(value)
        return value

    def sized(self, name: str) -> None:
        """Read bytes after their length. Raises ValueError."""
        size = self.put(self.number(name))
        if not -1 <= size <= len(self.data) - self.at:
            raise ValueError(name)
        end = self.at + max(size, 0)
        self.body += self.data[self.at : end]
        self.at = end

    def read(self, index: int) -> ReadRecord:
        """Return the record as number `index`. Raises ValueError if its fields do not fit."""
        size = self.number("length")
        begin, attributes = self.at, self.attributes()
        time, delta = self.put(self.number("timestampDelta")), self.number("offsetDelta")
        delta = self.put(index if self.forms.get("offsetDelta") is missing else delta)
        self.sized("key")
        self.sized("value")
        if self.forms.get("headers") is missing and not ends(self.data, self.at, size - (self.at - begin)):
            self.forms = {}
        for _ in range(self.header_count()):
            self.sized("headers.key")
            self.sized("headers.value")
        if self.at > len(self.data) or size not in (self.at - begin, len(self.body)):
            raise ValueError("length")
        canonical = VARLONG.bytes_for(len(self.body)) + bytes(self.body)
        return ReadRecord(self.places, canonical, delta, time, attributes, self.at)

    def attributes(self) -> int:
        """Return the next byte. Raises ValueError if there is none."""
        self.places["attributes"] = self.at
        read = self.forms.get("attributes", fixed(1))
        found = read(self.data, self.at)
        if found is None:
            raise ValueError("attributes")
        value, self.at = found
        self.body.append(value & 0xFF)
        return value

    def header_count(self) -> int:
        count = self.put(self.number("headers"))
        if not 0 <= count <= len(self.data) - self.at:
            raise ValueError("headers")
        return count


def ends(data: bytes, at: int, left: int) -> bool:
    """Return whether a record ends without a number of headers, which some leave out where there are none. left: bytes
    of the record by its length, which may count that number.
    """
    return left == 0 or (left == 1 and data[at : at + 1] != b"\0")


def read_records(data: bytes, count: int, forms: dict[str, Read]) -> list[ReadRecord] | None:
    """Return all records, each of them in these forms, to the last byte; None where they do not fit."""
    at, found = 0, list[ReadRecord]()
    if count > MOST:
        return None
    try:
        for index in range(count):
            found.append(Reader(data, at, forms).read(index))
            at = found[-1].end
    except ValueError:
        return None
    return found if at == len(data) else None


def read_one(data: bytes, count: int, forms: dict[str, Read], index: int) -> tuple[bytes, ReadRecord] | None:
    """Return (all records as they would be right, that at `index`) if it alone is written in these forms; else None."""
    at = 0
    for _ in range(index):
        size, at = zigzag(data, at) or (0, at)
        at += size
    try:
        record = Reader(data, at, forms).read(index)
    except ValueError:
        return None
    rest = data[record.end :]
    problem, *_ = record_values.walk_records(rest, count - index - 1)
    return (data[:at] + record.canonical + rest, record) if problem is None else None


def count_records(data: bytes) -> int | None:
    """Count the records up to the last byte, by the lengths before them; None where these do not fit."""
    at = count = 0
    while at < len(data):
        found = zigzag(data, at)
        if found is None or found[0] < 6:
            return None
        at, count = found[0] + found[1], count + 1
        if at > len(data) or count > (1 << 20):
            return None
    problem, *_ = record_values.walk_records(data, count)
    return count if problem is None else None
