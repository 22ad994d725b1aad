"""Arrow arrays out of the core's buffers."""

from __future__ import annotations

import struct

import pytest

from kcli.capture.arrays import error_names, integers, strings

numpy = pytest.importorskip("numpy")
pytest.importorskip("pyarrow")


def test_texts_end_where_they_are_said_to() -> None:
    assert strings((struct.pack("4i", 0, 2, 2, 4), "abü".encode())).to_pylist() == ["ab", "", "ü"]
    missing = numpy.array([False, True, False])
    assert strings((struct.pack("4i", 0, 2, 2, 4), b"abcd"), missing).to_pylist() == ["ab", None, "cd"]
    assert strings((bytes(4), b"")).to_pylist() == []


def test_numbers_take_the_width_of_their_column() -> None:
    column = integers(numpy.array([1, -1, 7]), "int16", numpy.array([False, True, False]))
    assert (str(column.type), column.to_pylist()) == ("int16", [1, None, 7])


def test_error_codes_become_their_names() -> None:
    made = error_names(struct.pack("4i", 0, 2, 2, 3), struct.pack("3q", 6, 5, 999))
    assert made.to_pylist() == [["NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE"], [], ["ERROR_999"]]
    assert error_names(bytes(4), b"").to_pylist() == []
