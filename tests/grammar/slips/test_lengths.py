"""Each kind of slip in a length or count: one example by hand, mended to the right bytes and said in words."""

import pytest

from kcli.grammar.slips.lengths import LENGTHS
from kcli.grammar.slips.places import Place
from tests.grammar.slips.test_edits import mended

# kind, type of the field, bytes as written from the field on, bytes as they would be right, what is said
SLIPS = [
    ("non-compact", "compact string", "0002 6869", "03 6869", "with a compact length of f", "was it written as int16?"),
    (
        "non-compact",
        "compact array count",
        "00000001 05",
        "02 05",
        "with a compact count of f",
        "was it written as int32?",
    ),
    ("non-compact", "nullable compact string", "ffff", "00", "with a compact length of f", "was it written as int16?"),
    ("compact", "string", "03 6869", "0002 6869", "with an int16 length of f", "was it written compact?"),
    ("compact", "nullable string", "00", "ffff", "with an int16 length of f", "was it written compact?"),
    (
        "counts characters",
        "string",
        "0003 c3a4c3b6c3bc",
        "0006 c3a4c3b6c3bc",
        "with a length of f in bytes",
        "does it count characters, not bytes of UTF-8?",
    ),
    (
        "counts characters",
        "compact bytes",
        "04 e697a5e69cace8aa9e",
        "0a e697a5e69cace8aa9e",
        "with a length of f in bytes",
        "does it count characters, not bytes of UTF-8?",
    ),
    ("length width", "string", "00000002 6869", "0002 6869", "with an int16 length of f", "was it written as int32?"),
    ("length width", "array count", "0001 05", "00000001 05", "with an int32 count of f", "was it written as int16?"),
    ("no + 1", "compact string", "02 6869", "03 6869", "with a length of f one higher", "was the + 1 left out?"),
    (
        "counts itself",
        "string",
        "0004 6869",
        "0002 6869",
        "with a length of f that leaves itself out",
        "does it count its own bytes?",
    ),
    (
        "counts itself",
        "compact string",
        "04 6869",
        "03 6869",
        "with a length of f that leaves itself out",
        "does it count its own bytes?",
    ),
    (
        "little endian",
        "string",
        "0200 6869",
        "0002 6869",
        "with a big-endian length of f",
        "was it written little endian?",
    ),
    ("no length", "string", "6869 00", "0002 6869 00", "with a length in front of f", "was it left out?"),
    (
        "no length",
        "string",
        "6869 00 07",
        "0002 6869 07",
        "with a length in front of f",
        "does it end with a byte 0 instead?",
    ),
    ("no length", "array count", "05", "00000001 05", "with a count in front of f", "was it left out?"),
    ("length twice", "string", "0002 0002 6869", "0002 6869", "with one length of f", "was it written twice?"),
    ("zigzag", "compact string", "06 6869", "03 6869", "with an unsigned length of f", "was it written as zigzag?"),
    ("miscounted", "string", "0003 6869", "0002 6869", "with a length of f of 2", "it says 3"),
    ("miscounted", "string", "0001 6869", "0002 6869", "with a length of f of 2", "it says 1"),
    ("miscounted", "compact string", "04 6869", "03 6869", "with a length of f of 2", "it says 3"),
    ("miscounted", "array count", "00000004 05", "00000001 05", "with a count of f of 1", "it says 4"),
    ("miscounted", "compact array count", "02 0506", "04 0506", "with a count of f of 3", "it says 1"),
    ("null", "compact string", "00", "01", "with f empty", "was it written as null, which it can't be?"),
    ("null", "string", "ffff", "0000", "with f empty", "was it written as null, which it can't be?"),
    ("null", "nullable compact string", "ffffffff0f", "00", "with f null (0)", "was it written as -1?"),
]


@pytest.mark.parametrize(("kind", "type_", "written", "right", "words", "question"), SLIPS)
def test_a_slip_is_mended(kind: str, type_: str, written: str, right: str, words: str, question: str) -> None:
    assert mended(kind, type_, written)[bytes.fromhex(right)] == (words, question)


def test_records_without_a_length_end_where_their_batches_do() -> None:
    batch = bytes(8) + (5).to_bytes(4, "big") + b"batch"
    edits = [*LENGTHS["no length"](batch * 2 + b"\1", Place("f", 0, 0, "records", closes=False))]
    assert [edit.inserted for edit in edits] == [(17).to_bytes(4, "big"), (34).to_bytes(4, "big")]
