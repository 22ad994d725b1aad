"""What commands read: files or standard input, raw or as hex or base64 text; and the options that say so."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from kcli.cli.options.file_type import name_of, refuse_others
from kcli.cli.options.pipes import without_pipes
from kcli.counting import counted
from kcli.errors import InputError, UsageError

Command = TypeVar("Command", bound=Callable[..., Any])

# xxd: `00000010: 0001 0011 ...  text`; hexdump -C: `00000010  00 01 ...  |text|`; tshark -x: `0010  00 01 ...   text`
COLUMNS = re.compile(r"(?:0x(?=[0-9a-fA-F]+:))?([0-9a-fA-F]{4,16})(:\s*|\s{2,}|$)(.*)")
SYNONYMS = {"text": "table", "table": "text", "jsonl": "json"}
MOST_BYTES = 1 << 62
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
OCTAL = re.compile(r"([0-7]{7,})((?: +[0-9a-fA-F]{2})+)? *(?:>.*)?")  # a line of od -tx1, with -tx1z text behind >
FRAME = re.compile(r"\+[-+]+\+?|\|(?:\s+[0-9a-f])+\s*\|")
BOXED = re.compile(r"\|[0-9a-f]{8,}\|((?:\s+[0-9a-fA-F]{2})*)\s*\|.*")
LIST = re.compile(r"(?:[\w\[\]<> ]*=\s*)?(?:[\w\[\] ]*([\[{(]))?((?:\s*-?\d{1,3}\s*,)+\s*-?\d{1,3}\s*,?\s*)[\]})]*;?")
COMMENT = re.compile(r"(?<!\S)(?:#|//|;).*|^\s*--.*")
PAIRS = re.compile(r"(?:[0-9a-fA-F]{2})+")
# For errors, and compiled there.
NOT_HEX = r"[^0-9a-fA-FxX\\]|(?<!^0)(?<!\\)[xX]|\\(?!x)"  # of a word of digits: 0x and \x may stand there
NOT_BASE64 = rb"[^A-Za-z0-9+/=]|=(?=[^=])"


class Size(click.ParamType):  # type: ignore[type-arg]
    """Bytes, also as 128k, 1M, 2GiB (powers of 1024). least: fewer are refused."""

    name = "bytes"
    least = 0

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"(\d{1,30})\s*([kmg]?)(?:i?b)?", str(value).lower())
        if not match:
            self.fail(f"{value!r}: bytes expected, as 65536, 128k or 1M", param, ctx)
        size = min(int(match[1]) * UNITS[match[2]], MOST_BYTES)
        if size < self.least:
            meant = "" if match[2] else f" (is {match[1]}M meant?)"
            self.fail(f"{value!r}: {counted(size, 'byte')}, at least {self.least >> 10}k expected{meant}", param, ctx)
        return size


class Memory(Size):
    """What a reader of captures may hold: below `least` no capture is read as anybody wants it, a unit is missing."""

    least = 64 << 10


def binary_input(command: Command) -> Command:
    """--hex and --base64: the input is text."""
    command = click.option("--base64", "base64_", is_flag=True, help="The input is base64 text.")(command)
    return click.option("--hex", "hex_", is_flag=True, help="The input is hex text, or a hex dump.")(command)


def port_option(command: Command) -> Command:
    """--port, as often as there are ports: connections without one of them are left out."""
    return click.option(
        "--port",
        "ports",
        type=click.IntRange(1, 65535),
        multiple=True,
        metavar="N",
        help="A port of brokers; connections on other ports are left out.",
    )(command)


def secrets_option(*names: str) -> Callable[[Command], Command]:
    """--show-secrets, as `secrets`; names: others that it had before."""
    text = "Show passwords, keys and tokens, which are left out otherwise."
    return click.option("--show-secrets", *names, "secrets", is_flag=True, help=text)


class Format(click.Choice[str]):
    """The words of --format. Those that mean the same here do as well: text and table, jsonl where json is a line."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word as the command has it."""
        other = SYNONYMS.get(str(value))
        return super().convert(other if value not in self.choices and other in self.choices else value, param, ctx)


def format_option(
    formats: Iterable[str], text: str, default: str | None = None, name: str = "format_", *, paged: bool = True
) -> Callable[[Command], Command]:
    """--format, as `name`. text: its help. default: None leaves it to the command. paged: what is longer than the
    terminal goes to a pager, unless --no-pager forbids it."""
    form = click.option(
        "--format", name, type=Format([*formats]), default=default, show_default=default is not None, help=text
    )
    return lambda command: form(pager_option(command) if paged else command)


def pager_option(command: Command) -> Command:
    """--no-pager; without it the command's output is paged on a terminal."""

    def page(ctx: click.Context, _param: click.Parameter, unwanted: bool) -> None:
        if not unwanted and not ctx.resilient_parsing:
            from kcli.cli.terminal.pager import paging

            ctx.with_resource(paging())

    text = "Never page; on a terminal what is longer goes to PAGER (less)."
    return click.option("--no-pager", is_flag=True, expose_value=False, callback=page, help=text)(command)


def quiet_option(text: str, *, used: bool = True) -> Callable[[Command], Command]:
    """-q/--quiet, as `quiet`; text: what is not said then. used: False for a command that says nothing of the kind."""
    return click.option("-q", "--quiet", is_flag=True, expose_value=used, help=text)


def files_argument(
    metavar: str, name: str = "files", expand: Callable[[tuple[str, ...]], tuple[str, ...]] | None = None
) -> Callable[[Command], Command]:
    """One file or more, as `name`. All of them are there, or the command does not begin. expand: directories.

    A named pipe stands as standard input, or as a copy of what it holds (`without_pipes`)."""

    def check(ctx: click.Context, _param: click.Parameter, files: tuple[str, ...]) -> tuple[str, ...]:
        if ctx.resilient_parsing:
            return files
        check_files(files)
        files = without_pipes(files)
        return files if expand is None else expand(files)

    return click.argument(name, nargs=-1, required=True, metavar=metavar, callback=check)


def check_files(files: Iterable[str]) -> None:
    """OSError: a file is not there, or may not be read; "-" is standard input."""
    for file in files:
        if file != "-" and not os.access(file, os.R_OK):
            os.stat(file)  # noqa: PTH116
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), file)


def key_log_option(command: Command) -> Command:
    """The option for secrets of TLS connections."""
    return click.option(
        "--key-log",
        "key_logs",
        type=click.Path(),
        multiple=True,
        metavar="FILE",
        help="Secrets of TLS connections, as SSLKEYLOGFILE has them; again for more.",
    )(command)


def memory_option(command: Command) -> Command:
    """--memory: what a reader of captures may hold of connections."""
    return click.option(
        "--memory",
        type=Memory(),
        default="256MiB",
        show_default=True,
        metavar="SIZE",
        help="Most bytes held of captured connections: packets out of order, parts of frames, unanswered requests.",
    )(command)


def embedded_option(command: Command) -> Command:
    """--embedded, as `embedded`."""
    return click.option(
        "--embedded",
        is_flag=True,
        help="Show the messages in bytes fields, too: what members of groups say to each other (a tree has them).",
    )(command)


def formulas_option(command: Command) -> Command:
    """--escape-formulas, as `formulas`."""
    return click.option(
        "--escape-formulas",
        "formulas",
        is_flag=True,
        help="In CSV, put ' before texts that a spreadsheet takes for a formula (= + - @ in front).",
    )(command)


def dialect_option(command: Command) -> Command:
    """--dialect (its first name, --schema, goes on working), for every command that reads or writes messages."""
    return click.option(
        "--dialect",
        "--schema",
        "dialect",
        metavar="NAME|DIR",
        help="Messages over the stock ones: kip-227-draft, kip-1018, kip-630-draft, or a directory of message JSON.",
    )(command)


def jobs_option(text: str) -> Callable[[Command], Command]:
    """--jobs, as `jobs`: how many processes work. text: what they do."""
    return click.option(
        "--jobs", type=click.IntRange(1, 64), default=1, show_default=True, metavar="N", help=f"Processes that {text}."
    )


def reading_options(command: Command) -> Command:
    """What every reader of captures takes: --dialect, --key-log, --memory."""
    return dialect_option(key_log_option(memory_option(command)))


def read_bytes(file: str, hex_: bool = False, base64_: bool = False) -> bytes:
    """The bytes of a file, or of standard input for "-"; decoded where they are text. InputError, UsageError."""
    if hex_ and base64_:
        raise UsageError("--hex and --base64: one of them at most")
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    try:
        return unhex(data) if hex_ else unbase64(data) if base64_ else data
    except InputError as error:
        raise error.within(name_of(file)) from None


def read_message(file: str, hex_: bool = False, base64_: bool = False) -> bytes:
    """As `read_bytes`, for messages and record batches. InputError: it is something else (`refuse_others`)."""
    data = read_bytes(file, hex_, base64_)
    if not (hex_ or base64_):
        refuse_others(data, name_of(file))
    return data


def read_json(file: str) -> bytes:
    """A file of JSON, or standard input's for "-". InputError: it is something else, or empty."""
    data = read_bytes(file)
    if not data.strip():
        raise InputError("no bytes: JSON expected", file=name_of(file))
    if data.lstrip()[:1] not in (b"{", b"["):
        from kcli.capture.io.recognition import recognized

        if kind := recognized(data):
            raise InputError(f"not JSON ({kind})", file=name_of(file))
    return data


def read_text(file: str) -> bytes:
    """A text file's bytes, or standard input's for "-"."""
    return read_bytes(file)


def unbase64(data: bytes) -> bytes:
    """Bytes from base64 text, white space in it or not. InputError."""
    import base64
    import binascii

    text = b"".join(data.split())
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        if found := re.search(NOT_BASE64, text):
            why = f"character {found.start() + 1} is {chr(found[0][0])!r} (letters, digits, + and / expected, then =)"
        else:
            why = f"{counted(len(text), 'character')} (groups of four expected, the last filled up with = or ==)"
        raise InputError(f"not base64: {why}") from None


def unhex(data: bytes) -> bytes:
    """Bytes from hex text: digits with white space, commas or 0x between them, or the columns of a hex dump.

    Also as people have them: a list of decimal numbers, comments behind # or //, dumps of tcpdump -X, Netty and od.
    """
    text = data.decode("latin-1")
    if (numbers := decimal_bytes(text)) is not None:
        return numbers
    out = bytearray()
    for number, line in enumerate(text.splitlines(), 1):
        line = COMMENT.sub("", line)
        if (boxed := boxed_columns(line)) is not None:
            out += plain_line(boxed, number)
            continue
        if (octal := OCTAL.fullmatch(line.strip())) and int(octal[1], 8) == len(out) and (out or octal[2]):
            out += plain_line(octal[2] or "", number)
            continue
        columns = COLUMNS.fullmatch(line.strip())
        if line.strip() == "*":
            raise InputError(f"line {number}: `*` stands for lines that were left out (hexdump -v prints them all)")
        if columns and (columns[2].startswith(":") or int(columns[1], 16) == len(out)) and not bare(columns, len(out)):
            out += dump_line(columns[3], columns[2].startswith(":"), number)
        else:
            out += plain_line(line, number)
    return bytes(out)


def decimal_bytes(text: str) -> bytes | None:
    """The bytes of a list of decimal numbers, signed or not, as debuggers print it; None: it is none.

    Pairs of digits alone are hex, unless a bracket stands around them, and then unless one begins with 0.
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


def boxed_columns(line: str) -> str | None:
    """The hex digits of a line of Netty's dump (ByteBufUtil.prettyHexDump), "" of its frame; None: it is none."""
    if FRAME.fullmatch(line.strip()):
        return ""
    found = BOXED.fullmatch(line.strip())
    return found[1] if found else None


def is_dump(line: bytes) -> bool:
    """Whether a line of text has the columns of a hex dump: an offset in front, or a frame around it."""
    text = line.decode("latin-1").strip()
    columns = COLUMNS.fullmatch(text)
    octal = OCTAL.fullmatch(text)
    return bool((columns and columns[2]) or (octal and octal[2])) or boxed_columns(text) is not None


def bare(columns: re.Match[str], size: int) -> bool:
    """A line of digits alone is data, unless it can only be the last offset of a dump."""
    return not columns[3] and not columns[2].startswith(":") and not (size and len(columns[1]) >= 7)


def dump_line(text: str, colon: bool, number: int) -> bytes:
    """The hex column of a dump's line: text follows two spaces in xxd, a bar in hexdump, three spaces in tshark."""
    if "|" in text:
        text = text[: text.index("|")]
    elif colon:
        text = re.split(r"\s{2,}", text, maxsplit=1)[0]
    else:
        text = re.split(r"\s{3,}", text, maxsplit=1)[0]
    return plain_line(text, number)


def plain_line(text: str, number: int) -> bytes:
    """The bytes of a line of digits, with white space, commas or 0x between them. InputError names line and column."""
    out = bytearray()
    for token in re.finditer(r"[^\s,:;]+", text):
        digits = token[0].removeprefix("0x").removeprefix("0X").replace("\\x", "")
        if not PAIRS.fullmatch(digits):
            found = re.search(NOT_HEX, token[0])
            why = repr(found[0]) if found else f"an odd number of digits in {token[0][:20]!r}"
            column = token.start() + (found.start() if found else 0) + 1
            raise InputError(f"not hex: line {number}, column {column}: {why} (pairs of digits expected)")
        out += bytes.fromhex(digits)
    return bytes(out)
