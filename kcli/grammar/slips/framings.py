"""Lengths in front of frames that are written in another way than Kafka's."""

from __future__ import annotations

from typing import NamedTuple

from kcli.grammar.request_start import PREFIX, Buffer


class Framing(NamedTuple):
    """Frames behind lengths that are written in another way than Kafka's. slip: what is wrong with them, in words."""

    frames: list[tuple[int, int]]
    slip: str


SELF, LITTLE = "counts its own 4 bytes: it says {says}, {left} expected", "is little endian: big endian expected"
MISCOUNTED = tuple(("big", by, "says {says}, {left} expected") for by in (1, -1, 2, -2, 3, -3))
SLIPS = (
    ("big", PREFIX, SELF),
    ("little", 0, LITTLE),
    ("little", PREFIX, f"counts its own 4 bytes, and {LITTLE}"),
    *MISCOUNTED,
)


def framings(data: Buffer) -> list[Framing]:
    """Return the ways to read data as frames with wrong lengths; none where no such lengths lead exactly to its end."""
    found = []
    for order, extra, text in SLIPS:
        frames = chain(data, order, extra)
        if frames:
            start, end = frames[0]
            slip = text.format(says=end - start + extra, left=end - start)
            found.append(Framing(frames, f"the length at {start - PREFIX:#x} {slip}"))
    return found


def chain(data: Buffer, order: str, extra: int) -> list[tuple[int, int]]:
    """Return (start, end) of each frame, [] where the lengths do not lead to the end. extra: bytes that a length counts
    besides its frame.
    """
    frames, at = [], 0
    while at + PREFIX <= len(data):
        size = int.from_bytes(data[at : at + PREFIX], "little" if order == "little" else "big", signed=True) - extra
        start = at + PREFIX
        if size < PREFIX or start + size > len(data):
            return []
        frames.append((start, start + size))
        at = start + size
    return frames if at == len(data) else []
