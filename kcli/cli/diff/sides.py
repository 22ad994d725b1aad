"""The two sides that `kcli diff` compares: the bytes of messages or batches, and their fields."""

from typing import Any, NamedTuple

from kcli.cli.decode.message import request_shape, response_shape
from kcli.cli.decode.message_formats import Shape, hides_values, with_batches
from kcli.cli.decode.message_input import Frame
from kcli.errors import DecodeError
from kcli.grammar.codec import TRAILING
from kcli.grammar.difference import FieldDifference, core_batch_differences, core_differences, differences, in_order
from kcli.grammar.request_start import PREFIX, starts_with_length
from kcli.grammar.secrets import hide_header, hide_span
from kcli.grammar.words.trace import FAULT, Span


class DecodedSide(NamedTuple):
    """One side: bytes, their fields, and the reason why there are no more fields."""

    data: bytes
    spans: list[Span]
    problem: str


def unframed(data: bytes) -> bytes:
    """Return a message without a length in front."""
    return data[PREFIX:] if starts_with_length(data) else data


def message_side(data: bytes, options: dict[str, Any]) -> DecodedSide:
    """Return a message's fields, with those of the batches in it. Raises DecodeError for an unknown API or version."""
    spans: list[Span] = []
    problem = ""
    shape = shape_of(data, options)
    try:
        shape.header.spans(data, 0, spans)
    except DecodeError as error:
        problem = str(error)
    spans[:] = [span._replace(path=f"header.{span.path}") for span in spans]
    if problem:
        return DecodedSide(data, hide_header(spans) if hides_values(shape, 0, options) else spans, problem)
    start = spans[-1].end if spans else 0
    codec = shape.body(start)
    try:
        codec.spans(data, start, spans, secrets=options["secrets"])
        rest = trailing(data, spans[-1].end if spans else 0)
        spans += map(hide_span, rest) if codec.guarded and not options["secrets"] else rest
    except DecodeError as error:
        problem = str(error)
        spans = hide_header(spans) if codec.guarded and not options["secrets"] else spans
    form = {"records": "full", "secrets": options["secrets"]}
    fields = [span for span in with_batches(spans, form, codec.what)[0] if span.type != FAULT]
    return DecodedSide(data, fields, problem)


def message_differences(
    expected_bytes: bytes, got_bytes: bytes, options: dict[str, Any]
) -> list[FieldDifference] | None:
    """Return the differing fields, as `differences` of both sides would, without decoding the rest; None: the core
    can't tell. Raises DecodeError for an unknown API or version.
    """
    shape, twin = shape_of(expected_bytes, options), shape_of(got_bytes, options)
    header = core_differences(shape.header, expected_bytes, 0, got_bytes, 0) if shape.header is twin.header else None
    if header is None:
        return None
    found, start, other_start = header
    codec = shape.body(start)
    body = (
        core_differences(codec, expected_bytes, start, got_bytes, other_start)
        if codec is twin.body(other_start)
        else None
    )
    if body is None:
        return None
    fields, end, other_end = body
    if hides_values(shape, 0, options) and (
        codec.is_damage(expected_bytes[end:]) or codec.is_damage(got_bytes[other_end:])
    ):
        return None
    made = [inside(each, f"header.{each.path}") for each in found]
    made += fields if options["secrets"] else hidden(fields, expected_bytes, got_bytes)
    made += differences(trailing(expected_bytes, end), expected_bytes, trailing(got_bytes, other_end), got_bytes)
    return in_order(made)


def inside(difference: FieldDifference, path: str) -> FieldDifference:
    """Return the difference at that path."""
    expected, got = (span and span._replace(path=path) for span in difference[1:])
    return FieldDifference(path, expected, got)


def hidden(found: list[FieldDifference], expected_bytes: bytes, got_bytes: bytes) -> list[FieldDifference]:
    """Return the differences without the values that are secrets in records of Kafka's metadata log."""
    from kcli.records.spans import shown_span

    def shown(each: FieldDifference) -> FieldDifference:
        if "batches[" not in each.path:
            return each
        expected = each.expected and shown_span(each.expected, expected_bytes)
        return FieldDifference(each.path, expected, each.got and shown_span(each.got, got_bytes))

    return [shown(each) for each in found]


def trailing(data: bytes, end: int) -> list[Span]:
    """Return the bytes after the end of the message; None if there are none."""
    return [Span(TRAILING, end, len(data), "bytes after the message", data[end:])] if end < len(data) else []


def batch_differences(expected_bytes: bytes, got_bytes: bytes, secrets: bool) -> list[FieldDifference] | None:
    """Return the fields of batches that differ, as `message_differences` does for messages."""
    found = core_batch_differences(expected_bytes, got_bytes)
    return found if found is None or secrets else hidden(found, expected_bytes, got_bytes)


def shape_of(data: bytes, options: dict[str, Any]) -> Shape:
    """Return how to read a message: as a response where the options name an API. Raises DecodeError, UsageError."""
    return (request_shape if options["api"] is None else response_shape)(data, Frame(0, len(data)), options)


def batch_side(data: bytes, secrets: bool) -> DecodedSide:
    """Return the fields of batches."""
    from kcli.records.spans import batch_spans

    spans, problem = batch_spans(data, secrets)
    return DecodedSide(data, spans, "" if problem is None else str(problem))
