"""`decode pcap --format tree`: each field of each message with its bytes."""

from __future__ import annotations

from collections.abc import Iterator

from kcli.capture.bodies import Bodies
from kcli.capture.events import Event
from kcli.capture.exchange import Exchange
from kcli.cli.spans import failure_line, tree_lines
from kcli.errors import DecodeError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.group_data import group_data_spans
from kcli.grammar.secrets import hide_span
from kcli.grammar.trace import Span

__all__ = ["tree"]


def tree(item: Exchange | Event) -> Iterator[str]:
    """A heading, and a line for each value of the request and the response; offsets are from the frame's start."""
    if isinstance(item, Event):
        yield f"{item.timestamp} {item.connection or item.file} {item.kind}: {item.reason} ({item.size:,} bytes)"
        yield ""
        return
    what = f"{item.bodies.name(item.api_key) or f'key {item.api_key}'} v{item.api_version}"
    number = f"correlation id {item.correlation_id}"
    yield f"{item.timestamp} {item.connection} {what} request, {number}, {item.request_bytes:,} bytes"
    header, body = item.bodies.codecs(item.request_frame)
    yield from message(item.request_frame, header, body, item.bodies)
    if item.response_frame is None:
        yield "no response"
    else:
        yield f"{what} response after {item.latency_ms} ms, {item.response_bytes:,} bytes"
        yield from response(item, item.response_frame)
    yield ""


def response(item: Exchange, frame: bytes) -> Iterator[str]:
    header = messages.response_header(item.api_key, item.api_version, item.bodies.dialect)
    try:
        body = item.bodies.answer_codec(frame, item.api_key, item.api_version, item.request_frame)[0]
    except DecodeError:
        body = header
    yield from message(frame, header, body, item.bodies)


def message(frame: bytes, header: MessageCodec, body: MessageCodec, bodies: Bodies) -> Iterator[str]:
    spans: list[Span] = []
    failure = ""
    try:
        header.spans(frame, 0, spans)
        start = spans[-1].end if spans else 0
        body.spans(frame, start, spans, secrets=bodies.secrets)
        end = spans[-1].end if spans else start
        spans = group_data_spans(body.name, spans, bodies.dialect)
        if end < len(frame):
            rest = Span("_trailing", end, len(frame), "bytes behind the message", frame[end:])
            spans.append(hide_span(rest) if body.guarded and not bodies.secrets else rest)
    except DecodeError as error:
        failure = failure_line(frame, error, body.guarded and not bodies.secrets)
    for line in tree_lines(frame, spans, bodies.dialect):
        yield "  " + line
    if failure:
        yield "  " + failure
