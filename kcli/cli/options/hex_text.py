"""Bytes from hex text as people have it: digits, hex dumps of many tools, arrays and strings of source code."""

from __future__ import annotations

import re
import struct

from kcli.errors import InputError

# xxd: `00000010: 0001 0011 ...  text`; hexdump -C: `00000010  00 01 ...  |text|`; tshark -x: `0010  00 01 ...   text`
COLUMNS = re.compile(r"(?:0x(?=[0-9a-fA-F]+:))?([0-9a-fA-F]{4,16})(:\s*|\s{2,}|$)(.*)")
# A line of od -tx1, with -tx1z text behind >; its offsets are octal, with -Ax hex, with -Ad decimal.
OD = re.compile(r"([0-9a-fA-F]{6,})((?: +[0-9a-fA-F]{2})+)? *(>.*)?")
WORDS = re.compile(r"([0-9a-f]{7})((?: [0-9a-f]{4})+)")  # of hexdump alone: words of a little-endian machine
FRAME = re.compile(r"\+[-+]+\+?|\|(?:\s+[0-9a-f])+\s*\|")
# Of Netty and hexyl: an offset, which hexyl can leave out, cells of digits, cells of text, which are narrower.
BOXED = re.compile(r"\|(?:(?:[0-9a-f]{8,}|(\*) +)\|)?((?:(?=[^|]{25})(?: +[0-9a-fA-F]{2})* *\|)+).*")
BOX = str.maketrans("┌┬┐├┼┤└┴┘─│┊", "+++++++++-||")  # of hexyl, as Netty and `hexyl --border ascii` have it
BORDERLESS = re.compile(r"([0-9a-f]{8}) {2}((?:[0-9a-f]{2} ){8}) {2}((?:[0-9a-f]{2}(?: |$)){1,8}).*")  # of hexyl
# PowerShell's Format-Hex, of 5 and of 7: a head of columns, then offset and sixteen pairs of digits or room for them.
HEAD = re.compile(r"(?:.*\n)*? *00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F *\n(?:[ -]*\n)*(?= *0{8,16} )")
FORMATTED = re.compile(r" *([0-9A-F]{8,16})(?: {3}| )(.{1,47}).*")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
LIST = re.compile(
    r"(?:[\w\[\]<> ]*=\s*)?(?:[\w\[\] ]*(?:\(\d+\) )?([\[{(]))?((?:\s*-?\d{1,3}\s*,)+\s*-?\d{1,3}\s*,?\s*)[\]})]*;?"
)
# 0x in brackets or braces, as C, Go, Java and Rust have it; `<Buffer 00 01>` of Node.
ARRAY = re.compile(
    r"[^\[{(]*(?:\[[\w; ]*\][^\[{(]*)?[\[{(]\s*((?:0[xX][0-9a-fA-F]{1,2}(?:u8)?[\s,]*)+)[\]})].*", re.DOTALL
)
BUFFER = re.compile(r"<?Buffer\s+((?:[0-9a-fA-F]{2}\s*)+)>?")
STRING = re.compile(r"[bB]?(['\"])(?:\\.|(?!\1)[^\\\n])*\1")  # of Python or C
COMMENT = re.compile(r"(?<!\S)(?:#|//|;|--).*")
PACKET = re.compile(r"\d\d:\d\d:\d\d\.\d+ \S.*")  # the line of tcpdump above the bytes
PAIRS = re.compile(r"(?:[0-9a-fA-F]{2})+")
NOT_HEX = r"[^0-9a-fA-FxX\\]|(?<!^0)(?<!\\)[xX]|\\(?!x)"  # of a word of digits: 0x and \x may stand there
IP4, TCP = 0x45, 6  # a header of IP without options begins so; its protocol


def unhex(data: bytes) -> bytes:
    """Return bytes from hex text: digits with white space, commas, colons, dashes or 0x between them, or a hex dump's
    columns.

    Also as people have them: a list of decimal numbers, an array or string of source code, comments after #, // or --,
    dumps of tcpdump -X, Netty, od, hexdump, hexyl and Format-Hex. Raises InputError.
    """
    text = text_of(data)
    for read in (decimal_bytes, array_bytes, string_bytes, formatted_bytes):
        if (found := read(text)) is not None:
            return found
    return without_headers(dumped(text))


def text_of(data: bytes) -> str:
    """Return text without colours and with ASCII boxes. It may be UTF-16, as PowerShell writes it, or of any code."""
    encodings = ("utf-16",) if data.startswith((b"\xff\xfe", b"\xfe\xff")) else ("utf-8-sig", "latin-1")
    for encoding in encodings:
        try:
            return COLOURS.sub("", data.decode(encoding)).translate(BOX)
        except UnicodeDecodeError:
            pass
    return data.decode("latin-1")


def dumped(text: str) -> bytes:
    """Return the bytes of lines of digits or of a dump. Raises InputError with line and column."""
    out = bytearray()
    is_od = False
    for number, line in enumerate(text.splitlines(), 1):
        line = COMMENT.sub("", line).strip()
        if (boxed := boxed_columns(line)) is not None:
            out += plain_line(boxed, number)
        elif (found := BORDERLESS.fullmatch(line)) and int(found[1], 16) == len(out):
            out += plain_line(found[2] + found[3], number)
        elif (od := OD.fullmatch(line)) and is_od_line(od, len(out), is_od):
            is_od = True
            out += plain_line(od[2] or "", number)
        elif (words := WORDS.fullmatch(line)) and int(words[1], 16) == len(out):
            out += b"".join(bytes.fromhex(word)[::-1] for word in words[2].split())
        elif re.fullmatch(r"[0-9a-f]{7}", line) and len(out) - int(line, 16) in (0, 1):
            del out[int(line, 16) :]  # the end of such words, an odd byte of which has a zero beside it
        elif line == "*" or ((box := BOXED.fullmatch(line)) and box[1]):
            raise InputError(
                f"line {number}: `*` stands for lines that were left out (hexdump -v, hexyl -v print them all)"
            )
        elif PACKET.fullmatch(line):
            if out:
                raise InputError(f"line {number}: another packet begins (the bytes of one expected)")
        else:
            out += columns_of(line, len(out), number)
    return bytes(out)


def columns_of(line: str, size: int, number: int) -> bytes:
    """Return the bytes of a line that may have an offset in front. size: bytes before it."""
    columns = COLUMNS.fullmatch(line)
    if columns and (columns[2].startswith(":") or int(columns[1], 16) == size) and not bare(columns, size):
        return dump_line(columns[3], columns[2].startswith(":"), number)
    return plain_line(line, number)


def is_od_line(found: re.Match[str], size: int, is_od: bool) -> bool:
    """Return whether a line begins with an offset, as od writes it. is_od: lines before did. size: bytes of these."""
    offset, digits, text = found.groups()
    bases = [16, 10] if text or is_od else []
    if len(offset) > 6 and (size or digits):
        bases.append(8)
    return any(value_of(offset, base) == size for base in bases)


def value_of(digits: str, base: int) -> int | None:
    """Return the number, None where the base lacks a digit."""
    try:
        return int(digits, base)
    except ValueError:
        return None


def decimal_bytes(text: str) -> bytes | None:
    """Return the bytes of a list of decimal numbers, signed or not, as debuggers print it; None if it is none.

    Pairs of digits alone are hex, unless brackets are around them, and then unless one begins with 0.
    """
    found = LIST.fullmatch(text.strip())
    if found is None:
        return None
    numbers = re.findall(r"-?\d+", found[2])
    as_hex = all(len(each) == 2 for each in numbers) and (not found[1] or any(each[0] == "0" for each in numbers))
    if as_hex and found[1]:
        return bytes.fromhex("".join(numbers))
    if as_hex or not all(-128 <= int(each) <= 255 for each in numbers):
        return None
    return bytes(int(each) & 0xFF for each in numbers)


def array_bytes(text: str) -> bytes | None:
    """Return the bytes of an array of source code, or of a Buffer as Node prints it; None if it is none."""
    if found := BUFFER.fullmatch(text.strip()):
        return bytes.fromhex(found[1])
    found = ARRAY.fullmatch(text)
    return bytes(int(each, 16) for each in re.findall(r"0[xX][0-9a-fA-F]{1,2}", found[1])) if found else None


def string_bytes(text: str) -> bytes | None:
    """Return the bytes of a string of source code with escapes; None if it is none."""
    import ast

    text = text.strip()
    if "\\x" not in text or not STRING.fullmatch(text):
        return None
    try:
        found = ast.literal_eval("b" + text.lstrip("bB"))
    except (SyntaxError, ValueError):
        return None
    assert isinstance(found, bytes)
    return found


def formatted_bytes(text: str) -> bytes | None:
    """Return the bytes of PowerShell's Format-Hex; None if it is none. Raises InputError for lines that are missing."""
    text = text.replace("\r\n", "\n")
    head = HEAD.match(text)
    if head is None:
        return None
    out = bytearray()
    for number, line in enumerate(text[head.end() :].splitlines(), text.count("\n", 0, head.end()) + 1):
        if not line.strip():
            continue
        found = FORMATTED.fullmatch(line)
        if found is None or int(found[1], 16) != len(out):
            raise InputError(f"not hex: line {number}: no line of Format-Hex at offset {len(out):X}")
        out += plain_line(found[2], number)
    return bytes(out)


def without_headers(data: bytes) -> bytes:
    """Return the payload of a whole segment of TCP on IPv4, as tcpdump -x dumps it; other bytes as they are."""
    if len(data) < 40 or data[0] != IP4 or data[9] != TCP or struct.unpack_from(">H", data, 2)[0] != len(data):
        return data
    return data[20 + (data[32] >> 4) * 4 :]


def boxed_columns(line: str) -> str | None:
    """Return the hex digits of a line of Netty's dump (ByteBufUtil.prettyHexDump) or hexyl's, "" of its frame;
    None if it is none.
    """
    if FRAME.fullmatch(line.strip()):
        return ""
    found = BOXED.fullmatch(line.strip())
    return found[2].replace("|", " ") if found and not found[1] else None


def is_dump(line: bytes) -> bool:
    """Return whether a line of text has the columns of a hex dump: an offset in front, or a frame around it."""
    text = text_of(line).strip()
    columns, od = COLUMNS.fullmatch(text), OD.fullmatch(text)
    has_columns = (columns and columns[2]) or (od and od[2] and is_od_line(od, 0, False)) or WORDS.fullmatch(text)
    return bool(has_columns) or boxed_columns(text) is not None


def bare(columns: re.Match[str], size: int) -> bool:
    """Return whether a line of digits alone is data: unless it can only be the last offset of a dump."""
    return not columns[3] and not columns[2].startswith(":") and not (size and len(columns[1]) >= 7)


def dump_line(text: str, colon: bool, number: int) -> bytes:
    """Return the bytes of a dump's line: text follows two spaces in xxd, a bar in hexdump, three spaces in tshark."""
    if "|" in text:
        text = text[: text.index("|")]
    elif colon:
        text = re.split(r"\s{2,}", text, maxsplit=1)[0]
    else:
        text = re.split(r"\s{3,}", text, maxsplit=1)[0]
    return plain_line(text, number)


def plain_line(text: str, number: int) -> bytes:
    """Return the bytes of a line of digits, with white space, commas, dashes or 0x between them.

    Raises InputError with line and column.
    """
    out = bytearray()
    for token in re.finditer(r"[^\s,:;]+", text):
        digits = token[0].removeprefix("0x").removeprefix("0X").replace("\\x", "")
        if re.fullmatch(r"[0-9a-fA-F]{2}(?:-[0-9a-fA-F]{2})*-?", digits):
            digits = digits.replace("-", "")
        if not PAIRS.fullmatch(digits):
            found = re.search(NOT_HEX, token[0])
            why = repr(found[0]) if found else f"an odd number of digits in {token[0][:20]!r}"
            column = token.start() + (found.start() if found else 0) + 1
            raise InputError(f"not hex: line {number}, column {column}: {why} (pairs of digits expected)")
        out += bytes.fromhex(digits)
    return bytes(out)
