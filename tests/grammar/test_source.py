"""The buffer that words read from, and the paths they name."""

from __future__ import annotations

import pytest

from kcli.errors import DecodeError
from kcli.grammar.source import DecodeTrace, Source, Span, child, element


def test_a_source_reads_no_further_than_its_limit() -> None:
    source = Source(b"abcdef", 1)
    source.limit = 4
    assert source.take(2, "x") == b"bc"
    with pytest.raises(DecodeError, match="x: needs 2 bytes at 0x3, 1 left"):
        source.take(2, "x")
    assert source.left() == 1


def test_paths() -> None:
    assert child("", "a") == "a"
    assert child("(parsing)", "a") == "a"
    assert child(element(child("", "a"), 3), "b") == "a[3].b"


def test_a_walk_notes_spans_only_when_asked() -> None:
    silent, noting = DecodeTrace(), DecodeTrace(spans=[])
    for trace in (silent, noting):
        trace.note("a", 0, 1, "int8", 5)
    assert silent.spans is None
    assert noting.spans == [Span("a", 0, 1, "int8", 5)]
