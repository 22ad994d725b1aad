"""`decode pcap --format tree`: each field of each message with its bytes."""

from collections.abc import Iterator
from typing import Any

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.cli.decode.slip_hints import SlipNamer
from kcli.cli.decode.spans import failure_line, tree_lines
from kcli.errors import DecodeError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec, guarded
from kcli.grammar.group_data import group_data_spans
from kcli.grammar.request_start import PREFIX
from kcli.grammar.secrets import hide_header, hide_span
from kcli.grammar.words.trace import Span

INDENT = "  "
Codecs = tuple[MessageCodec, MessageCodec]  # of the header and the body


def tree(item: Exchange | Event, slips: SlipNamer, room: int | None = None) -> Iterator[str]:
    """Yield a heading, and a line for each value of the request and the response; offsets are from the frame's start.

    slips: names likely slips in messages that do not decode (`message_text`). room: as for `tree_lines`.
    """
    if isinstance(item, Event):
        yield f"{item.timestamp} {item.connection or item.file} {item.kind}: {item.reason} ({item.size:,} bytes)"
        yield ""
        return
    api_text = f"{item.bodies.name(item.api_key) or f'key {item.api_key}'} v{item.api_version}"
    number = f"correlation id {item.correlation_id}"
    yield f"{item.timestamp} {item.connection} {api_text} request, {number}, {item.request_bytes:,} bytes"
    yield from message(item, item.request_frame, item.bodies.codecs(item.request_frame), slips, room, {})
    if item.response_frame is None:
        yield "no response" if item.cut.response is None else "response lost"
    else:
        yield f"{api_text} response after {item.latency_ms} ms, {item.response_bytes:,} bytes"
        yield from response(item, item.response_frame, slips, room)
    yield ""


def response(item: Exchange, frame: bytes, slips: SlipNamer, room: int | None) -> Iterator[str]:
    header = messages.response_header(item.api_key, item.api_version, item.bodies.dialect)
    try:
        body = item.bodies.answer_codec(frame, item.api_key, item.api_version, item.request_frame)[0]
    except DecodeError:
        if not item.bodies.knows(item.api_key, item.api_version):
            header = messages.data("ResponseHeader", 0, item.bodies.dialect)
        body = guarded(messages.unknown("response", item.api_key, item.api_version))
    request_api = {"api": str(item.api_key), "api_version": item.api_version}
    yield from message(item, frame, (header, body), slips, room, request_api)


def message(
    item: Exchange, frame: bytes, codecs: Codecs, slips: SlipNamer, room: int | None, request_api: dict[str, Any]
) -> Iterator[str]:
    """Yield the lines of a message of an exchange. request_api: of the request that a response answers; {} for a
    request.
    """
    header, body = codecs
    bodies, cut = item.bodies, item.cut.response if request_api else item.cut.request
    spans: list[Span] = []
    failure = ""
    try:
        header.spans(frame, 0, spans)
        start = spans[-1].end if spans else 0
        body.spans(frame, start, spans, secrets=bodies.secrets)
        end = spans[-1].end if spans else start
        spans = group_data_spans(body.name, spans, bodies.dialect)
        if end < len(frame):
            rest = Span("_trailing", end, len(frame), "bytes after the message", frame[end:])
            spans.append(hide_span(rest) if body.guarded and not bodies.secrets else rest)
    except DecodeError as error:
        hidden = body.guarded and not bodies.secrets
        spans = hide_header(spans) if hidden else spans
        if cut is None:
            failure = failure_line(frame, error, hidden)
            failure += slips.text(frame, 0, request_api | {"dialect": bodies.dialect})
        else:
            failure = f"cut off by the snapshot length: {PREFIX + len(frame):,} of {cut:,} bytes are captured"
    for line in tree_lines(frame, spans, bodies.dialect, None if room is None else room - len(INDENT)):
        yield INDENT + line
    if failure:
        yield INDENT + failure
