"""Grammars of fixed width as `struct` reads them."""

import struct

import pytest

from kcli.grammar.batches import BATCH_HEADER
from kcli.grammar.words import primitives as kafka
from kcli.grammar.words.fixed import FixedLayout, fixed_layout


def test_a_batch_header() -> None:
    layout = fixed_layout(BATCH_HEADER)
    assert layout.struct.format == ">qiibIHiqqqhii" and layout.size == 61
    assert (layout.offsets["magic"], layout.offsets["crc"], layout.offsets["attributes"]) == (16, 17, 21)
    data = bytes(range(61))
    assert layout.row(data) == BATCH_HEADER.parse(data)
    assert layout.pack(*layout.unpack_from(data)) == data
    assert layout.part("lastOffsetDelta", "maxTimestamp").unpack_from(data, 23) == struct.unpack_from(">iqq", data, 23)
    assert fixed_layout(BATCH_HEADER) is layout


def test_single_fields_are_written_in_place() -> None:
    data = bytearray(70)
    fixed_layout(BATCH_HEADER).put(data, crc=5, maxTimestamp=-1)
    found = BATCH_HEADER.parse(data)
    assert (found.crc, found.maxTimestamp, found.attributes) == (5, -1, 0)


def test_rows_end_with_the_last_whole_one() -> None:
    layout = FixedLayout(kafka.Struct(a=kafka.Int8, b=kafka.Int16))
    assert list(layout.rows(b"\1\0\2\3\0\4?")) == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    assert list(layout.rows(b"")) == []


def test_other_fields_have_no_layout() -> None:
    for word in (kafka.String, kafka.Boolean, kafka.Uuid):
        with pytest.raises(TypeError, match="x is no number of fixed width"):
            FixedLayout(kafka.Struct(x=word))
