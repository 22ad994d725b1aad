"""Reads and writes Java's `.properties` text, in the syntax of `java.util.Properties.load`."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from kcli.errors import InputError
from kcli.small_files import read_small

WHITE = " \t\f"
NUMBER = re.compile(r"[+-]?\d{1,40}")
NO_FILE = "a folder, a pipe or a device (a file expected)"
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield (key, value, line number from 1) in order. A key may come twice: in Java, the last one counts.

    Raises InputError for a broken `\\u` escape.
    """
    for line, number in logical_lines(text):
        end = key_end(line)
        rest = line[end:].lstrip(WHITE)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(WHITE)
        yield unescape(line[:end], number), unescape(rest, number), number


def logical_lines(text: str) -> Iterator[tuple[str, int]]:
    """Yield (line, number) without comments and blank lines. A line that ends in an odd number of backslashes continues
    in the next.
    """
    parts: list[str] = []
    first = 0
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = raw.lstrip(WHITE)
        if not parts:
            if not line or line[0] in "#!":
                continue
            first = number
        slashes = len(line) - len(line.rstrip("\\"))
        parts.append(line[:-1] if slashes % 2 else line)
        if not slashes % 2:
            yield "".join(parts), first
            parts = []
    if parts:
        yield "".join(parts), first


def key_end(line: str) -> int:
    position = 0
    while position < len(line) and line[position] not in WHITE + "=:":
        position += 2 if line[position] == "\\" else 1
    return min(position, len(line))


def read_properties(path: Path) -> dict[str, str]:
    """Read a properties file as a dict, empty if the file does not exist. Raises InputError with the file's name if its
    text is invalid or too long, or the path is not a file.

    White space behind a value is part of it, as in Java, and the encoding is Latin-1.
    """
    if not path.is_file():
        if path.exists():
            raise InputError(NO_FILE, file=str(path))
        return {}
    return {name: value for name, value, _ in parse_file(path)}


def parse_file(path: Path) -> Iterator[tuple[str, str, int]]:
    """Yield (key, value, line number) of a file as `parse` does. Raises OSError, or InputError with the file's name."""
    try:
        yield from parse(read_small(path, "latin-1"))
    except InputError as error:
        raise error.within(str(path)) from None


def number_of(text: str) -> int:
    """Return the number that Java's `parseInt` reads: digits with a sign and nothing else. Raises ValueError."""
    if not NUMBER.fullmatch(text):
        raise ValueError("a whole number expected")
    return int(text)


def java_text(value: object) -> str:
    """Format a value as Java does: True as "true"."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def properties_text(properties: Mapping[str, object]) -> str:
    """Return the text of a properties file, as `read_properties` and Java read it."""
    return "#\n" + "".join(f"{escaped(name, ' ')}={escaped(str(value))}\n" for name, value in properties.items())


def escaped(text: str, white: str = "") -> str:
    """Escape a name or value for a properties file. white: white space that is escaped anywhere, not only in front."""
    text = re.sub(rf"^ |[\\=:#!{white}]", r"\\\g<0>", text)
    return re.sub("[^ -~]+", lambda found: code_units(found[0]), text)


def code_units(text: str) -> str:
    return re.sub("....", r"\\u\g<0>", text.encode("utf-16-be", "surrogatepass").hex())


def unescape(text: str, number: int) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    position = 0
    while position < len(text):
        if text[position] != "\\":
            out.append(text[position])
            position += 1
            continue
        letter = text[position + 1 : position + 2]
        if letter == "u":
            out.append(unicode_escape(text[position + 2 : position + 6], number))
            position += 6
            continue
        out.append(ESCAPES.get(letter, letter))
        position += 2
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def unicode_escape(digits: str, number: int) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{4}", digits):
        raise InputError(f"line {number}: \\u{digits}: four hexadecimal digits expected after \\u")
    return chr(int(digits, 16))
