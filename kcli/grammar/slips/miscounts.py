"""Lengths and counts of a wrong number: one too high or too low, or different from the bytes of the batches after
them.
"""

from __future__ import annotations

from collections.abc import Iterator

from kcli.core.codec.varints import Buffer
from kcli.core.records.batches import LENGTH_END, SIZE_AT
from kcli.grammar.slips.edits import Edit, int_at, is_sized, varint_at, what, width_of
from kcli.grammar.slips.places import Place
from kcli.grammar.words.varints import length_bytes

BATCHES = 20  # of records with a wrong or missing length
FARTHEST = 3  # entries that a count is too high or too low
COST, FARTHER = 1.5, 1.0  # as oddness: by one, and for each more
FLIPPED = 2.5  # as oddness
MOST_BYTES = 5  # of a length


def miscounted(data: bytes, place: Place) -> Iterator[Edit]:
    """Find a count of missing entries, or of fewer; a length that is off by one, or does not fit its batches."""
    if not is_sized(place) or (found := said_at(data, place)) is None:
        return
    said, size = found
    for right, cost in likely_numbers(data, place, said, size):
        written = length_bytes(right, width_of(place))
        words = f"with a {what(place)} of {place.path} of {right}"
        yield Edit(size, written, words, f"it says {said}", cost)


def flipped(data: bytes, place: Place) -> Iterator[Edit]:
    """Find a length or count in which one bit is another one than was written."""
    if not is_sized(place):
        return
    found = said_at(data, place)
    said, size = found or (None, MOST_BYTES)
    for bit in range(8 * size):
        mended = bytearray(data[place.start : place.start + MOST_BYTES])
        if bit >> 3 >= len(mended):
            return
        mended[bit >> 3] ^= 1 << (bit & 7)
        right = said_at(mended, place._replace(start=0))
        if right is not None and 0 <= right[0] <= len(data) - place.start - right[1]:
            words = f"with a {what(place)} of {place.path} of {right[0]}"
            question = f"it says {'no number' if said is None else said}: did one bit change?"
            yield Edit(bit // 8 + 1, bytes(mended[: bit // 8 + 1]), words, question, FLIPPED)


def said_at(data: Buffer, place: Place) -> tuple[int, int] | None:
    """Return (length or count, the bytes that say it); None if there is none."""
    if width := width_of(place):
        number = int_at(data, place.start, width)
        return None if number is None else (number, width)
    found = varint_at(data, place.start)
    return None if found is None else (found[0] - 1, found[1])


def likely_numbers(data: bytes, place: Place, said: int, size: int) -> Iterator[tuple[int, float]]:
    """Yield likely numbers, and how much less likely each is than another slip."""
    if place.type.endswith("records"):
        yield from ((right, 0.0) for right in batch_ends(data, place.start + size) if right != said)
    left = len(data) - place.start - size
    farthest = FARTHEST if what(place) == "count" else 1
    for by in range(1, farthest + 1):
        for right in (said - by, said + by):
            is_plus_one = not width_of(place) and right == said + 1  # that is a slip of its own
            if said >= 0 and 0 <= right <= left and not is_plus_one:
                yield right, COST + FARTHER * (by - 1)


def batch_ends(data: bytes, start: int) -> Iterator[int]:
    """Yield how many bytes a batch at `start` takes, and it with the next, and so on."""
    at = start
    for _ in range(BATCHES):
        size = int_at(data, at + SIZE_AT, 4)
        if size is None or not 0 < size <= len(data) - at - LENGTH_END:
            return
        at += size + LENGTH_END
        yield at - start
