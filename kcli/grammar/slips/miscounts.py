"""Slips in the value of lengths and counts: too high or too low, or different from the size of the batches that
follow.
"""

from __future__ import annotations

from collections.abc import Iterator

from kcli.core.codec.varints import Buffer
from kcli.core.records.batches import LENGTH_END, SIZE_AT
from kcli.grammar.slips.edits import Edit, int_at, is_sized, subject, varint_at, width_of
from kcli.grammar.slips.places import Place
from kcli.grammar.words.varints import length_bytes

BATCHES = 20  # most batches in records with a wrong or missing length
FARTHEST = 3  # most entries by which a count may be wrong
COST, FARTHER = 1.5, 1.0  # as oddness: for a difference of one, and for each more
FLIPPED = 2.5  # as oddness
MOST_BYTES = 5  # bytes of a length


def miscounted(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for a count that is too high or too low, and for a length that is off by one or does not fit its
    batches.
    """
    if not is_sized(place) or (found := said_at(data, place)) is None:
        return
    number, size = found
    for right, cost in likely_numbers(data, place, number, size):
        written = length_bytes(right, width_of(place))
        words = f"with a {subject(place)} of {place.path} of {right}"
        yield Edit(size, written, words, f"it says {number}", cost)


def flipped(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for a length or count with one wrong bit."""
    if not is_sized(place):
        return
    found = said_at(data, place)
    written, size = found or (None, MOST_BYTES)
    for bit in range(8 * size):
        mended = bytearray(data[place.start : place.start + MOST_BYTES])
        if bit >> 3 >= len(mended):
            return
        mended[bit >> 3] ^= 1 << (bit & 7)
        right = said_at(mended, place._replace(start=0))
        if right is not None and 0 <= right[0] <= len(data) - place.start - right[1]:
            words = f"with a {subject(place)} of {place.path} of {right[0]}"
            question = f"it says {'no number' if written is None else written}: did one bit change?"
            yield Edit(bit // 8 + 1, bytes(mended[: bit // 8 + 1]), words, question, FLIPPED)


def said_at(data: Buffer, place: Place) -> tuple[int, int] | None:
    """Return (length or count, its size in bytes); None if there is none."""
    if width := width_of(place):
        number = int_at(data, place.start, width)
        return None if number is None else (number, width)
    found = varint_at(data, place.start)
    return None if found is None else (found[0] - 1, found[1])


def likely_numbers(data: bytes, place: Place, written: int, size: int) -> Iterator[tuple[int, float]]:
    """Yield (likely number, its cost). said, size: the number as written, and its size in bytes."""
    if place.type.endswith("records"):
        yield from ((right, 0.0) for right in batch_ends(data, place.start + size) if right != written)
    left = len(data) - place.start - size
    farthest = FARTHEST if subject(place) == "count" else 1
    for by in range(1, farthest + 1):
        for right in (written - by, written + by):
            is_plus_one = not width_of(place) and right == written + 1  # that is a slip of its own
            if written >= 0 and 0 <= right <= left and not is_plus_one:
                yield right, COST + FARTHER * (by - 1)


def batch_ends(data: bytes, start: int) -> Iterator[int]:
    """Yield the size in bytes of the batch at `start`, then of the first two batches, and so on."""
    at = start
    for _ in range(BATCHES):
        size = int_at(data, at + SIZE_AT, 4)
        if size is None or not 0 < size <= len(data) - at - LENGTH_END:
            return
        at += size + LENGTH_END
        yield at - start
