"""Spans side by side; messages are compared in tests/cli/test_diff.py."""

from __future__ import annotations

from kcli.grammar.difference import Difference, differences
from kcli.grammar.trace import Span


def spans(*paths: str) -> list[Span]:
    return [Span(path, at, at + 1, "int8", at) for at, path in enumerate(paths)]


def test_bytes_that_differ_and_fields_that_one_side_lacks() -> None:
    one, other = spans("a", "b", "c"), spans("a", "c", "d")
    assert [*differences(one, b"123", other, b"134")] == [
        Difference("b", one[1], None),
        Difference("d", None, other[2]),
    ]
    assert [*differences(one, b"123", one, b"193")] == [Difference("b", one[1], one[1])]
    assert [*differences(one, b"123", one, b"123")] == []
