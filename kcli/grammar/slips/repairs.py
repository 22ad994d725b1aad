"""Slips at a field; each function yields the edits that repair one kind.

An edit removes bytes of the message at a field, and inserts others. `search` checks whether the message then reads to
its end, and how likely it is.
"""

import uuid
from collections.abc import Iterator

from kcli.core.codec.varints import write_unsigned
from kcli.grammar.slips.edits import NAMES, Edit, Slip, is_sized, varint_at, width_of
from kcli.grammar.slips.lengths import COST, LENGTHS
from kcli.grammar.slips.places import END, Place
from kcli.grammar.words.varints import length_bytes
from kcli.schemas.model import WIDTHS

INTS = {name: width for name, width in WIDTHS.items() if name not in ("uuid", "float64")}
UUID = 16
DISTINCTIVE = 4  # bytes that are hardly equal by coincidence


def of(path: str) -> str:
    return f" of {path}" if path else ""


def tags_left_out(data: bytes, place: Place) -> Iterator[Edit]:
    if place.type == "tag count":
        yield Edit(
            0, b"\0", f"with a tag section{of(place.path.removesuffix('_tags').rstrip('.'))}", "was it left out?"
        )


def tags_too_many(data: bytes, place: Place) -> Iterator[Edit]:
    if place.closes and data[place.start : place.start + 1] == b"\0":
        yield Edit(1, b"", "without the byte 0", "is it a tag section too many?")


def tags_miscounted(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for a number of tagged fields that is not 0, or off by one."""
    found = varint_at(data, place.start) if place.type == "tag count" else None
    if found is not None:
        number, size = found
        for right in sorted({0, number - 1, number + 1} - {number, -1}):
            words = f"with a count of {place.path} of {right}"
            yield Edit(size, write_unsigned(right), words, f"it says {number}", COST)


def narrower(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for an integer with fewer bytes."""
    wanted = INTS.get(place.type, 0)
    for width in NAMES:
        if width < wanted and len(data) >= place.start + width:
            sign = b"\xff" if data[place.start] >= 0x80 and place.type != "bool" else b"\0"
            yield Edit(
                0, sign * (wanted - width), f"with {place.path} as {place.type}", f"was it written as {NAMES[width]}?"
            )


def wider(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for an integer with more bytes."""
    wanted = INTS.get(place.type, 9)
    for width in NAMES:
        if width > wanted:
            sign = data[place.start : place.start + width - wanted]
            behind = data[place.start + width - wanted : place.start + width]
            negative = bool(behind) and behind[0] >= 0x80 and place.type != "bool"
            if len(behind) == wanted and sign == (b"\xff" if negative else b"\0") * len(sign):
                yield Edit(len(sign), b"", f"with {place.path} as {place.type}", f"was it written as {NAMES[width]}?")


def uuid_size(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for a uuid as text, or with a length in front."""
    if place.type != "uuid":
        return
    for size, length in (lengths for lengths in ((1, UUID + 1), (2, UUID), (4, UUID))):
        if data[place.start : place.start + size] == length.to_bytes(size, "big"):
            yield Edit(size, b"", f"with {place.path} without a length", "was one written?")
    for size, length in ((2, 36), (1, 37)):
        if data[place.start : place.start + size] == length.to_bytes(size, "big"):
            text = data[place.start + size : place.start + size + 36]
            try:
                raw = uuid.UUID(text.decode("ascii")).bytes
            except ValueError:
                continue
            yield Edit(size + 36, raw, f"with {place.path} as 16 bytes", "was it written as text?", cost=-2.0)


def twice(data: bytes, place: Place) -> Iterator[Edit]:
    field = data[place.start : place.end]
    if field and place.type not in (END, "tag count") and data[place.end : place.end + len(field)] == field:
        cost = -1.0 if len(field) >= DISTINCTIVE and any(field) else 0.5  # zeros are often beside zeros
        yield Edit(len(field), b"", f"with {place.path} once", "was it written twice?", cost)


def left_out(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for a missing field: the rest is read after an empty one."""
    empty = b""
    if is_sized(place):
        empty = length_bytes(-1 if "nullable" in place.type else 0, width_of(place))
    elif place.type in WIDTHS:
        empty = bytes(WIDTHS[place.type])
    elif place.type == "nullable struct":
        empty = b"\xff"
    if empty:
        yield Edit(0, empty, f"with {place.path} put in", "was it left out?", cost=1.0)


# The repairs tried at each field; if two repair a message in the same way, the first one is named.
REPAIRS: dict[str, Slip] = {
    **LENGTHS,
    "no tags": tags_left_out,
    "tags": tags_too_many,
    "tag count": tags_miscounted,
    "narrower": narrower,
    "wider": wider,
    "uuid": uuid_size,
    "twice": twice,
    "left out": left_out,
}
