"""Reads records with fields in another form than zigzag varints, and writes them in the right form."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kcli.core.codec.varints import read_unsigned
from kcli.core.records import record_values
from kcli.grammar.batches import VARLONG
from kcli.grammar.slips.lengths import CHARACTERS, UNITS, text_sizes

MOST = 5000  # records
MOST_SAID = 1 << 62  # the highest plausible number
Read = Callable[[bytes, int], tuple[int, int] | None]  # returns (value, end) of a number, None if there is none
# The numbers of a record, in their order; the numbers of headers are named once for all headers.
NUMBERS = ("length", "timestampDelta", "offsetDelta", "key", "value", "headers", "headers.key", "headers.value")


class ReadRecord(NamedTuple):
    """A record.

    at: {field: position of its (first) number}; canonical: the bytes in the right form; offset_delta, time: its deltas;
    attributes: unused by Kafka so far; end: position after it
    """

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
    """Read a plain varint; negative numbers take all bits."""
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


def counting(unit: str) -> Read:
    """Return a reader of a length that counts a text's characters, or units of UTF-16 (`unit`), and returns it in
    bytes.
    """

    def read(data: bytes, at: int) -> tuple[int, int] | None:
        found = zigzag(data, at)
        if found is None:
            return None
        sizes = text_sizes(data, found[1], found[0])
        return next(((size, found[1]) for size, question in sizes if question == unit), found)

    return read


class Form(NamedTuple):
    """A form of numbers. slip: its name; question: for the user; fields: the numbers that may have it; right: the right
    form as a text.
    """

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
        Form("counts characters", unit, counting(unit), ("key", "value", "headers.key", "headers.value"), "in bytes")
        for unit in (CHARACTERS, UNITS)
    ),
    Form("attributes left out", "were they left out?", missing, ("attributes",)),
)


class Reader:
    """Reads one record, and writes it in the right form (`body`: the part after its length)."""

    def __init__(self, data: bytes, start: int, forms: dict[str, Read]) -> None:
        """Prepare to read a record's bytes. forms: {number: reader} of numbers in another form."""
        self.data, self.at, self.forms = data, start, forms
        self.places, self.body = dict[str, int](), bytearray()

    def number(self, name: str) -> int:
        """Return the next number. Raises ValueError if there is none, or it is too large."""
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
        """Read a length and that many bytes. Raises ValueError."""
        size = self.put(self.number(name))
        if not -1 <= size <= len(self.data) - self.at:
            raise ValueError(name)
        end = self.at + max(size, 0)
        self.body += self.data[self.at : end]
        self.at = end

    def read(self, index: int) -> ReadRecord:
        """Return the record at `index` of its batch. Raises ValueError if its fields do not fit."""
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
        """Return the attributes. Raises ValueError if there is no byte left."""
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
    """Return whether a record ends without a number of headers, which some programs omit if there are none.

    left: bytes of the record by its length, which may count the omitted number
    """
    return left == 0 or (left == 1 and data[at : at + 1] != b"\0")


def read_records(data: bytes, count: int, forms: dict[str, Read]) -> list[ReadRecord] | None:
    """Return all records, read in these forms to the last byte; None if they do not fit."""
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
    """Return (all records in the right form, the record at `index`) if only that record is written in these forms; else
    None.
    """
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
    """Count the records up to the last byte, by the lengths before them. Returns None if these do not fit."""
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
