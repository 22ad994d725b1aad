"""Bytes from hex text: digits, hex dumps of many tools, arrays and strings of source code."""

import re

from kcli.errors import InputError

# Repeated groups have possessive quantifiers; others keep a state per repetition: gigabytes for a big file.
# xxd: `00000010: 0001 0011 ...  text`; hexdump -C: `00000010  00 01 ...  |text|`; tshark -x: `0010  00 01 ...   text`
COLUMNS = re.compile(r"(?:0x(?=[0-9a-fA-F]+:))?([0-9a-fA-F]{4,16})(:\s*|\s{2,}|$)(.*)")
# A line of od -tx1; -tx1z adds text behind >. Offsets are octal, or hex with -Ax, or decimal with -Ad.
OD = re.compile(r"([0-9a-fA-F]{6,})((?: +[0-9a-fA-F]{2})++)? *(>.*)?")
WORDS = re.compile(r"([0-9a-f]{7})((?: [0-9a-f]{4})++)")  # hexdump without options: little-endian words
FRAME = re.compile(r"\+[-+]+\+?|\|(?:\s+[0-9a-f])+\s*\|")
# Netty and hexyl: an offset, which hexyl can leave out, cells of digits, and narrower cells of text.
BOXED = re.compile(r"\|(?:(?:[0-9a-f]{8,}|(\*) +)\|)?((?:(?=[^|]{25})(?: +[0-9a-fA-F]{2})* *\|)+).*")
BOX = str.maketrans("┌┬┐├┼┤└┴┘─│┊", "+++++++++-||")  # turns hexyl's box into that of Netty and `--border ascii`
BORDERLESS = re.compile(r"([0-9a-f]{8}) {2}((?:[0-9a-f]{2} ){8}) {2}((?:[0-9a-f]{2}(?: |$)){1,8}).*")  # hexyl
# PowerShell's Format-Hex, versions 5 and 7: a head of columns, then the offset and up to sixteen pairs of digits.
HEAD = re.compile(r"^ *00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F *\n(?:[ -]*\n)*+(?= *0{8,16} )", re.MULTILINE)
FORMATTED = re.compile(r" *([0-9A-F]{8,16})(?: {3}| )(.{1,47}).*")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Decimal numbers: a list in source code, a debugger, Go or Erlang, or the columns of od -tu1.
LIST = re.compile(
    r"(?:[\w\[\].() ]*=\s*)?(?:[\w\[\].() ]*?(<<|[\[{(]))?\s*(-?\d{1,3}(?:[\s,]+-?\d{1,3})++)[\s,]*(?:>>|[\]})])*;?"
)
DECIMAL_OFFSETS = re.compile(r"^\d{7,}(?=\s|$)", re.MULTILINE)  # od's
# Numbers with 0x in brackets or braces, as in C, Go, Java and Rust.
ARRAY = re.compile(
    r"(?:(?!0[xX])[^\[{(])*+(?:[\[{(](?!\s*0[xX])(?:(?!0[xX])[^\[{(])*+)*+"
    r"[\[{(]\s*((?:0[xX][0-9a-fA-F]{1,2}(?:u8)?[\s,]*)++)[\]})].*",
    re.DOTALL,
)
BUFFER = re.compile(r"<?Buffer\s+((?:[0-9a-fA-F]{2}\s*)++)>?")
# Adjacent strings of Python, C or Wireshark ("as Escaped String", whose lines end with a backslash).
STRING = re.compile(
    r"(?:[\w\[\]* ]*=\s*)?(?:(?:bytearray|bytes)\s*\(\s*)?((?:[bB]?(['\"])(?:\\.|(?!\2)[^\\\n])*+\2[\s\\+]*+)++)\)?;?"
)
LITERAL = re.compile(r"(['\"])((?:\\.|(?!\1)[^\\\n])*+)\1")
# Escapes without quotation marks, with plain characters among them: pairs alone are digits with \x in front.
# C, Go and protobuf have octal ones too, Java and JSON those of Unicode.
ESCAPE = r"\\(?:x[0-9a-fA-F]{2}|[0-3][0-7]{2}|u00[0-9a-fA-F]{2})"
ESCAPES, ANY_ESCAPE = re.compile(rf"{ESCAPE}(?:\\.|[^\\\n])*+"), re.compile(ESCAPE)
UNICODE = re.compile(r"((?<!\\)(?:\\\\)*\\)u00([0-9a-fA-F]{2})")
# Also as PostgreSQL writes bytes: one \x, then digits.
PAIRS_OF_ESCAPES = re.compile(r"(?:\\x[0-9a-fA-F]{2}[\s,:;]*+)++|\\x(?:[0-9a-fA-F]{2})++")
SQL = re.compile(r"[xX]'((?:[0-9a-fA-F]{2})*+)';?")
BARE_QUOTE = re.compile(r"((?:[^\\\"]|\\.)*+)\"")
NODE_JSON = re.compile(r'\{\s*"type"\s*:\s*"Buffer"\s*,\s*"data"\s*:\s*(\[[^\]]*+\])\s*\}')
CAST = re.compile(r"\(byte\)\s*|\.toByte\(\)")  # casts of Java and Kotlin for numbers above 127
COMMENT = re.compile(r"(?<!\S)(?:#|//|;|--).*")
LINES_OF_COMMENT, ANY_COMMENT = re.compile(r"^[ \t]*/\*", re.MULTILINE), re.compile(r"/\*")
FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)  # Markdown
# The line of tcpdump above the bytes, with any of its times (-t, -tt, -ttt, -tttt) and with -e; -v adds a second line.
PACKET = re.compile(
    r"(?:\d{4}-\d\d-\d\d )?(?:\d\d:\d\d:\d\d|\d+)\.\d{3,9} \S.*|(?:IP6? |[0-9a-f]{2}(?::[0-9a-f]{2}){5} > ).*"
)
SECOND_LINE = re.compile(r"\S+ > \S+: Flags \[.*")
PAIRS = re.compile(r"(?:[0-9a-fA-F]{2})++")
NOT_HEX = r"[^0-9a-fA-FxX\\]|(?<!^0)(?<!\\)[xX]|\\(?!x)"  # no part of a word of digits, which may have 0x and \x
PACKET_LINKS = (101, 1, 113, 276, 0)  # raw IP, Ethernet, Linux cooked captures (SLL, SLL2), BSD loopback
TCP = 1  # the kind of a TCP segment in kcli.core.capture.packets
LEAST_FRAME = 60  # bytes without the checksum: Ethernet pads shorter frames


def unhex(data: bytes) -> bytes:
    """Return bytes from hex text: digits with white space, commas, colons, dashes or 0x between them, or a hex dump's
    columns.

    It also reads a list of decimal numbers, an array or string of source code, comments after #, // or --, and dumps of
    tcpdump -X, Netty, od, hexdump, hexyl and Format-Hex. Raises InputError.
    """
    text = CAST.sub("", without_frame(text_of(data)))
    if node := NODE_JSON.fullmatch(text.strip()):
        text = node[1]
    text = UNICODE.sub(r"\1x\2", text)
    for read in (decimal_bytes, array_bytes, string_bytes, formatted_bytes):
        if (found := read(text)) is not None:
            return found
    return without_headers(dumped(text))


def text_of(data: bytes) -> str:
    """Return text without colours, and with boxes in ASCII. UTF-16 needs a byte order mark, as PowerShell writes it;
    other bytes are UTF-8, or else Latin-1.
    """
    encodings = ("utf-16",) if data.startswith((b"\xff\xfe", b"\xfe\xff")) else ("utf-8-sig", "latin-1")
    for encoding in encodings:
        try:
            return COLOURS.sub("", data.decode(encoding)).translate(BOX)
        except UnicodeDecodeError:
            pass
    return data.decode("latin-1")


def without_frame(text: str) -> str:
    """Return text without its surroundings: Markdown fences, a mail's quotation marks, comments, a log above a box."""
    text = FENCE.sub("", text)
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and all(line.startswith(">") for line in lines):
        text = "\n".join(line[1:] for line in lines)
    start = next((number for number, line in enumerate(lines) if FRAME.fullmatch(line.strip())), 0)
    return without_comments("\n".join(lines[start:]) if start else text, LINES_OF_COMMENT)


def without_comments(text: str, opening: re.Pattern[str]) -> str:
    """Return text without C comments. opening: matches the start of each."""
    parts, at = list[str](), 0
    for found in opening.finditer(text):
        if found.start() >= at:
            end = text.find("*/", found.end())
            if end < 0:
                break
            parts.append(text[at : found.start()])
            at = end + 2
    return "".join([*parts, text[at:]])


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
            del out[int(line, 16) :]  # the end of word lines; an odd last byte was padded with a zero
        elif line == "*" or ((box := BOXED.fullmatch(line)) and box[1]):
            raise InputError(
                f"line {number}: `*` stands for lines that were left out (hexdump -v, hexyl -v print them all)"
            )
        elif PACKET.fullmatch(line):
            if out:
                raise InputError(f"line {number}: another packet begins (the bytes of one expected)")
        elif SECOND_LINE.fullmatch(line) and not out:
            pass
        else:
            out += columns_of(line, len(out), number)
    return bytes(out)


def columns_of(line: str, size: int, number: int) -> bytes:
    """Return the bytes of a line that may begin with an offset. size: the number of bytes before it."""
    columns = COLUMNS.fullmatch(line)
    if columns and (columns[2].startswith(":") or int(columns[1], 16) == size) and not bare(columns, size):
        return dump_line(columns[3], columns[2].startswith(":"), number)
    return plain_line(line, number)


def is_od_line(found: re.Match[str], size: int, is_od: bool) -> bool:
    """Return whether a line begins with od's offset. is_od: earlier lines did. size: the number of bytes before it."""
    offset, digits, text = found.groups()
    bases = [16, 10] if text or is_od else []
    if len(offset) > 6 and (size or digits):
        bases.append(8)
    return any(value_of(offset, base) == size for base in bases)


def value_of(digits: str, base: int) -> int | None:
    """Return the number, or None if a digit does not exist in this base."""
    try:
        return int(digits, base)
    except ValueError:
        return None


def decimal_bytes(text: str) -> bytes | None:
    """Return the bytes of a list of decimal numbers, signed or not, as debuggers print it; None for other text.

    Pairs of digits without brackets are hex, and so are pairs in brackets if one begins with 0. Without commas, at
    least one number must not be a pair of digits, and none may begin with 0.
    """
    found = LIST.fullmatch(DECIMAL_OFFSETS.sub("", text).strip())
    if found is None:
        return None
    numbers = re.findall(r"-?\d+", found[2])
    pairs, zero = all(len(each) == 2 for each in numbers), any(each[0] == "0" and len(each) > 1 for each in numbers)
    if pairs and found[1] and zero:
        return bytes.fromhex("".join(numbers))
    if (pairs and not found[1]) or ("," not in found[2] and zero):
        return None
    return bytes(int(each) & 0xFF for each in numbers) if all(-128 <= int(each) <= 255 for each in numbers) else None


def array_bytes(text: str) -> bytes | None:
    """Return the bytes of an array in source code, or of Node's `<Buffer 00 01>`; None for other text."""
    if found := BUFFER.fullmatch(text.strip()):
        return bytes.fromhex(found[1])
    found = ARRAY.fullmatch(without_comments(text, ANY_COMMENT))
    return bytes(int(each, 16) for each in re.findall(r"0[xX][0-9a-fA-F]{1,2}", found[1])) if found else None


def string_bytes(text: str) -> bytes | None:
    """Return the bytes of strings of source code with escapes, of escapes alone, or of SQL; None if it is none."""
    text = text.strip()
    if found := SQL.fullmatch(text):
        return bytes.fromhex(found[1])
    if not ANY_ESCAPE.search(text):
        return None
    if literals := STRING.fullmatch(text):
        strings = [found[0] for found in LITERAL.finditer(literals[1])]
    elif ESCAPES.fullmatch(text) and not PAIRS_OF_ESCAPES.fullmatch(text):
        strings = ['"' + BARE_QUOTE.sub(r"\1\\\"", text) + '"']
    else:
        return None
    parts = [literal_bytes(each) for each in strings]
    return None if None in parts else b"".join(part for part in parts if part is not None)


def literal_bytes(string: str) -> bytes | None:
    """Return the bytes of one string with its quotation marks; None if it is no literal of Python's bytes."""
    import ast

    try:
        found = ast.literal_eval("b" + string)
    except (SyntaxError, ValueError):
        return None
    assert isinstance(found, bytes)
    return found


def formatted_bytes(text: str) -> bytes | None:
    """Return the bytes of PowerShell's Format-Hex; None for other text. Raises InputError if lines are missing."""
    text = text.replace("\r\n", "\n")
    head = HEAD.search(text)
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
    """Return the payload of a packet that is a whole TCP segment, as tcpdump and tshark dump it; other bytes unchanged.

    The packet begins with IP (tcpdump -x, -X) or with a link layer (-xx, -XX).
    """
    from kcli.core.capture.packets import dissected

    for link in PACKET_LINKS:
        kind, _, *segment = dissected(data, link, len(data))
        if kind == TCP and not segment[-1]:
            payload, length = segment[4:6]
            if len(payload) == length and (data.endswith(payload) or len(data) == LEAST_FRAME):
                return bytes(payload)
    return data


def boxed_columns(line: str) -> str | None:
    """Return the hex digits of a line in Netty's dump (ByteBufUtil.prettyHexDump) or hexyl's, "" for a line of the
    frame, None for another line.
    """
    if FRAME.fullmatch(line.strip()):
        return ""
    found = BOXED.fullmatch(line.strip())
    return found[2].replace("|", " ") if found and not found[1] else None


def is_dump(line: bytes) -> bool:
    """Return whether a line of text has the columns of a hex dump: it begins with an offset, or has a frame around
    it.
    """
    text = text_of(line).strip()
    columns, od = COLUMNS.fullmatch(text), OD.fullmatch(text)
    has_columns = (columns and columns[2]) or (od and od[2] and is_od_line(od, 0, False)) or WORDS.fullmatch(text)
    return bool(has_columns) or boxed_columns(text) is not None


def bare(columns: re.Match[str], size: int) -> bool:
    """Return whether a line that may be an offset is data. It is the dump's last offset if it has no more columns, has
    at least seven digits, and bytes came before.
    """
    return not columns[3] and not columns[2].startswith(":") and not (size and len(columns[1]) >= 7)


def dump_line(text: str, colon: bool, number: int) -> bytes:
    """Return the bytes of a dump's line. Its text column follows two spaces in xxd, a bar in hexdump, three spaces in
    tshark.
    """
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
        if re.fullmatch(r"[0-9a-fA-F]{2}(?:-[0-9a-fA-F]{2})*+-?", digits):
            digits = digits.replace("-", "")
        if not PAIRS.fullmatch(digits):
            found = re.search(NOT_HEX, token[0])
            why = repr(found[0]) if found else f"an odd number of digits in {token[0][:20]!r}"
            column = token.start() + (found.start() if found else 0) + 1
            raise InputError(f"not hex: line {number}, column {column}: {why} (pairs of digits expected)")
        out += bytes.fromhex(digits)
    return bytes(out)
