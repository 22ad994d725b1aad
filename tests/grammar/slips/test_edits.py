"""Edits, and numbers and lengths as they stand at a field."""

import pytest

from kcli.grammar.slips.edits import Edit, Repair, int_at, is_sized, subject, varint_at, width_of
from kcli.grammar.slips.places import Place
from kcli.grammar.slips.repairs import REPAIRS

BEFORE, BEHIND = b"<<", b"\0\0>>"


def mended(kind: str, type_: str, written: str) -> dict[bytes, tuple[str, str]]:
    """What a kind of slip makes of a field's bytes, as hex: bytes -> how it is said."""
    place = Place("f", len(BEFORE), len(BEFORE), type_, closes=False)
    data, found = BEFORE + bytes.fromhex(written) + BEHIND, dict[bytes, tuple[str, str]]()
    for edit in REPAIRS[kind](data, place):
        made = Repair(kind, place.start, edit).mend(data)
        found[made.removeprefix(BEFORE).removesuffix(BEHIND)] = edit.words, edit.question
    return found


def test_a_repair_replaces_bytes_at_its_place() -> None:
    assert Repair("tags", 2, Edit(1, b"xy", "with it", "was it?")).mend(b"abcd") == b"abxyd"


@pytest.mark.parametrize(
    ("type_", "width", "name"),
    [
        ("nullable string", 2, "length"),
        ("bytes", 4, "length"),
        ("array count", 4, "count"),
        ("compact records", 0, "length"),
    ],
)
def test_the_width_of_a_length(type_: str, width: int, name: str) -> None:
    place = Place("f", 0, 0, type_, closes=False)
    assert (is_sized(place), width_of(place), subject(place)) == (True, width, name)
    assert not is_sized(place._replace(type="int32"))


def test_numbers_as_they_stand() -> None:
    assert varint_at(b"x\x80\1", 1) == (128, 2)
    assert varint_at(b"\x80", 0) is None
    assert (int_at(b"\0\1", 0, 2), int_at(b"\1\0", 0, 2, "little"), int_at(b"\0", 0, 2)) == (1, 1, None)
