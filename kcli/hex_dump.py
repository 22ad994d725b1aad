"""Bytes of a dump whose lines have offsets, by any tool: hex, octal, decimal or binary numbers, or characters."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import islice
from typing import NamedTuple

from kcli.errors import InputError

# An offset, also one of WinDbg, of gdb with its symbol, of 010 Editor; a log's words may stand before it.
OFFSET = re.compile(
    r"(?<![\w.])(?:0x)?([0-9a-fA-F]{4,16}|[0-9a-f]{8}`[0-9a-f]{8})h?(?: <[^>\s]*>)?(?:([:|\]])|(?=\s|$))"
)
PAIR = re.compile(r"[\s|-]*+(?:0x)?([0-9a-fA-F]{2})")
TOKEN = re.compile(r"[^\s|-][^\s|]*")
STAR = re.compile(r"(?:^|[\s|])\*(?=[\s|]|$)")
BEFORE_TEXT = re.compile(r"\s{2}|\s*[|>#*]|\s*$")
OCTAL_DIGITS = {1: 3, 2: 6, 4: 11, 8: 22}
SIZES = (1, 2, 4, 8)
PITCHES = {4: 1, 5: 1, 6: 2, 7: 2, 8: 2, 11: 4, 12: 4, 21: 8}  # columns of a decimal number of od and hexdump
WIDEST, LONGEST = 4096, 100 << 20  # bytes of a line; of a dump whose equal lines were left out
WORDS, TRIED = 12, 64  # words of a line that may be its offset; lines that tell how a dump is written
MISSES = 100  # lines whose numbers follow each other, and that are no dump
TEXT_LINES, LONG_LINE = 8, 320  # lines around a dump of one line; columns where an offset may stand
CELL = 4  # columns of a character in `od -c`
ESCAPES = {"\\0": 0, "\\a": 7, "\\b": 8, "\\t": 9, "\\n": 10, "\\v": 11, "\\f": 12, "\\r": 13}

Read = Callable[[str, int], bytes | None]  # returns the first bytes of a line, or None if it has fewer


class Row(NamedTuple):
    """A line of a dump from its offset on. mark: what follows the offset (":", "|", "]", or nothing)."""

    number: int
    column: int
    offset: str
    mark: str
    rest: str

    def is_bare(self) -> bool:
        """Return whether nothing follows the offset: the dump's end."""
        return not self.rest.strip(" |")


class Scale(NamedTuple):
    """The first offset of a dump, the bytes of a whole line, and the base of the offsets."""

    start: int
    width: int
    base: int

    def value(self, row: Row) -> int:
        """Return the offset of a line, -1 if it is none in this base."""
        found = value_of(row.offset, self.base)
        return -1 if found is None else found


class Dump(NamedTuple):
    """The lines of a dump with their offsets. end: of the data, if the dump has it; after: lines after the dump."""

    rows: list[tuple[int, Row]]
    end: int | None
    star: int
    after: list[tuple[int, str]]


def dump_of(text: str) -> bytes | None:
    """Return the bytes of a dump, whose offsets grow by the bytes of each line; None for other text.

    Equal lines that were left out (`*`) are put back. Raises InputError if lines are missing.
    """
    found = readable(text)
    if found is None:
        return None
    dump, scale, read = found
    refuse_more(dump, scale)
    return bytes_of(dump, scale.width, read)


def has_offsets(text: str) -> bool:
    """Return whether text has lines of a dump."""
    return readable(text) is not None


def readable(text: str) -> tuple[Dump, Scale, Read] | None:
    """Return the first dump, of as many lines as can be, with what reads its first lines; None for other text."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    misses = 0
    for at in range(len(lines) - 1):
        most, found = 0, None
        if misses > MISSES:
            break
        for first in rows_of(*lines[at]):
            for scale in () if first.is_bare() else scales(lines, at, first):
                few = collected(first, lines[at + 1 : at + TRIED], scale)
                if len(few.rows) > most and (read := reader_of(few, scale)):
                    most, found = len(few.rows), (first, scale, read)
                else:
                    misses += len(few.rows) > 2
        if found:
            first, scale, read = found
            return collected(first, lines[at + 1 :], scale), scale, read
    return None


def rows_of(number: int, line: str) -> Iterator[Row]:
    """Yield what a line is from each of its words on that may be an offset."""
    line = line.expandtabs()
    for found in islice(OFFSET.finditer(line, 0, LONG_LINE), WORDS):
        yield Row(number, found.start(), found[1], found[2] or "", line[found.end() :])


def scales(lines: list[tuple[int, str]], at: int, first: Row) -> Iterator[Scale]:
    """Yield the possible scales of offsets. The offset of the next line gives the number of bytes in the first. An
    offset other than 0 begins a line. A line followed by omitted equal lines has sixteen bytes, unless its offset is
    octal.
    """
    number, line = lines[at + 1]
    for base in (16, 8, 10):
        start = value_of(first.offset, base)
        if start is None or (start and lines[at][1][: first.column].strip(" |+-")):
            continue
        if STAR.search(line) and base == 16 and (first.mark or len(first.offset) >= 8):
            yield Scale(start, 16, base)
        for row in rows_of(number, line):
            value = value_of(row.offset, base)
            if value is not None and 0 < value - start <= WIDEST:
                yield Scale(start, value - start, base)


def value_of(digits: str, base: int) -> int | None:
    """Return the number, or None if a digit does not exist in this base."""
    try:
        return int(digits.replace("`", ""), base)
    except ValueError:
        return None


def collected(first: Row, lines: list[tuple[int, str]], scale: Scale) -> Dump:
    """Return the lines whose offsets follow each other."""
    rows, star, expected = [(0, first)], 0, scale.start + scale.width
    for at, (number, line) in enumerate(lines):
        for row in sorted(rows_of(number, line), key=lambda row: row.column != first.column):
            value = scale.value(row)
            if row.is_bare() and expected - scale.width < value and (value <= expected or star):
                return Dump(rows, value - scale.start, 0, lines[at + 1 :])
            left_out = value - expected if star else 0
            if not row.is_bare() and value == expected + left_out and left_out >= 0 and left_out % scale.width == 0:
                rows.append((value - scale.start, row))
                expected, star = value + scale.width, 0
                break
        else:
            if not STAR.search(line):
                return Dump(rows, None, star, lines[at:])
            star = number
    return Dump(rows, None, star, [])


def reader_of(dump: Dump, scale: Scale) -> Read | None:
    """Return the function that reads the numbers of all of a dump's lines; None if there is none.

    Numbers of several bytes are big-endian in xxd and tcpdump, and little-endian in od and hexdump. If the dump also
    has the bytes as text, the text decides.
    """
    first, width = dump.rows[0][1], min(scale.width, dump.end or scale.width)
    ends = [at for at, _ in dump.rows[1:]] + ([] if dump.end is None else [dump.end])
    counts = [(row, min(width, end - at)) for (at, row), end in zip(dump.rows, ends, strict=False)]
    tokens = TOKEN.findall(first.rest) or [""]
    readers: list[Read] = []
    if re.fullmatch(r"[01]{8}", tokens[min(width, len(tokens)) - 1]):
        readers.append(partial(numbers, size=1, base=2, digits=8))
    if is_whole(first.rest, width):
        readers.append(pairs)
    size = len(tokens[0]) // 2
    if size in SIZES[1:] and is_whole(first.rest, -(-width // size) * size):
        is_word = not first.mark and len(first.offset) in (6, 7)
        readers.insert(0 if is_word else len(readers), partial(numbers, size=size, base=16, digits=2 * size))
    if (size := -(-width // len(tokens))) in SIZES:
        readers.append(partial(numbers, size=size, base=8, digits=OCTAL_DIGITS[size]))
        if size == decimal_size(first):
            readers.append(partial(numbers, size=size, base=10, digits=0))
    if len(first.offset) == 7:
        readers.append(characters)
    able = [read for read in readers if all(read(row.rest, count) is not None for row, count in counts)]
    lines = [(row.rest, count) for row, count in counts] if len(able) > 1 else []
    told = [read for read in able if fits_text(lines, read, dotted)]
    return next(iter(told or able), None)


def decimal_size(row: Row) -> int:
    """Return the bytes of a decimal number by its columns in od and hexdump; 1 in a debugger."""
    found = [0, *(each.end() for each in islice(re.finditer(r"\S+", row.rest), 2))]
    return 1 if row.mark else PITCHES.get(found[-1] - found[-2], 0)


def is_whole(text: str, width: int) -> bool:
    """Return whether a line has just so many pairs of digits, before its text or its end."""
    end = end_of_pairs(text, width)
    if end is None:
        return False
    after, data = text[end:], (pairs(text, width) or b"").decode("latin-1")
    return bool(BEFORE_TEXT.match(after)) or len(after) == width + 1 or letters(after) == letters(data)


def letters(text: str) -> str:
    """Return the letters and digits of ASCII, of which every tool's text column shows the same."""
    return re.sub(r"[^0-9A-Za-z]+", "", text)


def dotted(text: str) -> str:
    """Return text with dots instead of all but letters and digits of ASCII, and none at its end."""
    return re.sub(r"[^0-9A-Za-z]", ".", text.lstrip(" |>")).rstrip(".")


def fits_text(lines: list[tuple[str, int]], read: Read, form: Callable[[str], str]) -> bool:
    """Return whether the text beside so many numbers of each line is that of the bytes, in a form for comparison."""
    shown, of_bytes = list[str](), list[str]()
    for line, count in lines:
        end, data = end_of_pairs(line, count), read(line, count)
        if end is None or data is None:
            return False
        shown.append(form(line[end:]))
        of_bytes.append(form(data.decode("latin-1")))
    return any(shown) and shown == of_bytes


def end_of_pairs(text: str, count: int) -> int | None:
    """Return where so many pairs of digits end, at the end of a word; None if a line has fewer."""
    found = so_many_pairs(count).match(text)
    return found.end() if found else None


@lru_cache(64)
def so_many_pairs(count: int) -> re.Pattern[str]:
    """Return the pattern of so many pairs of digits."""
    return re.compile(rf"(?:[\s|-]*+(?:0x)?[0-9a-fA-F]{{2}}){{{count}}}+(?!\w)")


def pairs(text: str, count: int) -> bytes | None:
    """Return the bytes of a line's first pairs of hex digits."""
    end = end_of_pairs(text, count)
    return None if end is None else bytes.fromhex(re.sub(r"0x|[\s|-]", "", text[:end]))


def numbers(text: str, count: int, *, size: int, base: int, digits: int) -> bytes | None:
    """Return the bytes of a line's first numbers, each with its last byte first. digits: those of each (0: any)."""
    out = bytearray()
    for token in TOKEN.findall(text)[: -(-count // size)] if base != 10 else re.findall(r"\S+", text):
        part = len(token) // 2 if base == 16 and len(token) < digits else size  # xxd -e: the last is shorter
        if (digits and len(token) != digits and part == size) or (size == 1 and base == 10 and re.match("-?0.", token)):
            return None
        value = value_of(token, base) if re.fullmatch(r"-?[0-9a-fA-F]+", token) else None
        if value is None or not -(1 << (8 * size - 1)) <= value < 1 << 8 * size:
            return None
        out += (value & (1 << 8 * part) - 1).to_bytes(part, "little")
    return bytes(out[:count]) if 0 <= len(out) - count < size else None


def characters(text: str, count: int) -> bytes | None:
    """Return the bytes of a line of `od -c` or `hexdump -c`: a character, escape or octal number in four columns."""
    out = bytearray()
    for at in range(0, count * CELL, CELL):
        cell = text[at : at + CELL].ljust(CELL)[1:].lstrip(" ") or " "
        if cell in ESCAPES:
            out.append(ESCAPES[cell])
        elif re.fullmatch(r"[0-3][0-7]{2}", cell):
            out.append(int(cell, 8))
        elif len(cell) == 1 and cell.isascii() and not text[at : at + 1].strip():
            out.append(ord(cell))
        else:
            return None
    return bytes(out) if len(text) >= count * CELL and not text[count * CELL :].strip() else None


def single_line(text: str) -> bytes | None:
    """Return the bytes of a dump of one line, which shows them as numbers after an offset, and then as text; None for
    other text.
    """
    lines, found = text.splitlines(), list[bytes]()
    for number, line in enumerate(lines if len(lines) <= TEXT_LINES else [], 1):
        rows = [row for row in rows_of(number, line) if not row.is_bare()]
        for row in rows if len(rows) == 1 else [row for row in rows if not int(row.offset.replace("`", ""), 16)][:4]:
            if (data := beside_text(row.rest[:LONG_LINE])) is not None:
                found.append(data)
                break
    return found[0] if len(found) == 1 else None


def beside_text(line: str) -> bytes | None:
    """Return the bytes that a line shows as numbers, and then as text; None for another line."""
    words = (partial(numbers, size=size, base=16, digits=2 * size) for size in (4, 2))
    readers: list[Read] = [pairs, *words]
    most = next((count for count in range(len(line) // 2, 0, -1) if end_of_pairs(line, count)), 0)
    found = [
        (count, read) for count in range(most, 0, -1) for read in readers if fits_text([(line, count)], read, letters)
    ]
    exact = [each for each in found if fits_text([(line, each[0])], each[1], dotted)]
    for count, read in (exact or found)[:1]:
        return read(line, count)
    return None


def refuse_more(dump: Dump, scale: Scale) -> None:
    """Raise InputError if a line of this dump follows with another offset than the next, or another dump."""
    first, expected = dump.rows[0][1], scale.start + dump.rows[-1][0] + scale.width
    for number, line in dump.after:
        for row in rows_of(number, line):
            if row.column == first.column and row.offset != first.offset and PAIR.match(row.rest):
                form = {16: "x", 8: "o", 10: "d"}[scale.base]
                raise InputError(f"line {number}: offset {row.offset} ({expected:0{len(row.offset)}{form}} expected)")
        if any(row.column == first.column and row.offset == first.offset for row in rows_of(number, line)):
            break
    if dump.after and has_offsets("\n".join(line for _, line in dump.after)):
        raise InputError(f"line {dump.after[0][0]}: another packet begins (the bytes of one expected)")


def bytes_of(dump: Dump, width: int, read: Read) -> bytes:
    """Return the bytes of a dump's lines. Raises InputError."""
    out, ends = bytearray(), [at for at, _ in dump.rows[1:]]
    if dump.end is not None:
        ends.append(dump.end)
    for (at, row), end in zip(dump.rows, ends, strict=False):
        data = read(row.rest, min(width, end - at))
        if data is None:
            raise InputError(f"not hex: line {row.number}: {min(width, end - at)} bytes expected after {row.offset}")
        if end - at > width and end > LONGEST:
            raise InputError(f"line {row.number + 1}: `*` stands for {end - at:,} bytes (at most {LONGEST:,} expected)")
        out += (data * -(-(end - at) // width))[: end - at]
    if dump.star:
        raise InputError(
            f"line {dump.star}: `*` stands for lines that were left out, and no offset after it says how many"
        )
    return bytes(out) if dump.end is not None else bytes(out + last_row(dump.rows[-1][1], dump.rows[0][1], width, read))


def last_row(row: Row, first: Row, width: int, read: Read) -> bytes:
    """Return the bytes of a line that no offset follows: its numbers stand in the columns where the first line has
    numbers. Raises InputError.
    """
    text = row.rest[: end_of_pairs(first.rest, width)] if read is not characters else row.rest
    for count in range(width, 0, -1):
        if (data := read(text, count)) is not None:
            return data
    raise InputError(f"not hex: line {row.number}: pairs of digits expected after {row.offset}")
