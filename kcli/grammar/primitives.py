"""The words of Kafka's message grammars, as constructs: numbers, strings, bytes, arrays, structs with tagged fields.

Each word parses, builds, gives its values' JSON form and is translated to the compiled core (`to_native`). Beyond what
construct asks of a word: every value's bytes are noted in the trace, errors carry path, offset and what was expected,
and what a canonical encoder would write otherwise is kept (`DecodeTrace.encodings`), so that build(parse(b)) == b.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from construct import Construct

from kcli.core.values import bytes_of, records_of, uuid_bytes, uuid_text
from kcli.errors import DecodeError, EncodeError
from kcli.grammar.source import DecodeTrace, Source, element

__all__ = [
    "WIDTHS",
    "Array",
    "JsonForm",
    "LengthPrefixed",
    "Optional",
    "Primitive",
    "Word",
    "read_varint",
    "write_varint",
]

WIDTHS = {"bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint16": 2, "uint32": 4, "float64": 8, "uuid": 16}
_FORMATS = {
    "int8": ">b",
    "int16": ">h",
    "int32": ">i",
    "int64": ">q",
    "uint16": ">H",
    "uint32": ">I",
    "float64": ">d",
}
_JAVA_NAN = struct.pack(">Q", 0x7FF8000000000000)
_FLOAT_NAMES = ("NaN", "Infinity", "-Infinity")


class JsonForm(NamedTuple):
    """How JSON is made: records by size, "raw" with base64, or with what `hook` makes of them."""

    records: str = "none"
    hook: Callable[[memoryview], bytes] | None = None


class Word(Construct):  # type: ignore[type-arg]
    """A word of the grammar. least: the fewest bytes a value takes; type: what `--format tree` calls it."""

    least: int = 0
    type: str = ""

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        return self.parse_word(stream, context.trace, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        out = bytearray()
        self.build_word(obj, out, context.trace, path)
        stream.write(bytes(out))
        return obj

    def parse_word(self, source: Source, trace: DecodeTrace, path: str) -> Any:
        raise NotImplementedError

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        raise NotImplementedError

    def json_value(self, value: Any, form: JsonForm) -> Any:
        return value

    def kept(self, value: Any, key: str, trace: DecodeTrace) -> bytes | None:
        """The odd bytes met at `key`, if they still say `value`."""
        raw = trace.encodings.get(key)
        if raw is None:
            return None
        source = Source(raw)
        try:
            same = self.parse_word(source, DecodeTrace(), "") == value and source.left() == 0
        except DecodeError:
            return None
        return raw if same else None


def read_varint(source: Source, path: str) -> tuple[int, bool]:
    """(value, canonical): an unsigned varint of at most 32 bits."""
    start, value = source.tell(), 0
    for index in range(5):
        if not source.left():
            source.seek(start)
            raise source.short(source.left() + 1, path)
        byte = source.read(1)[0]
        if index == 4 and byte > 0x0F:
            break
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, not (index and byte == 0)
    raise DecodeError(path, start, f"a varint at {start:#x} goes on after 32 bits")


def write_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_length(source: Source, width: int, path: str) -> tuple[int, bool]:
    """(length, canonical) of 2 or 4 bytes, or compact (width 0: a varint of length + 1); -1 is null."""
    if not width:
        value, canonical = read_varint(source, path)
        return value - 1, canonical
    length = int.from_bytes(source.take(width, path), "big", signed=True)
    return max(length, -1), length >= -1


def length_bytes(length: int, width: int) -> bytes:
    if not width:
        return write_varint(length + 1)
    return length.to_bytes(width, "big", signed=True)


def null_refused(source: Source, start: int, path: str) -> DecodeError:
    return DecodeError(path, start, f"null at {start:#x}, where this version allows none")


class Primitive(Word):
    """A number, bool or uuid of a fixed width, big-endian."""

    def __init__(self, type_: str) -> None:
        super().__init__()
        self.type, self.least = type_, WIDTHS[type_]

    def parse_word(self, source: Source, trace: DecodeTrace, path: str) -> Any:
        start = source.tell()
        data = source.take(self.least, path)
        value, canonical = self.value_of(data)
        if not canonical:
            trace.encodings[path] = data
        trace.note(path, start, source.tell(), self.type, value)
        return value

    def value_of(self, data: bytes) -> tuple[Any, bool]:
        if self.type == "bool":
            return data != b"\0", data in (b"\0", b"\1")
        if self.type == "uuid":
            return uuid_text(data), True
        (value,) = struct.unpack(_FORMATS[self.type], data)
        return value, self.type != "float64" or not math.isnan(value) or data == _JAVA_NAN

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        try:
            out += self.kept(value, path, trace) or self.bytes_for(value)
        except ValueError as error:
            raise EncodeError(path, str(error)) from None

    def bytes_for(self, value: Any) -> bytes:
        if self.type == "uuid":
            return uuid_bytes(value)
        if self.type == "bool":
            if not isinstance(value, bool):
                raise ValueError(f"needs true or false, not {value!r}")
            return b"\1" if value else b"\0"
        if self.type == "float64":
            return struct.pack(">d", float_of(value))
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"needs an {self.type}, not {value!r}")
        signed, bits = not self.type.startswith("u"), self.least * 8
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        if not low <= value <= high:
            raise ValueError(f"needs an {self.type} ({low} to {high}), not {value}")
        return value.to_bytes(self.least, "big", signed=signed)

    def json_value(self, value: Any, form: JsonForm) -> Any:
        """JSON has no NaN and no infinity: as text then, as Kafka's own JSON."""
        if self.type == "float64" and not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return value

    def kept(self, value: Any, key: str, trace: DecodeTrace) -> bytes | None:
        raw = trace.encodings.get(key)
        if raw is None or len(raw) != self.least:
            return None
        found = self.value_of(raw)[0]
        both_nan = self.type == "float64" and math.isnan(found) and math.isnan(float_of(value))
        return raw if both_nan or found == value else None


def float_of(value: Any) -> float:
    if isinstance(value, str) and value in _FLOAT_NAMES:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"needs a float64, not {value!r}")
    return float(value)


class LengthPrefixed(Word):
    """A string, bytes or records behind their length: int16 or int32, or compact (a varint of length + 1)."""

    def __init__(self, kind: str, nullable: bool, compact: bool) -> None:
        super().__init__()
        self.kind, self.nullable, self.compact = kind, nullable, compact
        self.width = 0 if compact else 2 if kind == "string" else 4
        self.least = self.width or 1
        self.type = "".join(("nullable " * nullable, "compact " * compact, kind))

    def parse_word(self, source: Source, trace: DecodeTrace, path: str) -> Any:
        start = source.tell()
        length, canonical = read_length(source, self.width, path)
        if length < 0:
            if not self.nullable:
                raise null_refused(source, start, path)
            value: Any = None
        else:
            value, clean = self.value_of(source.take(length, path))
            canonical = canonical and clean
        if not canonical:
            source.seek(start)
            trace.encodings[path] = source.read(self.size_of(source, path))
        trace.note(path, start, source.tell(), self.type, value)
        return value

    def size_of(self, source: Source, path: str) -> int:
        start = source.tell()
        length, _ = read_length(source, self.width, path)
        size = source.tell() - start + max(length, 0)
        source.seek(start)
        return size

    def value_of(self, data: bytes) -> tuple[Any, bool]:
        if self.kind != "string":
            return data, True
        try:
            return data.decode(), True
        except UnicodeDecodeError:
            return data.decode(errors="replace"), False

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        try:
            kept = self.kept(value, path, trace)
            out += kept if kept is not None else self.bytes_for(value)
        except ValueError as error:
            raise EncodeError(path, str(error)) from None

    def bytes_for(self, value: Any) -> bytes:
        if value is None:
            if not self.nullable:
                raise ValueError("null, where this version allows none")
            return length_bytes(-1, self.width)
        data = self.content_of(value)
        if len(data) > (32767 if self.width == 2 else 2147483646):
            raise ValueError(f"{len(data)} bytes, which is more than its length field can say")
        return length_bytes(len(data), self.width) + bytes(data)

    def content_of(self, value: Any) -> bytes | bytearray | memoryview:
        if self.kind == "bytes":
            return bytes_of(value)
        if self.kind == "records":
            return records_of(value)
        if not isinstance(value, str):
            raise ValueError(f"needs a string, not {value!r}")
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise ValueError("a string with surrogates has no UTF-8 form") from None

    def kept(self, value: Any, key: str, trace: DecodeTrace) -> bytes | None:
        if key in trace.encodings and self.kind != "string" and value is not None:
            value = bytes(self.content_of(value))
        return super().kept(value, key, trace)

    def json_value(self, value: Any, form: JsonForm) -> Any:
        if value is None or self.kind == "string":
            return value
        data = self.content_of(value)
        if self.kind == "bytes":
            return base64.b64encode(data).decode()
        made: dict[str, Any] = {"sizeInBytes": len(data)}
        if form.records == "raw":
            made["base64"] = base64.b64encode(data).decode()
        elif form.hook is not None:
            from kcli.jsontext import loads

            made["batches"] = loads(form.hook(memoryview(data)))
        return made


def entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


class Array(Word):
    """An array behind its count: int32, or compact (a varint of count + 1)."""

    def __init__(self, subcon: Word, nullable: bool, compact: bool) -> None:
        super().__init__()
        self.subcon, self.nullable, self.compact = subcon, nullable, compact
        self.width = 0 if compact else 4
        self.least = self.width or 1
        self.type = "compact array" if compact else "array"

    def parse_word(self, source: Source, trace: DecodeTrace, path: str) -> Any:
        start = source.tell()
        count, canonical = read_length(source, self.width, path)
        if count < 0 and not self.nullable:
            raise null_refused(source, start, path)
        if self.subcon.least == 0 and count > source.left():
            raise DecodeError(
                path, start, f"an array at {start:#x} says {entries(count)}, {source.left()} bytes are left"
            )
        if not canonical:
            end = source.tell()
            source.seek(start)
            trace.encodings[f"{path}#count"] = source.read(end - start)
        said = "null" if count < 0 else entries(count)
        trace.note(path, start, source.tell(), f"{self.type} count", f"{said} ({self.type})")
        return None if count < 0 else [self.parse_element(source, trace, path, i, count) for i in range(count)]

    def parse_element(self, source: Source, trace: DecodeTrace, path: str, index: int, count: int) -> Any:
        try:
            return self.subcon.parse_word(source, trace, element(path, index))
        except DecodeError as error:
            if error.reason.startswith("needs ") and not error.reason.endswith(")"):
                here = f"{index} {'is' if index == 1 else 'are'} here"
                reason = f"{error.reason} (the array says {entries(count)}, {here})"
                raise DecodeError(error.path, error.offset, reason) from None
            raise

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        if value is None and not self.nullable:
            raise EncodeError(path, "null, where this version allows none")
        if value is not None and not isinstance(value, list):
            raise EncodeError(path, f"needs a list, not {value!r}")
        out += self.count_bytes(-1 if value is None else len(value), trace, path)
        for index, item in enumerate(value or ()):
            self.subcon.build_word(item, out, trace, element(path, index))

    def count_bytes(self, count: int, trace: DecodeTrace, path: str) -> bytes:
        raw = trace.encodings.get(f"{path}#count")
        if raw is not None:
            source = Source(raw)
            try:
                if read_length(source, self.width, path)[0] == count and not source.left():
                    return raw
            except DecodeError:
                pass
        return length_bytes(count, self.width)

    def json_value(self, value: Any, form: JsonForm) -> Any:
        return None if value is None else [self.subcon.json_value(item, form) for item in value]


class Optional(Word):
    """A struct that may be null: an int8 in front, -1 for null, else 1."""

    def __init__(self, subcon: Word) -> None:
        super().__init__()
        self.subcon, self.least, self.type = subcon, 1, "nullable struct"

    def parse_word(self, source: Source, trace: DecodeTrace, path: str) -> Any:
        start = source.tell()
        marker = source.take(1, path)
        if marker not in (b"\xff", b"\x01"):
            trace.encodings[f"{path}#present"] = marker
        present = marker[0] < 0x80
        trace.note(path, start, start + 1, self.type, "present" if present else None)
        return self.subcon.parse_word(source, trace, path) if present else None

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        marker = trace.encodings.get(f"{path}#present", b"")
        if len(marker) != 1 or (marker[0] < 0x80) != (value is not None):
            marker = b"\xff" if value is None else b"\x01"
        out += marker
        if value is not None:
            self.subcon.build_word(value, out, trace, path)

    def json_value(self, value: Any, form: JsonForm) -> Any:
        return None if value is None else self.subcon.json_value(value, form)
