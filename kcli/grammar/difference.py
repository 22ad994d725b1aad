"""Compares two messages: finds the fields with different bytes, by the spans of both or by the core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kcli.grammar.words.trace import Span

if TYPE_CHECKING:
    from kcli.core.codec.messages import Noted, NotedSide
    from kcli.grammar.codec import MessageCodec


class FieldDifference(NamedTuple):
    """A field that differs between two messages; a span is None if that message lacks the field."""

    path: str
    expected: Span | None
    got: Span | None


def differences(expected: Sequence[Span], one: bytes, got: Sequence[Span], other: bytes) -> Iterator[FieldDifference]:
    """Yield the fields with different bytes, in the order of the expected message, then the fields that only the other
    has.

    expected, got: the spans of `one` and `other`. A field with the same bytes at another offset does not differ.
    """
    found = dict(numbered(got))
    for key, span in numbered(expected):
        twin = found.pop(key, None)
        if twin is None or one[span.start : span.end] != other[twin.start : twin.end]:
            yield FieldDifference(span.path, span, twin)
    for span in found.values():
        yield FieldDifference(span.path, None, span)


def numbered(spans: Sequence[Span]) -> Iterator[tuple[tuple[str, int], Span]]:
    """Yield ((path, number among the spans with this path, from 0), span)."""
    seen: dict[str, int] = {}
    for span in spans:
        place = seen[span.path] = seen.get(span.path, -1) + 1
        yield (span.path, place), span


def core_differences(
    codec: MessageCodec, one: bytes, start: int, other: bytes, other_start: int
) -> tuple[list[FieldDifference], int, int] | None:
    """Return (the fields that differ, end, the other's end) of two messages, without making all spans; None if the core
    cannot.

    The fields are those of `differences`, to be sorted by `in_order`; in records fields also those of batches. The core
    cannot compare a message that is damaged or not canonical, has secrets, or a layout that depends on its bytes; or
    batches that differ and are compressed, have control records, or an old magic.
    """
    node = codec.node
    if node is None or codec.guarded:
        return None
    from kcli.grammar.native import batch_header

    made = node.differences(one, start, other, other_start, batch_header())
    return None if made is None else (noted(*made[:2]), *made[2:])


def core_batch_differences(one: bytes, other: bytes) -> list[FieldDifference] | None:
    """Return the fields that differ between record batches, with those that only the other has at the end; None as in
    `core_differences`.
    """
    from kcli.core.codec.messages import batch_differences
    from kcli.grammar.native import batch_header

    made = batch_differences(batch_header(), one, other)
    return None if made is None else noted(*made)


def noted(found: list[Noted], added: list[Noted]) -> list[FieldDifference]:
    def span(path: str, side: NotedSide | None) -> Span | None:
        return None if side is None else Span(path, *side)

    return [FieldDifference(path, span(path, one), span(path, other)) for path, one, other in (*found, *added)]


def in_order(found: list[FieldDifference]) -> list[FieldDifference]:
    """Sort differences as `differences` does: by offset, then the fields that only the other message has."""

    def place(each: FieldDifference) -> tuple[bool, int, int]:
        span = each.expected or each.got
        assert span is not None
        return each.expected is None, span.start, span.end

    return sorted(found, key=place)
