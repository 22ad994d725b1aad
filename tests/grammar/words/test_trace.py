"""Paths, spans, and the trace that construct carries."""

import construct
import pytest

from kcli.errors import EncodeError
from kcli.grammar.words import primitives as kafka
from kcli.grammar.words.trace import DecodeTrace, Span, child, element, field_path, inside, trace_of


def test_paths() -> None:
    assert child("", "a") == "a"
    assert child(element(child("", "a"), 3), "b") == "a[3].b"
    assert [field_path(path) for path in ("(parsing)", "(parsing) -> a -> b", "(building) -> None -> a", "(???)")] == [
        "",
        "a.b",
        "a",
        "",
    ]
    assert [inside("a", "b"), inside("a", "[1].b"), inside("", "b"), inside("a", "")] == ["a.b", "a[1].b", "b", "a"]


def test_a_trace_notes_spans_only_when_asked() -> None:
    silent, noting = DecodeTrace(), DecodeTrace(spans=[])
    for trace in (silent, noting):
        trace.note("a", 0, 1, "int8", 5)
    assert silent.spans is None
    assert noting.spans == [Span("a", 0, 1, "int8", 5)]


def test_spans_of_words_anywhere_in_a_construct() -> None:
    trace = DecodeTrace([])
    around = construct.Struct("h" / construct.Int8ub, "in" / construct.Struct("x" / kafka.Int16, "y" / kafka.String))
    around.parse(b"\1\0\2\0\1a", trace=trace)
    assert trace.spans == [Span("in.x", 1, 3, "int16", 2), Span("in.y", 3, 6, "string", "a")]


def test_a_field_named_trace_is_no_trace() -> None:
    assert construct.Struct("trace" / kafka.Int8, "x" / kafka.Int8).parse(b"\1\2").x == 2
    assert trace_of({"trace": 5}) is None


def test_encodings_come_as_bytes_or_base64() -> None:
    assert DecodeTrace.of_value({"_encodings": {"a": "Ag==", "b": b"\2"}}).encodings == {"a": b"\2", "b": b"\2"}
    for wrong in (5, {"a": "?"}):
        with pytest.raises(EncodeError, match="_encodings"):
            DecodeTrace.of_value({"_encodings": wrong})
