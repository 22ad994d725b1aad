"""Arrays and nullable structs; the table of cases in test_scalars.py has their bytes."""

import pytest

from kcli.errors import DecodeError
from kcli.grammar.words.arrays import Array, CompactArray, Optional
from kcli.grammar.words.scalars import Primitive
from kcli.grammar.words.structs import Struct


def test_zero_of_each() -> None:
    assert (Array(Primitive("int8")).zero, CompactArray(Primitive("int8"), nullable=True).zero) == ([], None)
    assert Optional(Struct()).zero is None


def test_an_array_of_nothing_is_no_longer_than_the_bytes() -> None:
    with pytest.raises(DecodeError, match="says 2147483647 entries, 0 bytes are left"):
        Array(Struct()).parse(b"\x7f\xff\xff\xff")
