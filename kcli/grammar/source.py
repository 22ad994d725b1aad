"""What a grammar's words read from and keep notes in: a buffer with bounds, spans, odd encodings."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

from kcli.errors import DecodeError

__all__ = ["DecodeTrace", "Source", "Span", "child", "element"]


class Span(NamedTuple):
    """The bytes of one value: `start` to `end` (exclusive) in the buffer, its path, type and value."""

    path: str
    start: int
    end: int
    type: str
    value: Any


class DecodeTrace:
    """Notes of one walk through a grammar.

    spans: every value's bytes, when asked for. encodings: bytes that a canonical encoder would not write, by the place
    they were met at; on the way back they are written again where the value is still the one they say.
    """

    __slots__ = ("encodings", "spans")

    def __init__(self, spans: list[Span] | None = None, encodings: dict[str, bytes] | None = None) -> None:
        self.spans = spans
        self.encodings = {} if encodings is None else encodings

    def note(self, path: str, start: int, end: int, type_: str, value: Any) -> None:
        if self.spans is not None:
            self.spans.append(Span(path, start, end, type_, value))


class Source(io.BytesIO):
    """A buffer that reads no further than `limit`, and says what is missing.

    Offsets are those of the buffer it was made from.
    """

    def __init__(self, data: bytes | bytearray | memoryview, offset: int = 0) -> None:
        super().__init__(data)
        self.limit = len(data)
        self.seek(offset)

    def left(self) -> int:
        return self.limit - self.tell()

    def take(self, size: int, path: str) -> bytes:
        """The next `size` bytes; DecodeError when fewer are left."""
        if self.left() < size:
            raise self.short(size, path)
        return self.read(size)

    def short(self, size: int, path: str) -> DecodeError:
        at, unit = self.tell(), "byte" if size == 1 else "bytes"
        return DecodeError(path, at, f"needs {size} {unit} at {at:#x}, {self.left()} left")


def child(path: str, name: str) -> str:
    """The path of a field; construct's own opening "(parsing)" is no field."""
    return f"{path}.{name}" if path and not path.startswith("(") else name


def element(path: str, index: int) -> str:
    return f"{path}[{index}]"
