"""Words without parts: numbers of a fixed width, bools, uuids; strings, bytes and records with their length in
front.
"""

import base64
import math
import struct
from functools import cache
from typing import Any

from kcli.core.codec.values import bytes_of, records_of, text_of, uuid_bytes, uuid_text
from kcli.errors import EncodeError
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.trace import DecodeTrace
from kcli.grammar.words.varints import length_bytes, null_refused, read_length
from kcli.grammar.words.word import JsonForm, Word
from kcli.jsontext import float_word, loads
from kcli.schemas.model import SIZED, WIDTHS

# Formats of the module struct, big-endian.
FORMATS = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint16": "H", "uint32": "I", "float64": "d"}
_ZEROS: dict[str, Any] = {"bool": False, "float64": 0.0, "uuid": uuid_text(bytes(16)), "string": ""}
_JAVA_NAN = struct.pack(">Q", 0x7FF8000000000000)
_FLOAT_NAMES = ("NaN", "Infinity", "-Infinity")


class Primitive(Word):
    """A number, bool or uuid of a fixed width, big-endian."""

    def __init__(self, type_: str) -> None:
        super().__init__()
        self.type = type_
        self.least = self.size = WIDTHS[type_]
        self.zero = _ZEROS.get(type_, 0)

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> Any:
        start = source.tell()
        data = source.take(self.least, path)
        value, canonical = self.value_of(data)
        if not canonical:
            trace.encodings[path] = data
        trace.note(path, start, source.tell(), self.type, value)
        return value

    def value_of(self, data: bytes) -> tuple[Any, bool]:
        """Return (value, whether its canonical bytes are these)."""
        if self.type == "bool":
            return data != b"\0", data in (b"\0", b"\1")
        if self.type == "uuid":
            return uuid_text(data), True
        (value,) = struct.unpack(">" + FORMATS[self.type], data)
        return value, self.type != "float64" or not math.isnan(value) or data == _JAVA_NAN

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        try:
            out += self.kept(value, path, trace) or self.bytes_for(value)
        except ValueError as error:
            raise EncodeError(path, str(error)) from None

    def bytes_for(self, value: Any) -> bytes:
        """Return the value's canonical bytes. Raises ValueError."""
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
        """Return NaN and infinity as text, as Kafka's own JSON does, because JSON has no such numbers."""
        if self.type == "float64" and not math.isfinite(value):
            return float_word(value)
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
    try:
        return float(value)
    except OverflowError:
        raise ValueError("needs a float64, not a number beyond all of them") from None


class LengthPrefixed(Word):
    """A string, bytes or records with their length in front: int16 or int32, or compact (a varint of length + 1)."""

    def __init__(self, kind: str, nullable: bool = False, compact: bool = False) -> None:
        super().__init__()
        self.kind, self.nullable, self.compact = kind, nullable, compact
        self.width = 0 if compact else 2 if kind == "string" else 4
        self.least = self.width or 1
        self.zero = None if nullable else _ZEROS.get(kind, b"")
        self.type = "".join(("nullable " * nullable, "compact " * compact, kind))

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> Any:
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

    def size_of(self, source: ByteSource, path: str) -> int:
        """Return the size in bytes of the length and the content; the source does not move."""
        start = source.tell()
        length, _ = read_length(source, self.width, path)
        size = source.tell() - start + max(length, 0)
        source.seek(start)
        return size

    def value_of(self, data: bytes) -> tuple[Any, bool]:
        """Return (value, whether its canonical bytes are these)."""
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
        """Return the value's canonical bytes. Raises ValueError."""
        if value is None:
            if not self.nullable:
                raise ValueError("null, where this version allows none")
            return length_bytes(-1, self.width)
        data = self.content_of(value)
        if len(data) > (32767 if self.width == 2 else 2147483646):
            raise ValueError(f"{len(data)} bytes, which is more than its length field can say")
        return length_bytes(len(data), self.width) + bytes(data)

    def content_of(self, value: Any) -> bytes | bytearray | memoryview:
        """Return the bytes after the length. Raises ValueError."""
        if self.kind == "bytes":
            return bytes_of(value)
        if self.kind == "records":
            return records_of(value)
        try:
            return text_of(value).encode()
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
            made["batches"] = loads(form.hook(memoryview(data)))
        return made


@cache
def scalar(kind: str, nullable: bool, compact: bool) -> Word:
    """Return the word of a type without fields, which all messages share."""
    return LengthPrefixed(kind, nullable, compact) if kind in SIZED else Primitive(kind)
