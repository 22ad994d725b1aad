"""The vocabulary by the names of Kafka's protocol guide."""

from typing import Any

import pytest

from kcli.grammar.words import primitives as kafka


@pytest.mark.parametrize(
    ("word", "value", "data"),
    [
        (kafka.Boolean, True, b"\1"),
        (kafka.Int8, -1, b"\xff"),
        (kafka.Int16, 1, b"\0\1"),
        (kafka.Int32, 1, b"\0\0\0\1"),
        (kafka.Int64, 1, bytes(7) + b"\1"),
        (kafka.Uint16, 65535, b"\xff\xff"),
        (kafka.Uint32, 1 << 31, b"\x80\0\0\0"),
        (kafka.Float64, 1.5, b"\x3f\xf8" + bytes(6)),
        (kafka.Uuid, "A" * 22, bytes(16)),
        (kafka.UnsignedVarint, 300, b"\xac\2"),
        (kafka.Varint, -2, b"\3"),
        (kafka.Varlong, 1 << 40, b"\x80\x80\x80\x80\x80\x40"),
        (kafka.String, "a", b"\0\1a"),
        (kafka.NullableString, None, b"\xff\xff"),
        (kafka.CompactString, "a", b"\2a"),
        (kafka.CompactNullableString, None, b"\0"),
        (kafka.Bytes, b"a", b"\0\0\0\1a"),
        (kafka.NullableBytes, None, b"\xff\xff\xff\xff"),
        (kafka.CompactBytes, b"a", b"\2a"),
        (kafka.CompactNullableBytes, None, b"\0"),
        (kafka.Records, None, b"\xff\xff\xff\xff"),
        (kafka.CompactRecords, b"a", b"\2a"),
        (kafka.Array(kafka.Int8), [1], b"\0\0\0\1\1"),
        (kafka.CompactArray(kafka.Int8, nullable=True), None, b"\0"),
        (kafka.Optional(kafka.Struct(a=kafka.Int8)), {"a": 2}, b"\1\2"),
        (kafka.TaggedFields({1: "a" / kafka.Int8}), {"a": 2}, b"\1\1\1\2"),
    ],
)
def test_each_type_of_the_guide(word: Any, value: Any, data: bytes) -> None:
    assert word.build(value) == data
    assert word.parse(data) == value


def test_every_name_is_there() -> None:
    assert {"Struct", "Field", "TaggedFields", "Array", "Optional"} < set(kafka.__all__)
    assert all(hasattr(kafka, name) for name in kafka.__all__)
