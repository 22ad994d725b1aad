"""Varints of both kinds, canonical and not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.codec.varints import write_unsigned
from kcli.errors import DecodeError, EncodeError
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.trace import DecodeTrace
from kcli.grammar.words.varints import UnsignedVarint, Zigzag, read_length, read_varint


@given(st.integers(0, (1 << 32) - 1))
def test_what_is_written_is_read(value: int) -> None:
    assert read_varint(ByteSource(write_unsigned(value)), "") == (value, True)
    assert UnsignedVarint().parse(UnsignedVarint().build(value)) == value


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_zigzag_both_ways(value: int) -> None:
    assert Zigzag(64).parse(Zigzag(64).build(value)) == value
    if -(1 << 31) <= value < 1 << 31:
        assert Zigzag(32).build(value) == Zigzag(64).build(value)


def test_longer_forms_are_read_and_kept() -> None:
    trace = DecodeTrace()
    assert UnsignedVarint().parse(b"\x85\0", trace=trace) == 5
    assert UnsignedVarint().build(5, trace=trace) == b"\x85\0"
    assert UnsignedVarint().build(6, trace=trace) == b"\6"


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff\xff\xff\x10", b"\x80\x80\x80\x80\x80"])
def test_what_is_no_varint(data: bytes) -> None:
    with pytest.raises(DecodeError):
        read_varint(ByteSource(data), "x")


@pytest.mark.parametrize("value", [-1, 1 << 32, True, "1", None])
def test_what_has_no_varint(value: object) -> None:
    with pytest.raises(EncodeError):
        UnsignedVarint().build(value)


def test_lengths_of_every_width() -> None:
    assert [
        read_length(ByteSource(data), width, "") for data, width in ((b"\0\5", 2), (b"\xff\xfe", 2), (b"\6", 0))
    ] == [
        (5, True),
        (-1, False),
        (5, True),
    ]
