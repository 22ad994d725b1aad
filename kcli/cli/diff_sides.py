"""The two sides that `kcli diff` compares: the bytes of messages or batches, and their fields."""

from __future__ import annotations

from typing import Any, NamedTuple

from kcli.cli.decode_message import request_shape, response_shape
from kcli.cli.message_formats import Shape, with_batches
from kcli.cli.message_input import Frame
from kcli.errors import DecodeError
from kcli.grammar.request_start import PREFIX
from kcli.grammar.secrets import hide_span
from kcli.grammar.trace import Span

__all__ = ["Side", "batch_side", "message_side", "shape_of", "unframed"]

TRAILING = "_trailing"


class Side(NamedTuple):
    """Bytes, their fields, and why there are no more of them."""

    data: bytes
    spans: list[Span]
    problem: str


def unframed(data: bytes) -> bytes:
    """A message without its length, where that stands in front."""
    framed = len(data) > PREFIX and int.from_bytes(data[:PREFIX], "big") == len(data) - PREFIX
    return data[PREFIX:] if framed else data


def message_side(data: bytes, options: dict[str, Any]) -> Side:
    """A message's fields, with those of the batches in it. DecodeError: it is of no known API and version."""
    spans: list[Span] = []
    problem = ""
    shape = shape_of(data, options)
    shape.header.spans(data, 0, spans)
    spans[:] = [span._replace(path=f"header.{span.path}") for span in spans]
    start = spans[-1].end if spans else 0
    codec = shape.body(start)
    try:
        codec.spans(data, start, spans, secrets=options["secrets"])
        if (end := spans[-1].end if spans else 0) < len(data):
            rest = Span(TRAILING, end, len(data), "bytes behind the message", data[end:])
            spans.append(hide_span(rest) if codec.guarded and not options["secrets"] else rest)
    except DecodeError as error:
        problem = str(error)
    form = {"records": "full", "secrets": options["secrets"]}
    return Side(data, with_batches(spans, form, codec.what)[0], problem)


def shape_of(data: bytes, options: dict[str, Any]) -> Shape:
    """How a message is read: as a response where the options name an API. DecodeError, UsageError."""
    return (request_shape if options["api"] is None else response_shape)(data, Frame(0, len(data)), options)


def batch_side(data: bytes, secrets: bool) -> Side:
    """The fields of batches."""
    from kcli.records.spans import batch_spans

    spans, problem = batch_spans(data, secrets)
    return Side(data, spans, "" if problem is None else str(problem))
