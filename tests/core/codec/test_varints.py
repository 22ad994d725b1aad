"""Varints in plain Python, as the words of the grammar have them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.codec.varints import read_unsigned, read_zigzag, write_unsigned
from kcli.grammar.words.varints import UnsignedVarint, Zigzag


@given(st.integers(0, (1 << 32) - 1), st.binary(max_size=3))
def test_unsigned(value: int, around: bytes) -> None:
    data = write_unsigned(value)
    assert data == UnsignedVarint().build(value)
    assert read_unsigned(around + data + around, len(around)) == (value, len(around) + len(data))


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_zigzag(value: int) -> None:
    data = Zigzag(64).build(value)
    assert read_zigzag(data, most=10) == (value, len(data))
    if -(1 << 31) <= value < 1 << 31:
        assert read_zigzag(data) == (value, len(data))


@pytest.mark.parametrize(("data", "end"), [(b"", None), (b"\x80", None), (b"\x80" * 5 + b"\1", None), (b"\x80\1", 1)])
def test_what_does_not_end(data: bytes, end: int | None) -> None:
    with pytest.raises(ValueError, match="does not end"):
        read_unsigned(data, 0, end)
