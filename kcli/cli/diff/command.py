"""`kcli diff message` and `kcli diff batch`: two encodings of the same, field by field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from kcli.base64_text import unbase64
from kcli.cli.decode.coprocess import Reply, answer_lines, check_lines
from kcli.cli.decode.lines_option import lines_option
from kcli.cli.diff.sides import DecodedSide, batch_side, message_side, unframed
from kcli.cli.options.inputs import (
    binary_input,
    dialect_option,
    quiet_option,
    read_message,
    read_text,
    refuse_one_for_two,
    secrets_option,
    text_format_option,
)
from kcli.cli.terminal.lines import print_line
from kcli.errors import InputError, UsageError
from kcli.grammar.difference import FieldDifference, differences
from kcli.grammar.secrets import Hidden
from kcli.grammar.words.trace import Span
from kcli.hex_text import unhex
from kcli.input_names import name_of
from kcli.jsontext import dumps, loads

Command = Callable[..., int]
Input = bytes | dict[str, Any] | list[Any]
PairReply = Callable[[bytes, int, dict[str, Any]], Reply]
SHOWN = 16  # bytes of a field


def diff_options(command: Command) -> Command:
    for option in (
        quiet_option("No warnings.", used=False),
        lines_option("EXPECTED and GOT in hex, base64 or JSON by a line of JSON"),
        text_format_option(),
        click.option(
            "--as",
            "as_",
            type=click.Choice(["java"]),
            help="Compare with the bytes that Kafka's Java client would send for EXPECTED (bytes or JSON), or "
            "without it for GOT.",
        ),
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
def message(expected: str | None, got: str | None, form: str, lines: bool, **options: Any) -> int:
    """Show the fields that differ between two messages: path, and offset, bytes and value of both sides.

    EXPECTED and GOT are files with a request each, or with --api and --api-version a response ("-": standard input).
    With --as java the expected bytes are those that Kafka's Java client would send for EXPECTED: no tagged fields at
    their default, no ignorable fields that the version lacks, shortest encodings. EXPECTED may then be JSON, as for
    `kcli encode`, or missing, which means GOT. With --lines a single file ("-", the default) has both on each line.
    Exit code 1: they differ.

    \b
    kcli diff message java.bin mine.bin
    kcli diff message --as java request.json mine.bin
    kcli diff message --hex --api Metadata --api-version 12 expected.hex got.hex
    """
    if (options["api"] is None) != (options["api_version"] is None):
        raise UsageError("--api and --api-version go together: responses name neither")
    if lines:
        from kcli.cli.diff.lines import messages_reply

        return answer_pairs(expected, got, messages_reply, options)
    return show(sides_of(expected, got, "request" if options["api"] is None else "response", options), form)


@click.command()
@diff_options
def batch(expected: str | None, got: str | None, form: str, lines: bool, **options: Any) -> int:
    """Show the fields that differ between record batches: path, and offset, bytes and value of both sides.

    EXPECTED and GOT are files with batches ("-": standard input); with --lines a single file ("-", the default) has
    both on each line. With --as java the expected batches are those that Kafka's Java producer would write for
    EXPECTED, or without EXPECTED for GOT. Exit code 1: they differ.

    \b
    kcli diff batch java.bin mine.bin
    kcli diff batch --as java mine.bin
    """
    if lines:
        from kcli.cli.diff.lines import batches_reply

        return answer_pairs(expected, got, batches_reply, options)
    return show(sides_of(expected, got, "batch", options), form)


def answer_pairs(file: str | None, other: str | None, reply: PairReply, options: dict[str, Any]) -> int:
    """Answer the lines of a file that has both sides on each. Raises UsageError if there are two files."""
    check_lines(options)
    if other is not None:
        raise UsageError(f"{other}: with --lines one file has both sides, on each line")
    return answer_lines(file or "-", lambda text, number: reply(text, number, options))


def sides_of(expected: str | None, got: str | None, kind: str, options: dict[str, Any]) -> list[DecodedSide]:
    """Return both sides; with --as java the first is what Kafka's Java client would send.

    kind: as for `java_bytes`. Raises UsageError.
    """
    java = options["as_"] is not None
    if java and got is None:
        expected, got = None, expected
    if got is None or (expected is None and not java):
        raise UsageError("EXPECTED and GOT expected, or with --as java GOT alone")
    refuse_one_for_two("EXPECTED and GOT", expected, got)
    expected_text = "record batches" if kind == "batch" else "a message"
    other = read_message(got, options["hex_"], options["base64_"], expected=expected_text)
    expected_input: Input = other if expected is None else read_given(expected, options, java, expected_text)
    sides: list[DecodedSide] = []
    for file, content, as_java in ((expected or got, expected_input, java), (got, other, False)):
        try:
            sides.append(side_of(content, kind, options, as_java))
        except InputError as error:
            raise error.within(name_of(file)) from None
    return sides


def read_given(file: str, options: dict[str, Any], java: bool, expected_text: str) -> Input:
    """Read a message's bytes. java: JSON is read, too. expected_text: the expected content."""
    hex_, base64_ = options["hex_"], options["base64_"]
    if not java:
        return read_message(file, hex_, base64_, expected=expected_text)
    text = read_text(file)
    try:
        if text.lstrip()[:1] in (b"{", b"["):
            value: Input = loads(text)
            return value
        return unhex(text) if hex_ else unbase64(text) if base64_ else text
    except InputError as error:
        raise error.within(name_of(file)) from None


def side_of(content: Input, kind: str, options: dict[str, Any], java: bool) -> DecodedSide:
    """Return the fields of one side. Raises InputError."""
    data = content
    if isinstance(data, bytes) and kind != "batch":
        data = unframed(data)
    if java:
        from kcli.cli.diff.java import java_bytes

        data = java_bytes(data, kind, options)
    assert isinstance(data, bytes)
    return batch_side(data, options["secrets"]) if kind == "batch" else message_side(data, options)


def show(sides: list[DecodedSide], form: str) -> int:
    """Print the differences; return 1 if there are any."""
    (expected_bytes, expected, wrong), (got_bytes, got, broken) = sides
    from kcli.cli.diff.lines import difference_row

    found = [*differences(expected, expected_bytes, got, got_bytes)]
    for each in found:
        print_line(
            dumps(difference_row(each, expected_bytes, got_bytes))
            if form == "jsonl"
            else text_line(each, expected_bytes, got_bytes)
        )
    for side, problem in (("expected", wrong), ("got", broken)):
        if problem:
            row = dumps({"path": "_error", side: problem})
            print_line(row if form == "jsonl" else f"{side} ends early: {problem}")
    return int(bool(found or wrong or broken))


def text_line(difference: FieldDifference, expected_bytes: bytes, got_bytes: bytes) -> str:
    def side(span: Span | None, data: bytes) -> str:
        from kcli.cli.decode.spans import value_text

        if span is None:
            return "not there"
        if isinstance(span.value, Hidden):
            return f"{span.start:#06x} ({span.value!r})"
        digits = data[span.start : min(span.end, span.start + SHOWN)].hex(" ")
        more = span.end - span.start - SHOWN
        return f"{span.start:#06x} {digits}{f' +{more}' if more > 0 else ''} = {value_text(span.value)}"

    found = f"{difference.path}: {side(difference.expected, expected_bytes)} | {side(difference.got, got_bytes)}"
    return found + first_bytes(difference, expected_bytes, got_bytes)


def first_bytes(difference: FieldDifference, expected_bytes: bytes, got_bytes: bytes) -> str:
    """Return the first differing bytes of a long field, if the bytes shown are equal."""
    expected, got = difference.expected, difference.got
    if expected is None or got is None or isinstance(expected.value, Hidden) or isinstance(got.value, Hidden):
        return ""
    pairs = zip(expected_bytes[expected.start : expected.end], got_bytes[got.start : got.end], strict=False)
    places = [place for place, (mine, others) in enumerate(pairs) if mine != others]
    alike = places[0] if places else min(expected.end - expected.start, got.end - got.start)
    if alike < SHOWN:
        return ""

    def byte(span: Span, data: bytes) -> str:
        at = span.start + alike
        return f"{at:#06x} {data[at]:02x}" if at < span.end else f"{at:#06x} its end"

    if expected.end - expected.start == got.end - got.start:
        differing = "1 byte differs" if len(places) == 1 else f"{len(places):,} bytes differ, first"
        return f"; {differing}: {byte(expected, expected_bytes)} | {byte(got, got_bytes)}"
    return f"; first: {byte(expected, expected_bytes)} | {byte(got, got_bytes)}"
