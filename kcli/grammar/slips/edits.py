"""Edits that repair a message at one field, and helpers to read a field's length and numbers."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kcli.core.codec.varints import Buffer
from kcli.errors import DecodeError
from kcli.grammar.slips.places import Place
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.varints import read_varint

NAMES = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}


class Edit(NamedTuple):
    """The bytes to remove and to insert at a field. words, question: as in "with a tag section of topics[0]", "was it
    left out?".

    cost: how much less likely the edit is than others, in the units of `plausibility`.
    """

    removed: int
    inserted: bytes
    words: str
    question: str
    cost: float = 0.0


class Repair(NamedTuple):
    """An edit at an offset. slip: the kind of slip that it repairs."""

    slip: str
    at: int
    edit: Edit

    def mend(self, data: bytes) -> bytes:
        """Return the repaired message."""
        return data[: self.at] + self.edit.inserted + data[self.at + self.edit.removed :]


Slip = Callable[[bytes, Place], Iterator[Edit]]  # returns the edits that would repair a slip at a place


def is_sized(place: Place) -> bool:
    """Return whether the field has a length or count in front."""
    return place.type.endswith(("string", "bytes", "records", "array count"))


def width_of(place: Place) -> int:
    """Return the number of bytes in the length; 0 for a compact one."""
    return 0 if "compact" in place.type else 2 if place.type.endswith("string") else 4


def subject(place: Place) -> str:
    """Return the word for the number in front of the field: "count" for an array, else "length"."""
    return "count" if place.type.endswith("array count") else "length"


def varint_at(data: Buffer, at: int) -> tuple[int, int] | None:
    """Return (value, size in bytes) of the unsigned varint at `at`; None if there is none."""
    source = ByteSource(data[at : at + 5])
    try:
        value, _ = read_varint(source, "")
    except DecodeError:
        return None
    return value, source.tell()


def int_at(data: Buffer, at: int, width: int, order: str = "big") -> int | None:
    """Return the signed integer of `width` bytes at an offset; None if the bytes end before."""
    raw = data[at : at + width]
    return int.from_bytes(raw, "little" if order == "little" else "big", signed=True) if len(raw) == width else None
