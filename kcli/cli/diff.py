"""`kcli diff message` and `kcli diff batch`: two encodings of the same, field by field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from kcli.cli.coprocess import Reply, answer_lines, check_lines, lines_option
from kcli.cli.diff_sides import Side, batch_side, message_side, unframed
from kcli.cli.inputs import binary_input, dialect_option, format_option, quiet_option, read_message, secrets_option
from kcli.cli.kinds import name_of
from kcli.cli.lines import print_line
from kcli.errors import DecodeError, UsageError
from kcli.grammar.difference import Difference, differences
from kcli.grammar.secrets import Hidden
from kcli.grammar.trace import Span
from kcli.jsontext import dumps

__all__ = ["batch", "message"]

Command = Callable[..., int]
PairReply = Callable[[bytes, int, dict[str, Any]], Reply]
SHOWN = 16  # bytes of a field


def diff_options(command: Command) -> Command:
    for option in (
        quiet_option("No warnings.", used=False),
        lines_option("Answer each line, EXPECTED and GOT as text or JSON, by a line of JSON"),
        format_option(("text", "jsonl"), "The form of the output.", default="text"),
        dialect_option,
        secrets_option(),
        binary_input,
        click.argument("got", required=False),
        click.argument("expected", required=False),
    ):
        command = option(command)
    return command


@click.command()
@diff_options
@click.option("--api", metavar="NAME", help="The messages are responses to this API, by name or key.")
@click.option(
    "--api-version", type=click.IntRange(0, 32767), metavar="N", help="The version of the responses' request."
)
def message(expected: str | None, got: str | None, format_: str, lines: bool, **options: Any) -> int:
    """The fields whose bytes differ between two messages: path, both offsets, both bytes, both values.

    EXPECTED and GOT are files with a request each, or with --api and --api-version a response ("-": standard input).
    With --lines the one file ("-", the default) has both on each line. Exit 1: they differ.

    \b
    kcli diff message java.bin mine.bin
    kcli diff message --hex --api Metadata --api-version 12 expected.hex got.hex
    """
    if (options["api"] is None) != (options["api_version"] is None):
        raise UsageError("--api and --api-version go together: responses name neither")
    if lines:
        from kcli.cli.diff_lines import messages_reply

        return answer_pairs(expected, got, messages_reply, options)
    sides = []
    for file in files(expected, got):
        data = read_message(file, options["hex_"], options["base64_"])
        try:
            sides.append(message_side(unframed(data), options))
        except DecodeError as error:
            raise error.within(name_of(file)) from None
    return show(sides, format_)


@click.command()
@diff_options
def batch(expected: str | None, got: str | None, format_: str, lines: bool, **options: Any) -> int:
    """The fields whose bytes differ between record batches: path, both offsets, both bytes, both values.

    EXPECTED and GOT are files with batches ("-": standard input); with --lines the one file ("-", the default) has both
    on each line. Exit 1: they differ.

    \b
    kcli diff batch java.bin mine.bin
    """
    if lines:
        from kcli.cli.diff_lines import batches_reply

        return answer_pairs(expected, got, batches_reply, options)
    found = [read_message(file, options["hex_"], options["base64_"]) for file in files(expected, got)]
    return show([batch_side(data, options["secrets"]) for data in found], format_)


def answer_pairs(file: str | None, other: str | None, reply: PairReply, options: dict[str, Any]) -> int:
    """Answer the lines of a file that has both sides on each. UsageError: there are two files."""
    check_lines(options)
    if other is not None:
        raise UsageError(f"{other}: with --lines one file has both sides, on each line")
    return answer_lines(file or "-", lambda text, number: reply(text, number, options))


def files(expected: str | None, got: str | None) -> tuple[str, str]:
    """Both files. UsageError: there is only one."""
    if expected is None or got is None:
        raise UsageError(f"{'GOT' if expected else 'EXPECTED and GOT'}: what is to be compared?")
    if expected == got == "-":
        raise UsageError("EXPECTED and GOT: only one of them can be standard input")
    return expected, got


def show(sides: list[Side], format_: str) -> int:
    """Print what differs; 1: something does."""
    (one, expected, wrong), (other, got, broken) = sides
    from kcli.cli.diff_lines import difference_row

    found = [*differences(expected, one, got, other)]
    for each in found:
        print_line(dumps(difference_row(each, one, other)) if format_ == "jsonl" else text_line(each, one, other))
    for side, problem in (("expected", wrong), ("got", broken)):
        if problem:
            row = dumps({"path": "_error", side: problem})
            print_line(row if format_ == "jsonl" else f"{side} ends early: {problem}")
    return int(bool(found or wrong or broken))


def text_line(difference: Difference, one: bytes, other: bytes) -> str:
    def side(span: Span | None, data: bytes) -> str:
        from kcli.cli.spans import text_of

        if span is None:
            return "not there"
        if isinstance(span.value, Hidden):
            return f"{span.start:#06x} ({span.value!r})"
        digits = data[span.start : min(span.end, span.start + SHOWN)].hex(" ")
        more = span.end - span.start - SHOWN
        return f"{span.start:#06x} {digits}{f' +{more}' if more > 0 else ''} = {text_of(span.value)}"

    return f"{difference.path}: {side(difference.expected, one)} | {side(difference.got, other)}"
