"""`kcli diff message|batch --lines`: the differences between the two messages on each line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcli.cli.decode.coprocess import Reply, bytes_in, bytes_of
from kcli.cli.decode.lines import api_in
from kcli.cli.decode.message_formats import is_whole
from kcli.cli.diff.sides import (
    DecodedSide,
    batch_differences,
    batch_side,
    message_differences,
    message_side,
    shape_of,
    unframed,
)
from kcli.cli.encode.message import message_bytes
from kcli.cli.encode.records import batch_bytes
from kcli.errors import DecodeError, InputError
from kcli.grammar.difference import FieldDifference, differences
from kcli.grammar.secrets import Hidden
from kcli.grammar.words.trace import Span
from kcli.jsontext import dumps, loads

Input = bytes | dict[str, Any] | list[Any]
SIDES = ("expected", "got")
SAME = Reply(b'{"same":true}')


def messages_reply(text: bytes, number: int, options: dict[str, Any]) -> Reply:
    """Return the answer to a line with two messages. options: those of `kcli diff message`. Raises KcliError for a bad
    line.
    """
    row = row_of(text, number)
    options = options | api_in(row)
    side = "request" if options["api"] is None else "response"
    expected_bytes, got_bytes = (unframed(each) for each in pair(row, text, number, options, side))
    if expected_bytes == got_bytes and reads_whole(expected_bytes, options):
        return SAME
    found = message_differences(expected_bytes, got_bytes, options)
    if found is not None:
        return differences_reply(found, expected_bytes, got_bytes)
    return reply(message_side(expected_bytes, options), message_side(got_bytes, options))


def batches_reply(text: bytes, number: int, options: dict[str, Any]) -> Reply:
    """Return the answer to a line with batches twice. Raises KcliError for a bad line."""
    expected_bytes, got_bytes = pair(row_of(text, number), text, number, options, "batch")
    found = batch_differences(expected_bytes, got_bytes, options["secrets"])
    if found is not None:
        return differences_reply(found, expected_bytes, got_bytes)
    return reply(batch_side(expected_bytes, options["secrets"]), batch_side(got_bytes, options["secrets"]))


def row_of(text: bytes, number: int) -> dict[str, Any]:
    """Return the line as JSON, where it is an object; {} otherwise. Raises InputError."""
    return loads(text, line=number) if text[:1] == b"{" else {}


def pair(row: dict[str, Any], text: bytes, number: int, options: dict[str, Any], kind: str) -> list[bytes]:
    """Return the bytes of both sides: two words of text, or the object's "expected" and "got".

    With --as java the first may be missing. kind: "request", "response", "batch". Raises InputError.
    """
    java = options["as_"] is not None
    if row:
        expected, got = (content_of(row, side, number, options["base64_"]) for side in SIDES)
    else:
        words = [bytes_of(word, number, options["base64_"]) for word in text.split()]
        if len(words) != len(SIDES) and not (java and len(words) == 1):
            raise InputError(f"{len(words)} words on this line: two expected, EXPECTED and GOT")
        expected, got = words[0], words[-1]
    other = as_bytes(got, "got", number, options, kind)
    if java and expected is None:
        expected = other
    return [as_bytes(expected, "expected", number, options, kind, java=java), other]


def content_of(row: dict[str, Any], side: str, number: int, base64_: bool) -> Input | None:
    """Return the object's value for one side: bytes of its text, or JSON; None: nothing. Raises InputError."""
    value = row.get(side)
    if isinstance(value, str):
        return bytes_of(value.encode(errors="replace"), number, base64_)
    if isinstance(value, dict) and ("hex" in value or "base64" in value):
        return bytes_in(value, number)
    if value is not None and not isinstance(value, dict | list):
        raise InputError(f"{side}: bytes as text or JSON expected")
    return value


def as_bytes(
    value: Input | None, side: str, number: int, options: dict[str, Any], kind: str, *, java: bool = False
) -> bytes:
    """Return the bytes of one side; JSON has the form that `kcli encode` takes. java: the bytes that Kafka's Java
    client would send. Raises InputError.
    """
    if value is None:
        raise InputError(f"{side}: bytes as text or JSON expected")
    try:
        if java:
            from kcli.cli.diff.java import java_bytes

            return java_bytes(unframed(value) if isinstance(value, bytes) else value, kind, options)
        if isinstance(value, bytes):
            return value
        return batch_bytes(value, number) if kind == "batch" else message_bytes(value, number, kind, options["dialect"])
    except InputError as error:
        raise error.within(side) from None


def reads_whole(data: bytes, options: dict[str, Any]) -> bool:
    try:
        return is_whole(data, shape_of(data, options))
    except DecodeError:
        return False


def reply(*sides: DecodedSide) -> Reply:
    """Return the answer to a line: {"same"}, and where that is false "differences", as --format jsonl has them."""
    (expected_bytes, expected, wrong), (got_bytes, got, broken) = sides
    problems = [{"path": "_error", side: text} for side, text in (("expected", wrong), ("got", broken)) if text]
    return differences_reply(differences(expected, expected_bytes, got, got_bytes), expected_bytes, got_bytes, problems)


def differences_reply(
    found: Iterable[FieldDifference],
    expected_bytes: bytes,
    got_bytes: bytes,
    problems: list[dict[str, str]] | None = None,
) -> Reply:
    rows = [*(difference_row(each, expected_bytes, got_bytes) for each in found), *(problems or ())]
    if not rows:
        return SAME
    return Reply(dumps({"same": False, "differences": rows}).encode(), is_no=True)


def difference_row(difference: FieldDifference, expected_bytes: bytes, got_bytes: bytes) -> dict[str, Any]:
    """Return a difference as JSON: path, and offset and bytes of both sides. one, got_bytes: the messages."""

    def side(span: Span | None, data: bytes) -> dict[str, Any] | None:
        if span is None:
            return None
        if isinstance(span.value, Hidden):
            return {"offset": span.start, "bytes": {"redacted": span.end - span.start}}
        return {"offset": span.start, "bytes": data[span.start : span.end].hex()}

    return {
        "path": difference.path,
        "expected": side(difference.expected, expected_bytes),
        "got": side(difference.got, got_bytes),
    }
