"""Each kind of slip at a field but its length: one example by hand, mended to the right bytes and said in words."""

import pytest

from kcli.grammar.slips.places import Place
from kcli.grammar.slips.repairs import REPAIRS
from tests.grammar.slips.test_edits import mended

UUID = bytes.fromhex("0123456789ab4def8123456789abcdef")

# kind, type of the field, bytes as written from the field on, bytes as they would be right, what is said
SLIPS = [
    ("narrower", "int64", "ffffffff", "ffffffffffffffff", "with f as int64", "was it written as int32?"),
    ("narrower", "int32", "0007", "00000007", "with f as int32", "was it written as int16?"),
    ("wider", "int32", "0000000000000007", "00000007", "with f as int32", "was it written as int64?"),
    ("wider", "bool", "00000001", "01", "with f as bool", "was it written as int32?"),
    ("wider", "int8", "fffffff9", "f9", "with f as int8", "was it written as int32?"),
    ("uuid", "uuid", "11" + UUID.hex(), UUID.hex(), "with f without a length", "was one written?"),
    (
        "uuid",
        "uuid",
        "25" + b"01234567-89ab-4def-8123-456789abcdef".hex(),
        UUID.hex(),
        "with f as 16 bytes",
        "was it written as text?",
    ),
    ("tag count", "tag count", "01", "00", "with a count of f of 0", "it says 1"),
    ("tag count", "tag count", "8001", "00", "with a count of f of 0", "it says 128"),
    ("tag count", "tag count", "02", "01", "with a count of f of 1", "it says 2"),
    ("left out", "int16", "", "0000", "with f put in", "was it left out?"),
    ("left out", "nullable string", "", "ffff", "with f put in", "was it left out?"),
    ("left out", "compact array count", "", "01", "with f put in", "was it left out?"),
    ("left out", "nullable struct", "", "ff", "with f put in", "was it left out?"),
]


@pytest.mark.parametrize(("kind", "type_", "written", "right", "words", "question"), SLIPS)
def test_a_slip_is_mended(kind: str, type_: str, written: str, right: str, words: str, question: str) -> None:
    assert mended(kind, type_, written)[bytes.fromhex(right)] == (words, question)


def test_a_tag_section_is_put_in() -> None:
    (edit,) = REPAIRS["no tags"](b"\5", Place("topics[0]._tags", 0, 0, "tag count", closes=False))
    assert (edit.removed, edit.inserted, edit.words) == (0, b"\0", "with a tag section of topics[0]")
    (edit,) = REPAIRS["no tags"](b"", Place("_tags", 0, 0, "tag count", closes=False))
    assert edit.words == "with a tag section"


def test_a_tag_section_is_taken_out_only_where_a_struct_ends() -> None:
    assert [*REPAIRS["tags"](b"\0", Place("f", 0, 1, "int8", closes=True))]
    assert not [*REPAIRS["tags"](b"\0", Place("f", 0, 1, "int8", closes=False))]
    assert not [*REPAIRS["tags"](b"\1", Place("f", 0, 1, "int8", closes=True))]


def test_a_field_that_stands_twice_is_taken_out_once() -> None:
    (edit,) = REPAIRS["twice"](b"\0\2hi\0\2hi", Place("f", 0, 4, "string", closes=False))
    assert (edit.removed, edit.inserted, edit.cost) == (4, b"", -1.0)
    (zeros,) = REPAIRS["twice"](bytes(8), Place("f", 0, 4, "int32", closes=False))
    assert zeros.cost > edit.cost
    assert not [*REPAIRS["twice"](b"\0\2hi\0\2ho", Place("f", 0, 4, "string", closes=False))]


@pytest.mark.parametrize("kind", REPAIRS)
@pytest.mark.parametrize(
    "type_", ["compact string", "string", "array count", "uuid", "int64", "bool", "records", "end"]
)
def test_nothing_is_read_behind_the_end(kind: str, type_: str) -> None:
    for data in (b"", b"\xff", b"\x80\x80\x80\x80\x80\x80", bytes(3)):
        for edit in REPAIRS[kind](data, Place("f", 0, min(1, len(data)), type_, closes=True)):
            assert 0 <= edit.removed <= len(data)
