"""Slips in lengths and counts; each function yields the edits that repair one kind."""

from collections.abc import Iterable, Iterator

from kcli.core.codec.varints import Buffer, write_unsigned
from kcli.core.records.batches import LENGTH_END, SIZE_AT
from kcli.grammar.slips.edits import NAMES, Edit, Slip, int_at, is_sized, subject, varint_at, width_of
from kcli.grammar.slips.places import Place
from kcli.grammar.words.varints import length_bytes
from kcli.topic_names import LONGEST_NAME

PRINTABLE = range(0x20, 0x7F)
SHORTER = 8  # lengths to try for a string without one, from all its printable bytes downwards
ENTRIES, ENTRIES_BELOW = 200, 20  # entries to try for an array without a count, at the top level and in other arrays
CHARACTERS = "does it count characters, not bytes of UTF-8?"
UNITS = "does it count units of UTF-16 (Java's length()), not bytes of UTF-8?"
BEHIND = 200  # bytes to try for other bytes without a length
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


def with_length(place: Place, kind: str) -> str:
    return f"with {'an' if kind[0] in 'aeiou' else 'a'} {kind} {subject(place)} of {place.path}"


def fits(data: Buffer, at: int, length: int) -> bool:
    """Return whether data may have this many bytes or entries at `at`."""
    return -1 <= length <= len(data) - at


def plain_for_compact(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for int16 or int32 lengths in place of a varint of length + 1."""
    if is_sized(place) and not width_of(place):
        usual = 2 if place.type.endswith("string") else 4
        for width in (usual, 6 - usual):
            length = int_at(data, place.start, width)
            if length is not None and fits(data, place.start + width, length):
                yield Edit(
                    width, length_bytes(length, 0), with_length(place, "compact"), f"was it written as {NAMES[width]}?"
                )


def compact_for_plain(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for varints of length + 1 in place of int16 or int32."""
    width = width_of(place)
    if is_sized(place) and width and (found := varint_at(data, place.start)):
        length = found[0] - 1
        if fits(data, place.start + found[1], length) and length < 1 << (width * 8 - 1):
            yield Edit(
                found[1], length_bytes(length, width), with_length(place, NAMES[width]), "was it written compact?"
            )


def other_width(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for int32 in place of int16 lengths, and the reverse."""
    width = width_of(place)
    if is_sized(place) and width:
        length = int_at(data, place.start, 6 - width)
        if length is not None and fits(data, place.start + 6 - width, length) and length < 1 << 15:
            question = f"was it written as {NAMES[6 - width]}?"
            yield Edit(6 - width, length_bytes(length, width), with_length(place, NAMES[width]), question)


def not_plus_one(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for a compact length without the + 1."""
    if is_sized(place) and not width_of(place) and (found := varint_at(data, place.start)):
        yield Edit(
            found[1],
            write_unsigned(found[0] + 1),
            f"with a {subject(place)} of {place.path} one higher",
            "was the + 1 left out?",
        )


def counts_itself(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for a length that counts its own bytes."""
    if not is_sized(place) or subject(place) == "count":
        return
    words, question = f"with a length of {place.path} that leaves itself out", "does it count its own bytes?"
    if width := width_of(place):
        length = int_at(data, place.start, width)
        if length is not None and length >= width:
            yield Edit(width, length_bytes(length - width, width), words, question)
    elif (found := varint_at(data, place.start)) and found[0] > found[1]:
        yield Edit(found[1], write_unsigned(found[0] - found[1]), words, question)


def little_endian(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for a length in little-endian order."""
    width = width_of(place)
    if is_sized(place) and width:
        length = int_at(data, place.start, width, "little")
        if length is not None and length > 0 and fits(data, place.start + width, length):
            yield Edit(
                width, length_bytes(length, width), with_length(place, "big-endian"), "was it written little endian?"
            )


def without_length(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for content without a length in front."""
    if not is_sized(place):
        return
    for length in likely_lengths(data, place):
        written, words = length_bytes(length, width_of(place)), f"with a {subject(place)} in front of {place.path}"
        yield Edit(0, written, words, "was it left out?", cost=2.0)
        end = place.start + length
        if place.type.endswith("string") and data[end : end + 1] == b"\0":
            text = data[place.start : end]
            yield Edit(length + 1, written + text, words, "does it end with a byte 0 instead?", cost=2.0)


def likely_lengths(data: bytes, place: Place) -> Iterable[int]:
    """Return likely lengths for content without one."""
    at, left = place.start, len(data) - place.start
    if subject(place) == "count":
        return range(1, (ENTRIES_BELOW if "[" in place.path else ENTRIES) + 1)
    if place.type.endswith("string"):
        text = data[at : at + LONGEST_NAME]
        run = next((i for i, byte in enumerate(text) if byte not in PRINTABLE), len(text))
        return range(run, max(0, run - SHORTER), -1)
    if place.type.endswith("records"):
        return batch_ends(data, at)
    return range(left, max(0, left - BEHIND), -1)


def length_twice(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for a length that is there twice."""
    if is_sized(place):
        found = varint_at(data, place.start)
        end = place.start + (width_of(place) or (found[1] if found else 0))
        length = data[place.start : end]
        if length and data[end : end + len(length)] == length:
            yield Edit(len(length), b"", f"with one {subject(place)} of {place.path}", "was it written twice?")


def zigzag_length(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for a compact length that is a zigzag varint."""
    if is_sized(place) and not width_of(place):
        found = varint_at(data, place.start)
        if found and found[0] > 1 and found[0] % 2 == 0:
            yield Edit(
                found[1], write_unsigned(found[0] >> 1), with_length(place, "unsigned"), "was it written as zigzag?"
            )


def counts_characters(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for a length in characters or UTF-16 units of the text instead of bytes."""
    if not place.type.endswith(("string", "bytes")):
        return
    width = width_of(place)
    found = (int_at(data, place.start, width), width) if width else varint_at(data, place.start)
    if found is None or found[0] is None:
        return
    length, start = found[0] - (not width), place.start + found[1]
    words, sizes = f"with a length of {place.path} in bytes", set[int]()
    for size, question in text_sizes(data, start, length):
        if size not in sizes and (not width or size < 1 << (width * 8 - 1)):
            sizes.add(size)
            yield Edit(found[1], length_bytes(size, width), words, question)


def text_sizes(data: Buffer, start: int, length: int) -> Iterator[tuple[int, str]]:
    """Yield (bytes, question) for the UTF-8 text at `start` whose number of characters or UTF-16 units is `length`."""
    if not 0 < length <= len(data) - start:
        return
    try:
        text = bytes(data[start : start + 4 * length]).decode()
    except UnicodeDecodeError as error:
        text = bytes(data[start : start + error.start]).decode()
    size = len(text[:length].encode())
    if len(text) >= length and size > length:
        yield size, CHARACTERS
    units = text.encode("utf-16-le")[: 2 * length]
    size = len(units.decode("utf-16-le", "ignore").encode())
    if len(units) == 2 * length and size > length:
        yield size, UNITS


def null_refused(data: bytes, place: Place) -> Iterator[Edit]:
    """Yield edits for null where none is allowed, and for the byte -1 in place of the compact null, 0."""
    if not is_sized(place):
        return
    width = width_of(place)
    if "nullable" not in place.type:
        null, empty = length_bytes(-1, width), length_bytes(0, width)
        if data[place.start : place.start + len(null)] == null:
            yield Edit(len(null), empty, f"with {place.path} empty", "was it written as null, which it can't be?")
    if not width:
        for null in (b"\xff\xff\xff\xff\x0f", b"\xff"):
            if data[place.start : place.start + len(null)] == null:
                yield Edit(len(null), b"\0", f"with {place.path} null (0)", "was it written as -1?")
                return


LENGTHS: dict[str, Slip] = {
    "non-compact": plain_for_compact,
    "compact": compact_for_plain,
    "length width": other_width,
    "no + 1": not_plus_one,
    "counts itself": counts_itself,
    "little endian": little_endian,
    "length twice": length_twice,
    "zigzag": zigzag_length,
    "null": null_refused,
    "counts characters": counts_characters,
    "no length": without_length,
    "miscounted": miscounted,
    "flipped bit": flipped,
}
