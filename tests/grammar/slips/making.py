"""Slips made on purpose: what is done wrong to a field of a right message, of each kind that `kcli` tries to name."""

from __future__ import annotations

import contextlib
import random
import re
import struct
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import kcli
from kcli.errors import DecodeError, InputError, SchemaError
from kcli.grammar import messages
from kcli.grammar.slips.places import END, Layout, Place
from kcli.schemas.catalog import catalog

WIDTHS = {"int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8}
EVERY = 100_000
INDEX = re.compile(r"\[\d+\]")
# Kinds that are named where a program makes the slip in every entry of an array.
REPEATED = ("non-compact", "compact", "no tags", "tags", "narrower", "wider", "twice")


class Made(NamedTuple):
    """A damaged frame. kind, at: the slip and the byte where it is."""

    kind: str
    at: int
    path: str
    frame: bytes


class Sample(NamedTuple):
    """A right frame. api, version: of the request; is_request: whether it is one."""

    frame: bytes
    api: int
    version: int
    is_request: bool

    @property
    def layout(self) -> Layout:
        if self.is_request:
            header = catalog().apis[self.api].request_header_version(self.version)
            return Layout(messages.data("RequestHeader", header), messages.request(self.api, self.version))
        return Layout(messages.response_header(self.api, self.version), messages.response(self.api, self.version))


Edit = tuple[int, int, bytes]  # place, bytes out, bytes in
Maker = Callable[[bytes, Place], Edit | None]
Written = Callable[[int, int, Place], bytes | None]  # of a length, its bytes and place: what is written for it
NULL = b"\xff\xff\xff\xff\x0f"  # -1 as a varint


def varint(value: int) -> bytes:
    made = b""
    while value >= 0x80:
        made += bytes([value & 0x7F | 0x80])
        value >>= 7
    return made + bytes([value])


def is_sized(place: Place) -> bool:
    return place.type.endswith(("string", "bytes", "records", "array count"))


def length_of(data: bytes, place: Place) -> tuple[int, int]:
    """(length, its bytes)."""
    if not is_compact(place):
        width = plain_width(place)
        return int.from_bytes(data[place.start : place.start + width], "big", signed=True), width
    value = shift = size = 0
    while True:
        byte = data[place.start + size]
        value |= (byte & 0x7F) << shift
        shift, size = shift + 7, size + 1
        if byte < 0x80:
            return value - 1, size


def length_slip(written: Written) -> Maker:
    """A slip in a length."""

    def slip(data: bytes, place: Place) -> Edit | None:
        if not is_sized(place):
            return None
        length, size = length_of(data, place)
        said = written(length, size, place)
        return None if said is None else (place.start, size, said)

    return slip


def signed(value: int, width: int) -> bytes | None:
    try:
        return value.to_bytes(width, "big", signed=True)
    except OverflowError:
        return None


def is_compact(place: Place) -> bool:
    return "compact" in place.type


def plain_width(place: Place) -> int:
    return 2 if place.type.endswith("string") else 4


def narrower(width: int) -> Maker:
    def slip(data: bytes, place: Place) -> Edit | None:
        wanted = WIDTHS.get(place.type, 0)
        value = int.from_bytes(data[place.start : place.end], "big", signed=True)
        made = signed(value, width) if width < wanted else None
        return None if made is None else (place.start, wanted, made)

    return slip


def wider(width: int) -> Maker:
    def slip(data: bytes, place: Place) -> Edit | None:
        wanted = 1 if place.type == "bool" else WIDTHS.get(place.type, 9)
        if width <= wanted:
            return None
        value = int.from_bytes(data[place.start : place.end], "big", signed=True)
        return place.start, wanted, value.to_bytes(width, "big", signed=True)

    return slip


def uuid_text(data: bytes, place: Place) -> Edit | None:
    if place.type != "uuid":
        return None
    text = str(uuid.UUID(bytes=data[place.start : place.end])).encode()
    return place.start, 16, b"\x25" + text


def uuid_sized(data: bytes, place: Place) -> Edit | None:
    return (place.start, 0, b"\x11") if place.type == "uuid" else None


def flipped(data: bytes, place: Place) -> Edit | None:
    """One bit of a length, drawn by the bytes around it."""
    if not is_sized(place) or place.start < 4:
        return None
    length, size = length_of(data, place)
    if length < 0:
        return None
    number = random.Random(data[: place.end]).randrange(8 * size)
    made = bytearray(data[place.start : place.start + size])
    made[number >> 3] ^= 1 << (number & 7)
    return place.start, size, bytes(made)


def tags_left_out(data: bytes, place: Place) -> Edit | None:
    right = place.type == "tag count" and data[place.start] == 0
    return (place.start, 1, b"") if right else None


def tags_written(data: bytes, place: Place) -> Edit | None:
    return (place.start, 0, b"\0") if place.closes and place.start else None


def tags_again(data: bytes, place: Place) -> Edit | None:
    right = place.type == "tag count" and data[place.start] == 0
    return (place.start, 0, b"\0") if right else None


def left_out(data: bytes, place: Place) -> Edit | None:
    if place.type in (END, "tag count") or place.end == place.start or place.start < 4:
        return None
    return place.start, place.end - place.start, b""


def twice(data: bytes, place: Place) -> Edit | None:
    if place.type in (END, "tag count") or place.end == place.start or place.start < 4:
        return None
    return place.start, 0, data[place.start : place.end]


def non_compact(length: int, size: int, place: Place) -> bytes | None:
    return signed(length, plain_width(place)) if is_compact(place) else None


def compact(length: int, size: int, place: Place) -> bytes | None:
    return None if is_compact(place) else varint(length + 1)


def other_width(length: int, size: int, place: Place) -> bytes | None:
    return None if is_compact(place) else signed(length, 6 - size)


def no_plus_one(length: int, size: int, place: Place) -> bytes | None:
    return varint(length) if is_compact(place) and length >= 0 else None


def zigzag(length: int, size: int, place: Place) -> bytes | None:
    return varint(2 * (length + 1)) if is_compact(place) and length >= 0 else None


def counts_itself(length: int, size: int, place: Place) -> bytes | None:
    if length < 0 or "count" in place.type:
        return None
    return varint(length + 1 + size) if is_compact(place) else signed(length + size, size)


def little_endian(length: int, size: int, place: Place) -> bytes | None:
    return None if is_compact(place) or length <= 0 else length.to_bytes(size, "little")


def no_length(length: int, size: int, place: Place) -> bytes | None:
    return b"" if length > 0 else None


def length_twice(length: int, size: int, place: Place) -> bytes | None:
    said = varint(length + 1) if is_compact(place) else length.to_bytes(size, "big", signed=True)
    return None if length < 0 else said * 2


def miscounted(by: int) -> Written:
    """A number that is so much too high."""

    def written(length: int, size: int, place: Place) -> bytes | None:
        said = length + by
        if length < 0 or said < 0 or (is_compact(place) and by == -1):  # which is "no + 1"
            return None
        return varint(said + 1) if is_compact(place) else signed(said, size)

    return written


def null_for_empty(length: int, size: int, place: Place) -> bytes | None:
    if length != 0 or "nullable" in place.type:
        return None
    return b"\0" if is_compact(place) else b"\xff" * size


def minus_one(length: int, size: int, place: Place) -> bytes | None:
    return NULL if is_compact(place) and length < 0 else None


# Kind, and what makes one: at a field of the right message, or None where the kind has no sense there.
MAKERS: dict[str, list[Maker]] = {
    "non-compact": [length_slip(non_compact)],
    "compact": [length_slip(compact)],
    "length width": [length_slip(other_width)],
    "no + 1": [length_slip(no_plus_one)],
    "counts itself": [length_slip(counts_itself)],
    "little endian": [length_slip(little_endian)],
    "no length": [length_slip(no_length)],
    "length twice": [length_slip(length_twice)],
    "zigzag": [length_slip(zigzag)],
    "miscounted": [length_slip(miscounted(1)), length_slip(miscounted(-1))],
    "flipped bit": [flipped],
    "null": [length_slip(null_for_empty), length_slip(minus_one)],
    "no tags": [tags_left_out],
    "tags": [tags_written],
    "narrower": [narrower(1), narrower(2), narrower(4)],
    "wider": [wider(2), wider(4), wider(8)],
    "uuid": [uuid_text, uuid_sized],
    "twice": [twice],
    "left out": [left_out],
}


def make(sample: Sample, kind: str, chance: random.Random) -> Made | None:
    """One slip of that kind at a random field; None where the message has no field for it."""
    if kind in WHOLE:
        return WHOLE[kind](sample, chance)
    layout = sample.layout
    places = layout.places(layout.walk(sample.frame, EVERY))
    chance.shuffle(places)
    for place in places[:200]:
        edits = [edit for maker in MAKERS[kind] if (edit := maker(sample.frame, place)) is not None]
        if edits:
            at, removed, inserted = chance.choice(edits)
            return Made(kind, at, place.path, sample.frame[:at] + inserted + sample.frame[at + removed :])
    return None


def make_everywhere(sample: Sample, kind: str, chance: random.Random) -> Made | None:
    """The slip at a random field of an array's entries, in each of two or more."""
    layout = sample.layout
    fields = dict[str, list[Place]]()
    for place in reversed(layout.places(layout.walk(sample.frame, EVERY))):
        fields.setdefault(INDEX.sub("[]", place.path), []).append(place)
    many = [places for path, places in fields.items() if "[]" in path and len(places) > 1]
    for places in chance.sample(many, len(many)):
        makers = [tags_again] if kind == "tags" else MAKERS[kind]
        for maker in chance.sample(makers, len(makers)):
            edits = [edit for place in places if (edit := maker(sample.frame, place)) is not None]
            if len(edits) == len(places):
                frame = sample.frame
                for at, removed, inserted in reversed(edits):
                    frame = frame[:at] + inserted + frame[at + removed :]
                return Made(kind, edits[0][0], places[0].path, frame)
    return None


def version(sample: Sample, chance: random.Random) -> Made | None:
    """The message says another version than it is written in."""
    known = catalog().apis[sample.api]
    others = [each for each in known.versions if each != sample.version]
    if not others or not sample.is_request:
        return None
    said = chance.choice(others)
    return Made("version", 2, "", sample.frame[:2] + struct.pack(">h", said) + sample.frame[4:])


def header(sample: Sample, chance: random.Random) -> Made | None:
    """The header of other versions: with a tag section or without."""
    if sample.is_request:
        number = catalog().apis[sample.api].request_header_version(sample.version)
        if number not in (1, 2):
            return None
        codec = messages.data("RequestHeader", number)
        end = codec.skip(sample.frame)
        frame = sample.frame[: end - 1] + sample.frame[end:] if number == 2 else insert(sample.frame, end)
        return Made("header", end - (number == 2), "", frame)
    flexible = messages.response_header(sample.api, sample.version).grammar.flexible
    frame = sample.frame[:4] + sample.frame[5:] if flexible else insert(sample.frame, 4)
    return Made("header", 4, "", frame)


def insert(frame: bytes, at: int) -> bytes:
    return frame[:at] + b"\0" + frame[at:]


def following(sample: Sample, chance: random.Random) -> Made | None:
    """The next message in the same frame."""
    rest = len(sample.frame).to_bytes(4, "big") + sample.frame
    return Made("next message", len(sample.frame), "", sample.frame + rest)


WHOLE: dict[str, Callable[[Sample, random.Random], Made | None]] = {
    "version": version,
    "header": header,
    "next message": following,
}
KINDS = [*WHOLE, *MAKERS]


def frames_of(files: list[str], most: int = 3) -> Iterator[Sample]:
    """Right frames of captures: `most` of each API, version and direction, of different sizes."""
    seen: dict[tuple[int, int, bool], set[int]] = {}
    for file in files:
        for exchange in whole(kcli.read_capture(file)):
            for is_request, frame in ((True, exchange.request_frame), (False, exchange.response_frame)):
                if not frame or exchange.api_key is None:
                    continue
                sample = Sample(bytes(frame), exchange.api_key, exchange.api_version, is_request)
                sizes = seen.setdefault(sample[1:], set())
                if len(sizes) < most and len(frame) not in sizes and is_right(sample):
                    sizes.add(len(frame))
                    yield sample


def whole(exchanges: Iterable[Any]) -> Iterator[Any]:
    """The exchanges up to where a capture is damaged."""
    with contextlib.suppress(InputError):
        yield from exchanges


def is_right(sample: Sample) -> bool:
    try:
        return sample.layout.reads(sample.frame)
    except (DecodeError, SchemaError, KeyError):
        return False
