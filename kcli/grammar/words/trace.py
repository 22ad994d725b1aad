"""The trace of one parse or build: spans, odd encodings, construct's context; and the paths that name fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from kcli.core.codec.values import bytes_of
from kcli.errors import EncodeError

ENCODINGS = "_encodings"
INDEX = re.compile(r"\[\d+\]")  # in a path


FAULT = "fault"  # the type of a span without bytes, whose value says what is wrong there


class Span(NamedTuple):
    """The bytes of one value: `start` to `end` (exclusive) in the buffer, its path, type and value."""

    path: str
    start: int
    end: int
    type: str
    value: Any


class DecodeTrace:
    """The trace of one parse or build.

    spans: the bytes of every value, or None if they are not wanted. encodings: bytes that a canonical encoder would not
    write, by path; a build writes them again if they still mean the value. context: construct's, for its own words in
    kcli's.
    """

    __slots__ = ("context", "encodings", "spans")

    def __init__(
        self,
        spans: list[Span] | None = None,
        encodings: dict[str, bytes] | None = None,
        context: Any = None,
    ) -> None:
        self.spans = spans
        self.encodings = {} if encodings is None else encodings
        self.context = context

    @classmethod
    def of_value(cls, value: Any, context: Any = None) -> DecodeTrace:
        """Return the trace for building a message's value, with its "_encodings" (bytes or base64). Raises
        EncodeError.
        """
        encodings = value.get(ENCODINGS, {}) if isinstance(value, dict) else {}
        if not isinstance(encodings, dict):
            raise EncodeError(ENCODINGS, f"needs an object of paths, not {encodings!r}")
        try:
            return cls(encodings={path: bytes(bytes_of(raw)) for path, raw in encodings.items()}, context=context)
        except ValueError as error:
            raise EncodeError(ENCODINGS, str(error)) from None

    def note(self, path: str, start: int, end: int, type_: str, value: Any) -> None:
        """Add a span, if spans are wanted."""
        if self.spans is not None:
            self.spans.append(Span(path, start, end, type_, value))


def trace_of(context: Mapping[str, Any]) -> DecodeTrace | None:
    """Return the trace passed to construct's outermost call, as in `word.parse(data, trace=DecodeTrace([]))`; else
    None.
    """
    trace = context.get("_params", context).get("trace")
    return trace if isinstance(trace, DecodeTrace) else None


def child(path: str, name: str) -> str:
    """Return the path of a field; a field without a name has its struct's path."""
    return f"{path}.{name}" if path and name else path or name


def element(path: str, index: int) -> str:
    """Return the path of an array's element."""
    return f"{path}[{index}]"


def inside(outer: str, path: str) -> str:
    """Join the path of a value, `outer`, and a path that begins there."""
    return f"{outer}{path}" if path.startswith("[") else ".".join(part for part in (outer, path) if part)


def field_path(path: str) -> str:
    """Convert construct's path, `(parsing) -> header -> key`, to kcli's: `header.key`."""
    return ".".join(name for name in path.split(" -> ")[1:] if name != "None")
