"""Varints, unsigned (KIP-482) and zigzag (ByteUtils), and lengths in both kinds of version."""

from typing import Any

from kcli.core.codec.varints import write_unsigned
from kcli.errors import DecodeError, EncodeError
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.trace import DecodeTrace
from kcli.grammar.words.word import Word


def read_varint(source: ByteSource, path: str) -> tuple[int, bool]:
    """Read an unsigned varint of at most 32 bits; return (value, whether it is canonical). Raises DecodeError."""
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


def read_length(source: ByteSource, width: int, path: str) -> tuple[int, bool]:
    """Read a length; return (length, whether it is canonical). width: 2 or 4 bytes, or 0 for compact (a varint of
    length + 1); length -1 is null.
    """
    if not width:
        value, canonical = read_varint(source, path)
        return value - 1, canonical
    length = int.from_bytes(source.take(width, path), "big", signed=True)
    return max(length, -1), length >= -1


def length_bytes(length: int, width: int) -> bytes:
    """Encode a length for `read_length`; -1 is null."""
    if not width:
        return write_unsigned(length + 1)
    return length.to_bytes(width, "big", signed=True)


def null_refused(source: ByteSource, start: int, path: str) -> DecodeError:
    """Return the error for a null that the version does not allow."""
    return DecodeError(path, start, f"null at {start:#x}, where this version allows none")


class Zigzag(Word):
    """A zigzag varint (Kafka's ByteUtils): an int32 in at most 5 bytes, an int64 in at most 10. Forms that are longer
    than needed are read, and kept.
    """

    least = 1
    zero = 0

    def __init__(self, bits: int) -> None:
        super().__init__()
        self.bits, self.most = bits, 5 if bits == 32 else 10
        self.type = "varint" if bits == 32 else "varlong"

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> int:
        start, raw = source.tell(), 0
        for index in range(self.most):
            if not source.left():
                raise DecodeError(path, start, f"a {self.type} at {start:#x} is cut at the end of the bytes")
            byte = source.read(1)[0]
            raw |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                break
        else:
            raise DecodeError(path, start, f"a {self.type} at {start:#x} goes on after {self.most} bytes")
        raw &= (1 << self.bits) - 1
        value = raw >> 1 ^ -(raw & 1)
        self.keep(value, start, source, trace, path)
        trace.note(path, start, source.tell(), self.type, value)
        return value

    def keep(self, value: int, start: int, source: ByteSource, trace: DecodeTrace, path: str) -> None:
        """Keep the bytes from `start` on, if they are not the value's canonical ones."""
        end = source.tell()
        source.seek(start)
        data = source.read(end - start)
        if data != self.bytes_for(value):
            trace.encodings[path] = data

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or not -(1 << self.bits - 1) <= value < 1 << self.bits - 1
        ):
            raise EncodeError(path, f"needs an int{self.bits}, not {value!r}")
        out += self.kept(value, path, trace) or self.bytes_for(value)

    def bytes_for(self, value: int) -> bytes:
        """Return the value's canonical bytes."""
        return write_unsigned((value << 1 ^ value >> 63) & (1 << 64) - 1)


class UnsignedVarint(Word):
    """An unsigned varint of 32 bits, 7 bits in each byte, the lowest first."""

    least = 1
    type = "unsigned varint"
    zero = 0

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> int:
        start = source.tell()
        value, canonical = read_varint(source, path)
        end = source.tell()
        if not canonical:
            source.seek(start)
            trace.encodings[path] = source.read(end - start)
        trace.note(path, start, end, self.type, value)
        return value

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 32:
            raise EncodeError(path, f"needs a uint32, not {value!r}")
        out += self.kept(value, path, trace) or write_unsigned(value)
