"""Bytes from hex text: digits, hex dumps of many tools, arrays and strings of source code."""

import re

from kcli.errors import InputError
from kcli.hex_dump import dump_of, has_offsets, single_line

# Repeated groups have possessive quantifiers; others keep a state per repetition: gigabytes for a big file.
# xxd: `00000010: 0001 0011 ...  text`; hexdump -C: `00000010  00 01 ...  |text|`; tshark -x: `0010  00 01 ...   text`
COLUMNS = re.compile(r"(?:0x(?=[0-9a-fA-F]+:))?([0-9a-fA-F]{4,16})(:\s*|\s{2,}|$)(.*)")
FRAME = re.compile(r"\+[-+]+\+?|\|(?:\s+[0-9a-f])+\s*\|")
# Netty and hexyl: an offset, which hexyl can leave out, cells of digits, and narrower cells of text.
BOXED = re.compile(r"\|(?:(?:[0-9a-f]{8,}|(\*) +)\|)?((?:(?=[^|]{25})(?: +[0-9a-fA-F]{2})* *\|)+).*")
BOX = str.maketrans("┌┬┐├┼┤└┴┘─│┊", "+++++++++-||")  # turns hexyl's box into that of Netty and `--border ascii`
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Numbers in brackets, as source code, debuggers and JSON write them: what stands around them does not matter.
NUMBER = r"-?(?:0[xX]|16#|&H)?[0-9a-fA-F]{1,3}(?:u8|u|h)?(?![\w.])"
GROUP = re.compile(rf"[\[{{(<]\s*({NUMBER}(?:[\s,;]+{NUMBER})++)[\s,]*+[\]}})>]")
DIGITS = re.compile(r"(-?)(?:(0[xX]|16#|&H)|)([0-9a-fA-F]+?)(?:u8|u|h)?(?=[\s,;]|$)")
BARE_LIST = re.compile(r"-?\d{1,3}(?:[\s,]+-?\d{1,3})++[\s,]*")
ITEMS = re.compile(
    rf"(?:[ \t]*+(?:[\w.\"][\w.\" -]*+:[ \t]*|---)?\n)*+((?:[ \t]*+-[ \t]+{NUMBER}[ \t]*(?:\n\s*|$))++)"  # YAML's list
)
INDEXED = re.compile(r"[\s{]*((?:[\"\[]?\d+[\"\]]?\s*[:=]\s*-?\d{1,3}[\s,]*)++)\}?\s*")  # of a JavaScript object
PART = re.compile(r"[\"\[]?(\d+)[\"\]]?\s*[:=]\s*(-?\d{1,3})")
BUFFER = re.compile(r"<?Buffer\s+((?:[0-9a-fA-F]{2}\s*)++)>?")
# Adjacent strings of Python, C or Wireshark ("as Escaped String", whose lines end with a backslash).
STRINGS = re.compile(r"(?:[bB$]?(['\"])(?:\\.|(?!\1)[^\\\n])*+\1[\s\\+,]*+)++(\.\.\.)?")
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
BRACED = re.compile(r"\\x\{([0-9a-fA-F]{2})\}")  # Perl's escapes
CAST = re.compile(r"\(byte\)\s*|\.toByte(?:\(\))?")  # casts of Java and Kotlin for numbers above 127
DIRECTIVE = re.compile(r"^\.byte\s")  # of assemblers
COMMENT = re.compile(r"(?<!\S)(?:#|//|;|--).*")
LINES_OF_COMMENT, ANY_COMMENT = re.compile(r"^[ \t]*/\*", re.MULTILINE), re.compile(r"/\*")
FENCE = re.compile(r"^[ \t]*(?:(?:```|~~~).*|\$(?: .*)?)$", re.MULTILINE)  # of Markdown; a command at its prompt
LOGGER = re.compile(r"(?<=\S)[ \t]+\([\w.$]+\)[ \t]*$")  # what ends each line of Kafka's logs
PAIRS = re.compile(r"(?:[0-9a-fA-F]{2})++")
HEX_STRING = re.compile(r"(['\"])(?:\s*(?:0x|\\x)?[0-9a-fA-F]{2})++\s*\1")
POSTGRESQL = re.compile(r"'\\x(?:[0-9a-fA-F]{2}){4,}+'")
RUN = re.compile(
    r"(?<![\w.])(?:0x|\\x)?(?:(?:[0-9a-fA-F]{2}){8,}+|[0-9a-fA-F]{2}(?=([ :-]))(?:\1[0-9a-fA-F]{2}){7,}+)(?![\w.])"
)
PAIR_LINE = re.compile(r"(?:[0-9a-fA-F]{2}[ :-]?)++\s*")
# Pairs with one mark between them, or before each: 00.03, %00%03, &#x00;&#x03;.
MARKED = re.compile(r"[0-9a-fA-F]{2}(?:[-._|][0-9a-fA-F]{2})*+-?|(?:(?:%|&#x|&H|0x|0X|\\x)[0-9a-fA-F]{2})++")
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
    text = BRACED.sub(r"\\x\1", UNICODE.sub(r"\1x\2", text))
    for read in (dump_of, single_line):
        if (found := read(text)) is not None:
            return without_headers(found)
    for read in (list_bytes, string_bytes):
        if (found := read(text)) is not None:
            return found
    try:
        return without_headers(plain_lines(text))
    except InputError:
        if (run := run_of(text)) is None:
            raise
        return without_headers(plain_line(run, 1))


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
    if lines and all(LOGGER.search(line) for line in lines):
        text = "\n".join(LOGGER.sub("", line) for line in lines)
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


def plain_lines(text: str) -> bytes:
    """Return the bytes of lines of digits, or of a dump without offsets that grow. Raises InputError with line and
    column.
    """
    out = bytearray()
    for number, line in enumerate(text.splitlines(), 1):
        line = DIRECTIVE.sub("", COMMENT.sub("", line).strip())
        if line == "*" or ((box := BOXED.fullmatch(line)) and box[1]):
            raise InputError(
                f"line {number}: `*` stands for lines that were left out (hexdump -v, hexyl -v print them all)"
            )
        if (boxed := boxed_columns(line)) is not None:
            out += plain_line(boxed, number)
        else:
            out += columns_of(line, len(out), number)
    return bytes(out)


def columns_of(line: str, size: int, number: int) -> bytes:
    """Return the bytes of a line that may begin with an offset. size: the number of bytes before it."""
    columns = COLUMNS.fullmatch(line)
    if columns and (columns[2].startswith(":") or int(columns[1], 16) == size) and not bare(columns, size):
        return dump_line(columns[3], columns[2].startswith(":"), number)
    return plain_line(line, number)


def list_bytes(text: str) -> bytes | None:
    """Return the bytes of the only list of numbers, in the brackets of a program, a debugger, JSON or YAML; None for
    other text.
    """
    text = without_comments(text, ANY_COMMENT)
    if found := BUFFER.fullmatch(text.strip()):
        return bytes.fromhex(found[1])
    if BARE_LIST.fullmatch(text.strip()):
        return numbers_bytes(text, False)
    if (indexed := INDEXED.fullmatch(text)) and (parts := PART.findall(indexed[1]))[1:]:
        in_order = all(int(index) == at for at, (index, _) in enumerate(parts))
        return numbers_bytes(",".join(value for _, value in parts), True) if in_order else None
    if items := ITEMS.fullmatch(text):
        return numbers_bytes(re.sub(r"^[ \t]*-[ \t]", ",", items[1], flags=re.MULTILINE), True)
    groups = GROUP.findall(text := "\n".join(COMMENT.sub("", line) for line in text.splitlines()))
    return numbers_bytes(groups[0], True) if len(groups) == 1 and is_most(groups[0], text) else None


def is_most(part: str, text: str) -> bool:
    """Return whether a part is what the text is about: not a few characters among others."""
    return len(part) >= 32 or 2 * len(part) >= len(text.strip())


def numbers_bytes(text: str, in_brackets: bool) -> bytes | None:
    """Return the bytes of a list of numbers, signed or not; None for other text.

    A letter makes all of them hex, if none has a prefix. Pairs of digits without brackets are hex, and so are pairs in
    brackets if one begins with 0. Without commas, at least one number must not be a pair of digits, and none may begin
    with 0.
    """
    found = DIGITS.findall(text)
    digits = [each for _, _, each in found]
    pairs, zero = all(len(each) == 2 for each in digits), any(each[0] == "0" and len(each) > 1 for each in digits)
    plain = not any(prefix for _, prefix, _ in found)
    is_hex = plain and (not "".join(digits).isdigit() or (pairs and in_brackets and zero))
    if plain and not is_hex and ((pairs and not in_brackets) or ("," not in text and zero)):
        return None
    try:
        values = [int(sign + each, 16 if prefix or is_hex else 10) for sign, prefix, each in found]
    except ValueError:
        return None
    return bytes(each & 0xFF for each in values) if all(-128 <= each <= 255 for each in values) else None


def string_bytes(text: str) -> bytes | None:
    """Return the bytes of the only strings of source code with escapes or of hex digits, of escapes alone, or of SQL;
    None if it is none. Raises InputError for a string that was cut.
    """
    text = text.strip()
    if found := SQL.fullmatch(text):
        return bytes.fromhex(found[1])
    if ESCAPES.fullmatch(text):
        literals = None if PAIRS_OF_ESCAPES.fullmatch(text) else ['"' + BARE_QUOTE.sub(r"\1\\\"", text) + '"']
        return joined(literals) if literals else None
    groups = [(group, [each[0] for each in LITERAL.finditer(group[0])]) for group in STRINGS.finditer(text)]
    escaped = [(group, strings) for group, strings in groups if ANY_ESCAPE.search(group[0])]
    digits = [strings for _, strings in groups if all(HEX_STRING.fullmatch(each) for each in strings)]
    if len(escaped) == 1 and is_most(escaped[0][0][0], text):
        group, strings = escaped[0]
        if len(strings) == 1 and POSTGRESQL.fullmatch(strings[0]):
            return bytes.fromhex(strings[0][3:-1])
        if group[2]:
            raise InputError("not hex: the string was cut (`...` after it; strace -s 1000000 shows it whole)")
        return None if group[0].rstrip().endswith("+") else joined(strings)
    if not escaped and len(digits) == 1 and is_most("".join(digits[0]), text):
        return plain_line(" ".join(each[1:-1] for each in digits[0]), 1)
    return None


def joined(strings: list[str]) -> bytes | None:
    """Return the bytes of literals that follow each other; None if one is no literal of Python's bytes."""
    parts = [literal_bytes(each) for each in strings]
    return None if None in parts else b"".join(part for part in parts if part is not None)


def run_of(text: str) -> str | None:
    """Return the only long run of pairs of digits in other text, such as a field of tshark or a line of a log; or the
    runs in the same column of all lines, after a log's times or below a first line. None for other text.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    runs = [found[0] for line in lines for found in RUN.finditer(line)]
    if len(runs) == 1 and (len(lines) == 1 or (len(lines) == 2 and runs[0] == lines[1].strip())):
        return runs[0]
    if lines and not RUN.search(lines[0]):
        del lines[0]
    column = next((found.start() for line in lines[:1] for found in RUN.finditer(line)), -1)
    rests = [line[column:] for line in lines]
    if len(rests) > 1 and column >= 0 and all(PAIR_LINE.fullmatch(rest) for rest in rests):
        return " ".join(rests)
    return None


def literal_bytes(string: str) -> bytes | None:
    """Return the bytes of one string with its quotation marks; None if it is no literal of Python's bytes."""
    import ast

    try:
        found = ast.literal_eval("b" + string)
    except (SyntaxError, ValueError):
        return None
    assert isinstance(found, bytes)
    return found


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


def is_dump(data: bytes) -> bool:
    """Return whether text has the columns of a hex dump: lines with offsets, or with a frame around them."""
    text = without_frame(text_of(data))
    first = text.strip().partition("\n")[0].strip()
    columns = COLUMNS.fullmatch(first)
    return bool(columns and columns[2]) or boxed_columns(first) is not None or has_offsets(text)


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
        digits = token[0].removeprefix("0x").removeprefix("0X").removeprefix("\\x")
        if MARKED.fullmatch(token[0]):
            digits = re.sub(r"%|&#x|&H|0[xX]|\\x|[-._|]", "", token[0])
        if not PAIRS.fullmatch(digits):
            found = re.search(NOT_HEX, token[0])
            why = repr(found[0]) if found else f"an odd number of digits in {token[0][:20]!r}"
            column = token.start() + (found.start() if found else 0) + 1
            raise InputError(f"not hex: line {number}, column {column}: {why} (pairs of digits expected)")
        out += bytes.fromhex(digits)
    return bytes(out)
