"""Makes spans from exchanges, by OpenTelemetry's semantic conventions for messaging and Kafka.

A span begins with the request and ends with the response, at the times of the capture. Its ids are derived from the
connection and from the request's API, correlation id and time: the same capture always gives the same spans.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.record_fields import record_fields
from kcli.client.address import parse_address
from kcli.records.rows import field_rows
from kcli.records.unfolding import Unfolding
from kcli.schemas import apikeys
from kcli.schemas.apikeys import PRODUCE
from kcli.version import __version__

SCHEMA_URL = "https://opentelemetry.io/schemas/1.44.0"
# The name and type of a client's operation in the conventions; the operation of any other API has the API's name, and
# no type.
OPERATIONS: Mapping[int, tuple[str, str]] = {
    apikeys.PRODUCE: ("send", "send"),
    apikeys.FETCH: ("poll", "receive"),
    apikeys.SHARE_FETCH: ("poll", "receive"),
    apikeys.OFFSET_COMMIT: ("commit", "settle"),
    apikeys.TXN_OFFSET_COMMIT: ("commit", "settle"),
    apikeys.SHARE_ACKNOWLEDGE: ("ack", "settle"),
}
NO_ANSWER = "no_answer"
Key = tuple[str, int, int]  # connection, API, correlation id
FORM = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
LONGEST_STATE = 512  # characters of a tracestate
MOST_LINKS = 128  # links of a span; the limit of OpenTelemetry's SDKs


class Spans:
    """Makes spans. brokers: times (ns) of request and response at the broker's end, by exchange."""

    def __init__(self, brokers: Mapping[Key, tuple[int, int | None]] | None = None) -> None:
        self.brokers = brokers or {}

    def of(self, exchange: Exchange) -> Iterator[tuple[str, str, Span]]:
        """Yield the spans of an exchange as (service, its instance, span). The broker's span is a child of the
        client's.
        """
        messages = messages_of(exchange)
        client = client_span(exchange, messages)
        yield exchange.client_id or "kafka-client", exchange.link.client, client
        times = self.brokers.get(key_of(exchange))
        if times is not None:
            yield "kafka-broker", exchange.link.server, broker_span(exchange, client, *times)


def key_of(exchange: Exchange) -> Key:
    """Return a key that identifies an exchange in the captures of both ends."""
    return exchange.connection, exchange.api_key, exchange.correlation_id


def client_span(exchange: Exchange, messages: Messages) -> Span:
    """Return the span of an exchange. If all contexts in a Produce's records are the same, the span is a child of that
    context; otherwise it gets links.
    """
    operation, kind = OPERATIONS.get(exchange.api_key, (exchange.api, None))
    topics = dict.fromkeys(topic for topic, _ in messages.places) or topics_asked(exchange)
    topic = next(iter(topics)) if len(topics) == 1 else None
    digest = hashlib.blake2b(f"{key_of(exchange)}{exchange.request_ns}".encode(), digest_size=24).digest()
    made = Span(
        trace_id=digest[:16],
        span_id=digest[16:],
        name=utf8(operation if topic is None else f"{operation} {topic}"),
        kind=Span.SPAN_KIND_CLIENT,
        start_time_unix_nano=exchange.request_ns,
        end_time_unix_nano=max(exchange.response_ns or exchange.request_ns, exchange.request_ns),
        attributes=attributes(common(exchange) | of_messages(exchange, messages, topic) | {
            "messaging.operation.name": operation, "messaging.operation.type": kind,
        }),
        links=[link(*each) for each in messages.contexts.items()],
    )  # fmt: skip
    if exchange.api_key == apikeys.PRODUCE and len(messages.contexts) == 1:
        [parent] = messages.contexts
        made.trace_id, made.parent_span_id, made.trace_state = parent.trace_id, parent.span_id, utf8(parent.state)
        del made.links[:]
    add_status(made, exchange)
    return made


def broker_span(exchange: Exchange, client: Span, request_ns: int, response_ns: int | None) -> Span:
    """Return the broker's half of a span, with times from the capture at the broker, by the clock of that host."""
    made = Span(
        trace_id=client.trace_id,
        span_id=hashlib.blake2b(client.span_id, digest_size=8, person=b"broker").digest(),
        parent_span_id=client.span_id,
        trace_state=client.trace_state,
        name=client.name,
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=request_ns,
        end_time_unix_nano=max(response_ns or request_ns, request_ns),
        attributes=client.attributes,
    )
    add_status(made, exchange)
    return made


def common(exchange: Exchange) -> dict[str, Any]:
    """Return the attributes of every span."""
    server, client = parse_address(exchange.link.server), parse_address(exchange.link.client)
    return {
        "messaging.system": "kafka",
        "messaging.client.id": exchange.client_id,
        "server.address": server.host,
        "server.port": server.port,
        "client.address": client.host,
        "client.port": client.port,
        "network.transport": "tcp",
        "kcli.api": exchange.api_name,
        "kcli.api_version": exchange.api_version,
        "kcli.correlation_id": exchange.correlation_id,
        "kcli.request_bytes": exchange.request_bytes,
        "kcli.response_bytes": exchange.response_bytes,
        "kcli.throttle_ms": (exchange.shown_response or {}).get("throttleTimeMs") or None,
    }


def of_messages(exchange: Exchange, messages: Messages, topic: str | None) -> dict[str, Any]:
    """Return the attributes about records, topics and groups."""
    only = next(iter(messages.places)) if len(messages.places) == 1 else None
    return {
        "messaging.destination.name": topic,
        "messaging.destination.partition.id": None if only is None else str(only[1]),
        "messaging.batch.message_count": messages.number or None,
        "messaging.kafka.offset": messages.offset,
        "messaging.kafka.message.tombstone": messages.tombstone or None,
        "messaging.consumer.group.name": (exchange.shown_request or {}).get("groupId") or None,
    }


def topics_asked(exchange: Exchange) -> dict[str, None]:
    """Return the topics named in a request without records."""
    found = (exchange.shown_request or {}).get("topics")
    named = (each.get("name") or each.get("topic") for each in found or () if isinstance(each, dict))
    return {each: None for each in named if isinstance(each, str)}


def link(context: Context, place: tuple[str, int, int | None]) -> Span.Link:
    """Return a link to the span that created a record."""
    topic, partition, offset = place
    said = {
        "messaging.destination.name": topic,
        "messaging.destination.partition.id": str(partition),
        "messaging.kafka.offset": offset,
    }
    return Span.Link(
        trace_id=context.trace_id,
        span_id=context.span_id,
        trace_state=utf8(context.state),
        flags=context.flags,
        attributes=attributes(said),
    )


def add_status(span: Span, exchange: Exchange) -> None:
    """Set the status of a failed span. A Produce with acks 0 gets no response, so it has not failed."""
    if exchange.response_frame is None:
        if exchange.api_key == apikeys.PRODUCE and (exchange.request or {}).get("acks") == 0:
            return
        span.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message="no response in the capture"))
        span.attributes.extend(attributes({"error.type": NO_ANSWER}))
    elif errors := exchange.errors:
        span.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message=", ".join(errors)))
        span.attributes.extend(attributes({"error.type": errors[0]}))


def attributes(values: Mapping[str, Any]) -> list[KeyValue]:
    """Return attributes in OTLP's form, without those that are None."""
    return [KeyValue(key=name, value=value_of(value)) for name, value in values.items() if value is not None]


def value_of(value: str | int | bool) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    return AnyValue(string_value=utf8(value)) if isinstance(value, str) else AnyValue(int_value=value)


def utf8(text: str) -> str:
    """Return text with lone surrogates replaced, as Protobuf does not accept them."""
    return text.encode("utf-8", "replace").decode()


def resource_spans(found: Iterable[tuple[str, str, Span]]) -> list[ResourceSpans]:
    """Return spans grouped by service and instance."""
    grouped: dict[tuple[str, str], list[Span]] = {}
    for service, instance, span in found:
        grouped.setdefault((service, instance), []).append(span)
    scope = InstrumentationScope(name="kcli", version=__version__)
    return [
        ResourceSpans(
            resource=Resource(attributes=attributes({"service.name": service, "service.instance.id": instance})),
            scope_spans=[ScopeSpans(scope=scope, spans=spans, schema_url=SCHEMA_URL)],
            schema_url=SCHEMA_URL,
        )
        for (service, instance), spans in grouped.items()
    ]


class Context(NamedTuple):
    """The span that a record's headers name, which another program created."""

    trace_id: bytes
    span_id: bytes
    flags: int
    state: str = ""


class Messages(NamedTuple):
    """The records of an exchange. places: their topics and partitions. offset, tombstone: only if there is a single
    record. contexts: the first contexts in the headers, each with the topic, partition and offset of a record that has
    it.
    """

    number: int
    places: dict[tuple[str, int], None]
    offset: int | None
    tombstone: bool
    contexts: dict[Context, tuple[str, int, int | None]]


def messages_of(exchange: Exchange) -> Messages:
    """Return the records of an exchange; transaction markers are left out."""
    number, offset, tombstone = 0, None, False
    places: dict[tuple[str, int], None] = {}
    contexts: dict[Context, tuple[str, int, int | None]] = {}
    unfold = Unfolding(shared=True)
    unfold.begin()
    for field in record_fields(exchange):
        place = field.label, field.partition
        rows = field_rows(
            field.data, [], base_offset=field.base_offset, produced=exchange.api_key == PRODUCE, unfold=unfold
        )
        for row in rows:
            if "_control" in row:
                continue
            number, offset, tombstone = number + 1, row["offset"], row["value"] is None
            places[place] = None
            found = context_in(row["headers"])
            if found is not None and len(contexts) < MOST_LINKS:
                contexts.setdefault(found, (*place, offset))
    single = number == 1
    return Messages(number, places, offset if single else None, single and tombstone, contexts)


def context_in(headers: Iterable[Mapping[str, Any]]) -> Context | None:
    """Return the context in a record's headers; if there are several, the last, as in Kafka's clients."""
    named = {each["key"]: each["value"] for each in headers if isinstance(each["value"], str)}
    match = FORM.fullmatch(named.get("traceparent", ""))
    if match is None:
        return None
    state = named.get("tracestate", "")
    return Context(
        bytes.fromhex(match[1]),
        bytes.fromhex(match[2]),
        int(match[3], 16),
        state if len(state) <= LONGEST_STATE else "",
    )
