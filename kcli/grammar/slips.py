"""The likely slip behind a message that does not decode: what people do wrong when they write Kafka's bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kcli.errors import DecodeError
from kcli.grammar import messages
from kcli.grammar.request_start import PREFIX, Buffer, api_of
from kcli.schemas.catalog import catalog

__all__ = ["Framing", "framings", "request_slip"]


class Framing(NamedTuple):
    """Frames behind lengths that are written in another way than Kafka's. slip: what is wrong with them, in words."""

    frames: list[tuple[int, int]]
    slip: str


MANY = 4  # versions: no hint any more
SELF, LITTLE = "counts its own 4 bytes: it says {says}, {left} expected", "is little endian: big endian expected"
SLIPS = (("big", PREFIX, SELF), ("little", 0, LITTLE), ("little", PREFIX, f"counts its own 4 bytes, and {LITTLE}"))


def framings(data: Buffer) -> list[Framing]:
    """The ways to read data as frames behind wrong lengths, none where no such lengths lead exactly to its end."""
    found = []
    for order, extra, text in SLIPS:
        frames = chain(data, order, extra)
        if frames:
            start, end = frames[0]
            slip = text.format(says=end - start + extra, left=end - start)
            found.append(Framing(frames, f"the length at {start - PREFIX:#x} {slip}"))
    return found


def chain(data: Buffer, order: str, extra: int) -> list[tuple[int, int]]:
    """(start, end) of each frame, [] where the lengths do not lead to the end. extra: bytes that a length counts
    besides its frame."""
    frames, at = [], 0
    while at + PREFIX <= len(data):
        size = int.from_bytes(data[at : at + PREFIX], "little" if order == "little" else "big", signed=True) - extra
        start = at + PREFIX
        if size < PREFIX or start + size > len(data):
            return []
        frames.append((start, start + size))
        at = start + size
    return frames if at == len(data) else []


def request_slip(frame: bytes, dialect: str | None = None) -> str:
    """How a request that does not decode reads to its last byte: in another version, or behind the other header.

    "" where nothing like that does, or too many do to tell.
    """
    api_key, version = api_of(frame)
    known = catalog(dialect).api(api_key)
    if known is None:
        return ""
    if version in known.versions:
        header = known.request_header_version(version)
        other = {1: 2, 2: 1}.get(header)
        if other is not None and reads(frame, other, known.request, version, dialect):
            return f"it reads to its end behind a request header v{other}, and v{version} has v{header}"
    found = [*readable(frame, api_key, version, dialect)]
    return f"it reads to its end as {' and '.join(f'v{each}' for each in found)}" if 0 < len(found) < MANY else ""


def readable(frame: bytes, api_key: int, version: int, dialect: str | None) -> Iterator[int]:
    """The other versions in which a request reads to its last byte."""
    known = catalog(dialect).apis[api_key]
    for each in known.versions:
        if each != version and reads(frame, known.request_header_version(each), known.request, each, dialect):
            yield each


def reads(frame: bytes, header: int, name: str, version: int, dialect: str | None) -> bool:
    try:
        start = messages.data("RequestHeader", header, dialect).skip(frame)
        return messages.data(name, version, dialect).skip(frame, start) == len(frame)
    except DecodeError:
        return False
