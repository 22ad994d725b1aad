"""`kcli diff message` and `kcli diff batch`: two encodings of the same, field by field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from kcli.cli.decode_message import request_shape, response_shape
from kcli.cli.inputs import binary_input, dialect_option, format_option, quiet_option, read_message, secrets_option
from kcli.cli.kinds import name_of
from kcli.cli.lines import print_line
from kcli.cli.message_formats import with_batches
from kcli.cli.message_input import Frame
from kcli.errors import DecodeError, UsageError
from kcli.grammar.difference import Difference, differences
from kcli.grammar.secrets import Hidden, hide_span
from kcli.grammar.trace import Span
from kcli.jsontext import dumps

__all__ = ["batch", "message"]

Command = Callable[..., int]
Read = tuple[bytes, list[Span], str]  # the bytes, their fields, and why there are no more
SHOWN = 16  # bytes of a field
TRAILING = "_trailing"


def diff_options(command: Command) -> Command:
    for option in (
        quiet_option("No warnings.", used=False),
        format_option(("text", "jsonl"), "The form of the output.", default="text"),
        dialect_option,
        secrets_option(),
        binary_input,
        click.argument("got"),
        click.argument("expected"),
    ):
        command = option(command)
    return command


@click.command()
@diff_options
@click.option("--api", metavar="NAME", help="The messages are responses to this API, by name or key.")
@click.option(
    "--api-version", type=click.IntRange(0, 32767), metavar="N", help="The version of the responses' request."
)
def message(expected: str, got: str, format_: str, **options: Any) -> int:
    """The fields whose bytes differ between two messages: path, both offsets, both bytes, both values.

    EXPECTED and GOT are files with a request each, or with --api and --api-version a response ("-": standard input).
    Exit 1: they differ.

    \b
    kcli diff message java.bin mine.bin
    kcli diff message --hex --api Metadata --api-version 12 expected.hex got.hex
    """
    if (options["api"] is None) != (options["api_version"] is None):
        raise UsageError("--api and --api-version go together: responses name neither")
    sides = [message_spans(file, options) for file in files(expected, got)]
    return show(sides, format_)


@click.command()
@diff_options
def batch(expected: str, got: str, format_: str, hex_: bool, base64_: bool, secrets: bool, dialect: str | None) -> int:
    """The fields whose bytes differ between record batches: path, both offsets, both bytes, both values.

    EXPECTED and GOT are files with batches ("-": standard input). Exit 1: they differ.

    \b
    kcli diff batch java.bin mine.bin
    """
    from kcli.records.spans import batch_spans

    sides: list[Read] = []
    for file in files(expected, got):
        data = read_message(file, hex_, base64_)
        spans, problem = batch_spans(data, secrets)
        sides.append((data, spans, "" if problem is None else str(problem)))
    return show(sides, format_)


def files(expected: str, got: str) -> tuple[str, str]:
    if expected == got == "-":
        raise UsageError("EXPECTED and GOT: only one of them can be standard input")
    return expected, got


def message_spans(file: str, options: dict[str, Any]) -> Read:
    """A message's fields, with those of the batches in it. DecodeError: it is of no known API and version."""
    data = read_message(file, options["hex_"], options["base64_"])
    if len(data) > 4 and int.from_bytes(data[:4], "big") == len(data) - 4:
        data = data[4:]
    spans: list[Span] = []
    problem = ""
    try:
        if options["api"] is None:
            shape = request_shape(data, Frame(0, len(data)), options)
        else:
            shape = response_shape(data, Frame(0, len(data)), options)
        shape.header.spans(data, 0, spans)
        spans[:] = [span._replace(path=f"header.{span.path}") for span in spans]
        start = spans[-1].end if spans else 0
        codec = shape.body(start)
    except DecodeError as error:
        raise error.within(name_of(file)) from None
    try:
        codec.spans(data, start, spans, secrets=options["secrets"])
        if (end := spans[-1].end if spans else 0) < len(data):
            rest = Span(TRAILING, end, len(data), "bytes behind the message", data[end:])
            spans.append(hide_span(rest) if codec.guarded and not options["secrets"] else rest)
    except DecodeError as error:
        problem = str(error)
    form = {"records": "full", "secrets": options["secrets"]}
    return data, with_batches(spans, form, codec.what)[0], problem


def show(sides: list[Read], format_: str) -> int:
    """Print what differs; 1: something does."""
    (one, expected, wrong), (other, got, broken) = sides
    found = [*differences(expected, one, got, other)]
    for each in found:
        print_line(json_line(each, one, other) if format_ == "jsonl" else text_line(each, one, other))
    for side, problem in (("expected", wrong), ("got", broken)):
        if problem:
            print_line(
                dumps({"path": "_error", side: problem}) if format_ == "jsonl" else f"{side} ends early: {problem}"
            )
    return int(bool(found or wrong or broken))


def json_line(difference: Difference, one: bytes, other: bytes) -> str:
    def side(span: Span | None, data: bytes) -> dict[str, Any] | None:
        if span is None:
            return None
        if isinstance(span.value, Hidden):
            return {"offset": span.start, "bytes": {"redacted": span.end - span.start}}
        return {"offset": span.start, "bytes": data[span.start : span.end].hex()}

    return dumps(
        {"path": difference.path, "expected": side(difference.expected, one), "got": side(difference.got, other)}
    )


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
