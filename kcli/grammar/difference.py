"""Two messages side by side: the fields whose bytes differ, by the spans of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kcli.grammar.trace import Span

__all__ = ["Difference", "differences"]


class Difference(NamedTuple):
    """A field that is not the same in both; None: only the other has it."""

    path: str
    expected: Span | None
    got: Span | None


def differences(expected: Sequence[Span], one: bytes, got: Sequence[Span], other: bytes) -> Iterator[Difference]:
    """The fields whose bytes differ, in the order of the expected message, then those that only the other has.

    expected, got: the spans of the bytes `one` and `other`. A field that only stands elsewhere is the same.
    """
    found = dict(numbered(got))
    for key, span in numbered(expected):
        twin = found.pop(key, None)
        if twin is None or one[span.start : span.end] != other[twin.start : twin.end]:
            yield Difference(span.path, span, twin)
    for span in found.values():
        yield Difference(span.path, None, span)


def numbered(spans: Sequence[Span]) -> Iterator[tuple[tuple[str, int], Span]]:
    """The spans by path, and which one of that path it is."""
    seen: dict[str, int] = {}
    for span in spans:
        place = seen[span.path] = seen.get(span.path, -1) + 1
        yield (span.path, place), span
