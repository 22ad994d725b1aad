"""Two messages side by side: the fields whose bytes differ, by the spans of both or by the core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kcli.grammar.trace import Span

if TYPE_CHECKING:
    from kcli.core.codec.messages import NotedSide
    from kcli.grammar.codec import MessageCodec

__all__ = ["Difference", "core_differences", "differences", "in_order"]


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


def core_differences(
    codec: MessageCodec, one: bytes, start: int, other: bytes, other_start: int
) -> tuple[list[Difference], int, int] | None:
    """(the fields that differ, end, the other's end) of the messages at both places, without the spans of all.

    They are those of `differences`, to be brought `in_order`. None: the core can't say, because it is not built, a
    message is damaged or not canonical, has secrets, or a layout that depends on its bytes.
    """
    node = codec.node
    made = None if node is None or codec.guarded else node.differences(one, start, other, other_start)
    if made is None:
        return None
    found, added, end, other_end = made
    noted = [Difference(path, span_of(path, one), span_of(path, other)) for path, one, other in (*found, *added)]
    return noted, end, other_end


def span_of(path: str, side: NotedSide | None) -> Span | None:
    return None if side is None else Span(path, *side)


def in_order(found: list[Difference]) -> list[Difference]:
    """Differences in the order that `differences` has: by place, those that only the other has at the end."""

    def place(each: Difference) -> tuple[bool, int, int]:
        span = each.expected or each.got
        assert span is not None
        return each.expected is None, span.start, span.end

    return sorted(found, key=place)
