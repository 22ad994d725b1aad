"""Edits that mend a message at one field, and the numbers at a field: the width of its length, numbers as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kcli.core.codec.varints import Buffer
from kcli.errors import DecodeError
from kcli.grammar.slips.places import Place
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.varints import read_varint

NAMES = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}


class Edit(NamedTuple):
    """Bytes out and bytes in at a field. words, question: "with a tag section of topics[0]", "was it left out?".

    cost: how much less likely it is than another, in the units of `plausibility`.
    """

    removed: int
    inserted: bytes
    words: str
    question: str
    cost: float = 0.0


class Repair(NamedTuple):
    """An edit at a byte. slip: the kind of slip that it mends."""

    slip: str
    at: int
    edit: Edit

    def mend(self, data: bytes) -> bytes:
        """Return the message as it would be right."""
        return data[: self.at] + self.edit.inserted + data[self.at + self.edit.removed :]


Slip = Callable[[bytes, Place], Iterator[Edit]]  # what may have been done wrong at a place


def is_sized(place: Place) -> bool:
    """Return whether a length or count stands in front of the field."""
    return place.type.endswith(("string", "bytes", "records", "array count"))


def width_of(place: Place) -> int:
    """Return the bytes of the length: 0 for a compact one."""
    return 0 if "compact" in place.type else 2 if place.type.endswith("string") else 4


def what(place: Place) -> str:
    """Return what to call that which stands in front of it: the count of an array, or a length."""
    return "count" if place.type.endswith("array count") else "length"


def varint_at(data: Buffer, at: int) -> tuple[int, int] | None:
    """Return (value, bytes) of the unsigned varint at `at`; None if there is none."""
    source = ByteSource(data[at : at + 5])
    try:
        value, _ = read_varint(source, "")
    except DecodeError:
        return None
    return value, source.tell()


def int_at(data: Buffer, at: int, width: int, order: str = "big") -> int | None:
    """Return the signed integer of `width` bytes there; None where the bytes end before."""
    raw = data[at : at + width]
    return int.from_bytes(raw, "little" if order == "little" else "big", signed=True) if len(raw) == width else None
