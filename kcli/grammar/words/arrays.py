"""Words that contain another word: arrays with their count in front, and structs that may be null."""

from typing import Any

from kcli.errors import DecodeError, EncodeError
from kcli.grammar.words.embedded import as_word
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.trace import DecodeTrace, element
from kcli.grammar.words.varints import length_bytes, null_refused, read_length, read_varint
from kcli.grammar.words.word import JsonForm, Word


def entries(count: int) -> str:
    """Format a count of array entries: "1 entry", "2 entries"."""
    return "1 entry" if count == 1 else f"{count} entries"


class Array(Word):
    """An array with its count in front: int32, or compact (a varint of count + 1)."""

    def __init__(self, subcon: Any, nullable: bool = False, compact: bool = False) -> None:
        super().__init__()
        self.subcon, self.nullable, self.compact = as_word(subcon), nullable, compact
        self.embeds = self.subcon.embeds
        self.zero = None if nullable else []
        self.width = 0 if compact else 4
        self.least = self.width or 1
        self.type = "compact array" if compact else "array"

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> Any:
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
        count_text = "null" if count < 0 else entries(count)
        trace.note(path, start, source.tell(), f"{self.type} count", f"{count_text} ({self.type})")
        return None if count < 0 else [self.parse_element(source, trace, path, i, count) for i in range(count)]

    def parse_element(self, source: ByteSource, trace: DecodeTrace, path: str, index: int, count: int) -> Any:
        """Return the value of one entry. Raises DecodeError with its index."""
        if self.embeds and trace.context is not None:
            trace.context["_index"] = index
        try:
            return self.subcon.parse_word(source, trace, element(path, index))
        except DecodeError as error:
            if error.reason.startswith("needs ") and not error.reason.endswith(")"):
                present = f"{index} {'is' if index == 1 else 'are'} here"
                reason = f"{error.reason} (the array says {entries(count)}, {present})"
                raise DecodeError(error.path, error.offset, reason) from None
            raise

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        if value is None and not self.nullable:
            raise EncodeError(path, "null, where this version allows none")
        if value is not None and not isinstance(value, list):
            raise EncodeError(path, f"needs a list, not {value!r}")
        out += self.count_bytes(-1 if value is None else len(value), trace, path)
        for index, item in enumerate(value or ()):
            if self.embeds and trace.context is not None:
                trace.context["_index"] = index
            self.subcon.build_word(item, out, trace, element(path, index))

    def count_bytes(self, count: int, trace: DecodeTrace, path: str) -> bytes:
        """Return the bytes of a count (-1 for null): the odd ones that were read, if they still mean this count."""
        raw = trace.encodings.get(f"{path}#count")
        if raw is not None:
            source = ByteSource(raw)
            try:
                if read_length(source, self.width, path)[0] == count and not source.left():
                    return raw
            except DecodeError:
                pass
        return length_bytes(count, self.width)

    def json_value(self, value: Any, form: JsonForm) -> Any:
        return None if value is None else [self.subcon.json_value(item, form) for item in value]


class CompactArray(Array):
    """An array with a compact count, as in flexible versions."""

    def __init__(self, subcon: Any, nullable: bool = False) -> None:
        super().__init__(subcon, nullable, compact=True)


class Optional(Word):
    """A struct that may be null, with an int8 in front: -1 for null, else 1.

    A tagged one has an unsigned varint in front: 0 for null, else 1 (MessageDataGenerator).
    """

    def __init__(self, subcon: Any, tagged: bool = False) -> None:
        super().__init__()
        self.subcon, self.least, self.type = as_word(subcon), 1, "nullable struct"
        self.embeds = self.subcon.embeds
        self.tagged, self.null = tagged, b"\0" if tagged else b"\xff"

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> Any:
        start = source.tell()
        present, marker = self.presence(source, path)
        if marker not in (self.null, b"\x01"):
            trace.encodings[f"{path}#present"] = marker
        trace.note(path, start, source.tell(), self.type, "present" if present else None)
        return self.subcon.parse_word(source, trace, path) if present else None

    def presence(self, source: ByteSource, path: str) -> tuple[bool, bytes]:
        """Return whether a struct follows, and the bytes that tell so."""
        if not self.tagged:
            marker = source.take(1, path)
            return marker[0] < 0x80, marker
        start = source.tell()
        number, _ = read_varint(source, path)
        size = source.tell() - start
        source.seek(start)
        return 0 < number < 1 << 31, source.take(size, path)

    def marks(self, marker: bytes, present: bool) -> bool:
        """Return whether these bytes, without any after them, mean this presence."""
        try:
            return self.presence(ByteSource(marker), "") == (present, marker)
        except DecodeError:
            return False

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        present = value is not None
        marker = trace.encodings.get(f"{path}#present", b"")
        out += marker if self.marks(marker, present) else b"\x01" if present else self.null
        if value is not None:
            self.subcon.build_word(value, out, trace, path)

    def json_value(self, value: Any, form: JsonForm) -> Any:
        return None if value is None else self.subcon.json_value(value, form)
