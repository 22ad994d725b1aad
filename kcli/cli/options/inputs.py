"""Inputs of commands: files or standard input, raw or as hex or base64 text; and their options."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from kcli.cli.options import Command
from kcli.cli.options.file_type import refuse_others
from kcli.cli.options.pipes import without_pipes
from kcli.counting import counted
from kcli.endless import refuse_endless
from kcli.errors import InputError, UsageError
from kcli.input_names import name_of
from kcli.records.forms import BATCH_FORMS, FIELD_FORMS

SYNONYMS = {"text": "table", "table": "text", "jsonl": "json"}
# Formats that the suffix of an output stands for, in order of preference.
SUFFIXES = {
    ".parquet": ("parquet",),
    ".csv": ("csv",),
    ".json": ("json", "jsonl"),
    ".jsonl": ("jsonl",),
    ".ndjson": ("jsonl",),
}
MOST_BYTES = 1 << 62
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
# For errors, and compiled there.


class Size(click.ParamType):  # type: ignore[type-arg]
    """Bytes, also as 128k, 1M, 2GiB (powers of 1024). least: fewer are refused."""

    name = "bytes"
    least = 0

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"([0-9]{1,30})\s*([kmg]?)(?:i?b)?", str(value).lower())
        if not match:
            self.fail(f"{value!r}: bytes expected, as 65536, 128k or 1M", param, ctx)
        size = min(int(match[1]) * UNITS[match[2]], MOST_BYTES)
        if size < self.least:
            meant = "" if match[2] else f" (is {match[1]}M meant?)"
            self.fail(f"{value!r}: {counted(size, 'byte')}, at least {self.least >> 10}k expected{meant}", param, ctx)
        return size


class Memory(Size):
    """The memory for a reader of captures: below `least` captures can't be read usefully, and a unit is missing."""

    least = 64 << 10


def binary_input(command: Command) -> Command:
    """Add --hex and --base64: the input is text."""
    command = click.option("--base64", "base64_", is_flag=True, help="The input is base64 text.")(command)
    return click.option("--hex", "hex_", is_flag=True, help="The input is hex text, or a hex dump.")(command)


def port_option(command: Command) -> Command:
    """Add --port, as often as there are ports: connections without one of them are left out."""
    return click.option(
        "--port",
        "ports",
        type=click.IntRange(1, 65535),
        multiple=True,
        metavar="N",
        help="A port of the brokers; connections on other ports are ignored.",
    )(command)


def secrets_option(*names: str) -> Callable[[Command], Command]:
    """Add --show-secrets, as `secrets`; names: others that it had before."""
    text = "Show passwords, keys and tokens, which are hidden by default."
    return click.option("--show-secrets", *names, "secrets", is_flag=True, help=text)


class Format(click.Choice[str]):
    """The values of --format. Values with the same meaning are accepted, too: text and table, and jsonl where json is
    one line.
    """

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the command's word for a format."""
        other = SYNONYMS.get(str(value))
        return super().convert(other if value not in self.choices and other in self.choices else value, param, ctx)


def format_option(
    formats: Collection[str], text: str, default: str | None = None, name: str = "format_", *, paged: bool = True
) -> Callable[[Command], Command]:
    """Add --format, as `name`. text: its help. default: None leaves it to the command. paged: output longer than the
    terminal goes to a pager, unless --no-pager forbids it.

    Where it is not given, the suffix of -o OUT says it (`SUFFIXES`), if the command has such a format.
    """

    def by_output(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
        # Given parameters are processed before missing ones, so that OUT is known here.
        output = ctx.params.get("output")
        if output is None or ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            return value
        meant = SUFFIXES.get(Path(output).suffix.lower(), ())
        return next((each for each in meant if each in formats), value)

    form = click.option(
        "--format", name, type=Format([*formats]), default=default, show_default=default is not None, help=text,
        callback=by_output,
    )  # fmt: skip
    return lambda command: form(pager_option(command) if paged else command)


def text_format_option(*, paged: bool = True) -> Callable[[Command], Command]:
    """Add --format, as `form`: lines to read, or jsonl."""
    text = "Text, or one JSON object per line."
    return format_option(("text", "jsonl"), text, default="text", name="form", paged=paged)


def pager_option(command: Command) -> Command:
    """Add --no-pager; without it the command's output is paged on a terminal."""

    def page(ctx: click.Context, _param: click.Parameter, unwanted: bool) -> None:
        if not unwanted and not ctx.resilient_parsing:
            from kcli.cli.terminal.pager import paging

            ctx.with_resource(paging())

    text = "Don't use a pager; on a terminal longer output goes to PAGER (less)."
    return click.option("--no-pager", is_flag=True, expose_value=False, callback=page, help=text)(command)


def quiet_option(text: str, *, used: bool = True) -> Callable[[Command], Command]:
    """Add -q/--quiet, as `quiet`; text: what it suppresses. used: False for a command that has nothing to suppress."""
    return click.option("-q", "--quiet", is_flag=True, expose_value=used, help=text)


def files_argument(
    metavar: str,
    name: str = "files",
    expand: Callable[[tuple[str, ...]], tuple[str, ...]] | None = None,
    *,
    required: bool = True,
) -> Callable[[Command], Command]:
    """Add one file or more, as `name`. The command begins only if all of them exist. expand: directories.

    A named pipe is read as standard input, or from a copy of its contents (`without_pipes`).
    """

    def check(ctx: click.Context, _param: click.Parameter, files: tuple[str, ...]) -> tuple[str, ...]:
        if ctx.resilient_parsing:
            return files
        check_files(files)
        files = without_pipes(files)
        return files if expand is None else expand(files)

    return click.argument(name, nargs=-1, required=required, metavar=metavar, callback=check)


def check_files(files: Iterable[str]) -> None:
    """Raise OSError for a file that is missing, or may not be read, InputError for a device without an end; "-" is
    standard input.
    """
    for file in files:
        refuse_endless(file)
        if file != "-" and not os.access(file, os.R_OK):
            os.stat(file)  # noqa: PTH116
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), file)


def ended(_ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
    """Return the files of an option. Raises InputError if one of them is a device without an end."""
    for file in (value,) if isinstance(value, str) else value or ():
        refuse_endless(file)
    return value


def key_log_option(command: Command) -> Command:
    """Add the option for secrets of TLS connections."""
    return click.option(
        "--key-log",
        "key_logs",
        type=click.Path(),
        multiple=True,
        metavar="FILE",
        callback=ended,
        help="Secrets of TLS connections, in the format of SSLKEYLOGFILE; repeatable.",
    )(command)


def memory_option(command: Command) -> Command:
    """Add --memory: the limit of data of connections that a reader of captures holds."""
    return click.option(
        "--memory",
        type=Memory(),
        default="256MiB",
        show_default=True,
        metavar="SIZE",
        help="Memory limit for captured connections: out-of-order packets, parts of frames, unanswered requests.",
    )(command)


def embedded_option(command: Command) -> Command:
    """Add --embedded, as `embedded`."""
    return click.option(
        "--embedded",
        is_flag=True,
        help="Also decode the messages of group members in bytes fields (a tree always has them).",
    )(command)


def formulas_option(command: Command) -> Command:
    """Add --escape-formulas, as `formulas`."""
    return click.option(
        "--escape-formulas",
        "formulas",
        is_flag=True,
        help="In CSV, put ' in front of texts that a spreadsheet would evaluate as a formula (= + - @ in front).",
    )(command)


def dialect_option(command: Command) -> Command:
    """Add --dialect, and its former name --schema, for every command that reads or writes messages."""
    return click.option(
        "--dialect",
        "--schema",
        "dialect",
        metavar="NAME|DIR",
        help="Message definitions in addition to Kafka's: kip-227-draft, kip-1018, kip-630-draft, or a directory "
        "of message JSON.",
    )(command)


def records_option(default: str | None = "none") -> Callable[[Command], Command]:
    """Add --records: the form of records fields. default: None leaves it to the command."""
    return click.option(
        "--records", type=click.Choice(FIELD_FORMS), default=default, show_default=default is not None,
        help="Detail of records fields, in addition to their size.",
    )  # fmt: skip


def batch_records_option(default: str) -> Callable[[Command], Command]:
    """Add --records: the form of batches."""
    return click.option(
        "--records", type=click.Choice(BATCH_FORMS), default=default, show_default=True,
        help="Batches only, or with their records.",
    )  # fmt: skip


def jobs_option(text: str) -> Callable[[Command], Command]:
    """Add --jobs, as `jobs`: the number of processes. text: what does not depend on it."""
    return click.option(
        "--jobs",
        type=click.IntRange(1, 64),
        default=1,
        show_default=True,
        metavar="N",
        help=f"Number of processes; {text}.",
    )


READ = ("ports", "dialect", "memory", "key_logs")  # how captures are read: `reading_options`, and the ports


def reading_options(command: Command) -> Command:
    """Add the options of every reader of captures: --dialect, --key-log, --memory."""
    return dialect_option(key_log_option(memory_option(command)))


def read_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of READ, as DecodeOptions has them."""
    return {name: options[name] for name in READ}


def refuse_two_forms(hex_: bool, base64_: bool) -> None:
    """Raise UsageError for --hex and --base64 together."""
    if hex_ and base64_:
        raise UsageError("--hex and --base64: one of them at most")


def refuse_one_for_two(names: str, first: str | None, second: str | None) -> None:
    """Raise UsageError if both arguments are standard input. names: of the arguments."""
    if first == second == "-":
        raise UsageError(f"{names}: only one of them can be standard input")


def read_bytes(file: str, hex_: bool = False, base64_: bool = False) -> bytes:
    """Read the bytes of a file, or of standard input for "-"; decode text. Raises InputError, UsageError."""
    refuse_two_forms(hex_, base64_)
    refuse_endless(file)
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    if not hex_ and not base64_:
        return data
    from kcli.base64_text import unbase64
    from kcli.hex_text import unhex

    try:
        return unhex(data) if hex_ else unbase64(data)
    except InputError as error:
        raise error.within(name_of(file)) from None


def read_message(file: str, hex_: bool = False, base64_: bool = False, *, expected: str = "a message") -> bytes:
    """Read a message or record batches, as `read_bytes`. Raises InputError for anything else (`refuse_others`), and
    where there is nothing. expected: it should be.
    """
    data = read_bytes(file, hex_, base64_)
    if not data:
        raise InputError(f"no bytes: {expected} expected", file=name_of(file))
    if not (hex_ or base64_):
        refuse_others(data, name_of(file))
    return data


def read_json(file: str) -> bytes:
    """Read a file of JSON, or standard input for "-". Raises InputError if it is something else, or empty."""
    data = read_bytes(file)
    if not data.strip():
        raise InputError("no bytes: JSON expected", file=name_of(file))
    if data.lstrip()[:1] not in (b"{", b"["):
        from kcli.file_kinds import recognized

        if kind := recognized(data):
            raise InputError(f"not JSON ({kind})", file=name_of(file))
    return data


def read_text(file: str) -> bytes:
    """Read a text file's bytes, or standard input's for "-"."""
    return read_bytes(file)
