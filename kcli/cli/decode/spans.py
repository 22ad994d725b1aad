"""`--format tree` and `hexdump`: each field with its bytes, so that a wrong one is visible."""

from collections.abc import Iterator
from typing import Any

from kcli.cli.terminal.cells import cut_start
from kcli.errors import DecodeError
from kcli.grammar.secrets import Hidden
from kcli.grammar.words.trace import FAULT, Span
from kcli.schemas.catalog import catalog

SHOWN = 8  # bytes of a field in the tree; the rest is counted
BYTES, FEW_BYTES = 28, 17  # cells of these bytes, and of half as many
ROOMY = 100  # cells of a line that has room for all
LEAST_VALUE = 16  # cells of a value, and of its path
ROW = 16  # bytes of a line in the hexdump
VALUE = 60  # characters of a value


def tree_lines(data: bytes, spans: list[Span], dialect: str | None = None, room: int | None = None) -> Iterator[str]:
    """Yield a line for each value: offset, its first bytes, path, value, type.

    room: cells of a line; a short line has fewer bytes, and a long path loses its start.
    """
    shown, longest = (SHOWN, BYTES) if room is None or room >= ROOMY else (SHOWN // 2, FEW_BYTES)
    width = max((len(span.path) for span in spans), default=0)
    if room is not None:
        width = min(width, max(room - longest - 8 - LEAST_VALUE, LEAST_VALUE))
    for span in spans:
        start, path = shown_bytes(data, span, shown), cut_start(span.path, width)
        yield f"{span.start:04x}  {start:<{longest}}  {path:<{width}}  {describe(span, dialect)}".rstrip()


def hexdump_lines(data: bytes, spans: list[Span], dialect: str | None = None) -> Iterator[str]:
    """Yield all bytes of each value, sixteen a line, with their text; path and value are beside the first."""
    for span in spans:
        label = f"{span.path}  {describe(span, dialect)}"
        for start in range(span.start, max(span.end, span.start + 1), ROW):
            row = data[start : min(start + ROW, span.end)]
            yield dump_line(row, start, label, isinstance(span.value, Hidden))
            label = ""


def failure_line(data: bytes, failure: DecodeError, hidden: bool, format_: str = "tree") -> str:
    """Return where decoding stopped, and why, in the layout of that format. hidden: the bytes there
    may be a secret's.
    """
    if format_ == "hexdump":
        row = data[failure.offset : failure.offset + ROW]
        return dump_line(row, failure.offset, f"{failure.path}  {failure.reason}", hidden)
    left = data[failure.offset : failure.offset + SHOWN]
    digits = " ".join(["**"] * len(left)) if hidden else left.hex(" ")
    return f"{failure.offset:04x}  {digits:<{BYTES}}  {failure.path}  {failure.reason}"


def dump_line(row: bytes, start: int, label: str, hidden: bool) -> str:
    digits, text = row.hex(" "), "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
    if hidden:
        digits, text = " ".join(["**"] * len(row)), "*" * len(row)
    return f"{start:08x}  {digits:<{ROW * 3 - 1}}  |{text:<{ROW}}|  {label}".rstrip()


def shown_bytes(data: bytes, span: Span, shown: int) -> str:
    size = span.end - span.start
    if isinstance(span.value, Hidden):
        return f"** +{size - 1}" if size > 1 else "**"
    text = data[span.start : min(span.end, span.start + shown)].hex(" ")
    return f"{text} +{size - shown}" if size > shown else text


def describe(span: Span, dialect: str | None) -> str:
    """Format the value for people, and its type where the value doesn't tell it."""
    if span.type == FAULT:
        return str(span.value)
    if span.type.endswith("count") or span.type in ("tag and size", "nullable struct"):
        return f"{'null' if span.value is None else span.value}"
    return f"{value_text(span.value)}{meaning(span, dialect)}  ({span.type})"


def value_text(value: Any) -> str:
    """Format a value in a few words."""
    if isinstance(value, Hidden):
        return f"({value!r})"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, str):
        text = repr(value)[1:-1]
        return f'"{text}"' if len(text) <= VALUE else f'"{text[:VALUE]}…" {len(value)} characters'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def meaning(span: Span, dialect: str | None) -> str:
    """Return the name of a number that has one."""
    name = span.path.rpartition(".")[2]
    if name == "errorCode" or name.endswith("ErrorCode"):
        return f"  {catalog(dialect).error_name(span.value)}"
    if name == "requestApiKey":
        api = catalog(dialect).api(span.value)
        return f"  {api.log_name}" if api else "  unknown"
    return ""
