"""Exchanges as spans, read by OpenTelemetry's own messages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span, Status

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.sinks import Values
from kcli.records import build_batch
from kcli.traces.exporting import broker_times, export
from kcli.traces.spans import context_in
from tests.capture.messages import request, response
from tests.capture.wires import MILLISECOND, pcap
from tests.rules.test_by_hand import Talk

TRACE, PARENT, OTHER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"
ORDERED = ("traceparent", f"00-{TRACE}-{PARENT}-01".encode())
Headers = list[tuple[str, bytes]]


class Kept:
    """Keeps spans."""

    def __init__(self) -> None:
        self.found: list[ResourceSpans] = []

    def send(self, found: Sequence[ResourceSpans]) -> None:
        self.found += found


def spans_of(path: Path | str, brokers: Any = None) -> list[tuple[str, Span]]:
    kept = Kept()
    export(CaptureDecoder([str(path)], Values(), DecodeOptions()), kept, brokers=brokers)
    return [
        (values(each.resource.attributes)["service.name"], span)
        for each in kept.found
        for scope in each.scope_spans
        for span in scope.spans
    ]


def values(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


def captured(folder: Path, talk: Talk, name: str = "a.pcap") -> Path:
    path = folder / name
    path.write_bytes(pcap(talk.wire.packets))
    return path


def sent(talk: Talk, *headers: Headers, error: int = 0, first: int = 40) -> Talk:
    """A Produce, of a record for each of these headers."""
    records = build_batch([(1_700_000_000_000, None, b"v", each) for each in headers])
    asked = {"acks": -1, "topicData": [{"name": "orders", "partitionData": [{"index": 2, "records": records}]}]}
    part = {"index": 2, "errorCode": error, "baseOffset": first}
    return talk.call(0, 9, asked, {"responses": [{"name": "orders", "partitionResponses": [part]}]})


def polled(talk: Talk, *headers: Headers, first: int = 40) -> Talk:
    """A Fetch that answers with such records."""
    records = build_batch([(1_700_000_000_000, None, b"v", each) for each in headers], base_offset=first)
    asked = {"topics": [{"topic": "orders", "partitions": [{"partition": 2, "fetchOffset": first}]}]}
    part = {"partitionIndex": 2, "highWatermark": 99, "records": records}
    return talk.call(1, 11, asked, {"responses": [{"topic": "orders", "partitions": [part]}]})


def test_a_produce_of_one_record_is_in_the_trace_of_its_header(tmp_path: Path) -> None:
    [(service, span)] = spans_of(captured(tmp_path, sent(Talk("shop"), [ORDERED, ("tracestate", b"a=1")])))
    assert service == "shop" and span.name == "send orders" and span.kind == Span.SPAN_KIND_CLIENT
    assert (span.trace_id.hex(), span.parent_span_id.hex(), span.trace_state) == (TRACE, PARENT, "a=1")
    assert not span.links and len(span.span_id) == 8 and span.end_time_unix_nano > span.start_time_unix_nano
    found = values(span.attributes)
    assert {name: value for name, value in found.items() if name.startswith("messaging.")} == {
        "messaging.system": "kafka", "messaging.client.id": "shop", "messaging.destination.name": "orders",
        "messaging.destination.partition.id": "2", "messaging.batch.message_count": 1, "messaging.kafka.offset": 40,
        "messaging.operation.name": "send", "messaging.operation.type": "send",
    }  # fmt: skip
    assert (found["server.address"], found["server.port"], found["client.port"]) == ("10.0.0.2", 9092, 40000)
    assert (found["kcli.api"], found["kcli.api_version"]) == ("PRODUCE", 9)


def test_a_consumer_is_linked_to_what_created_its_records(tmp_path: Path) -> None:
    other: Headers = [("traceparent", f"00-{TRACE}-{OTHER}-00".encode())]
    [(_, span)] = spans_of(captured(tmp_path, polled(Talk("billing"), [ORDERED], other, [])))
    assert span.name == "poll orders" and span.trace_id.hex() != TRACE and not span.parent_span_id
    assert [(each.trace_id.hex(), each.span_id.hex(), each.flags) for each in span.links] == [
        (TRACE, PARENT, 1), (TRACE, OTHER, 0),
    ]  # fmt: skip
    assert [values(each.attributes)["messaging.kafka.offset"] for each in span.links] == [40, 41]
    found = values(span.attributes)
    assert found["messaging.batch.message_count"] == 3 and "messaging.kafka.offset" not in found
    [(_, batch)] = spans_of(captured(tmp_path, sent(Talk(), [ORDERED], other)))
    assert len(batch.links) == 2 and not batch.parent_span_id


def test_errors_and_answers_that_are_missing(tmp_path: Path) -> None:
    [(_, span)] = spans_of(captured(tmp_path, sent(Talk(), [], error=29)))
    assert (span.status.code, span.status.message) == (Status.STATUS_CODE_ERROR, "TOPIC_AUTHORIZATION_FAILED")
    assert values(span.attributes)["error.type"] == "TOPIC_AUTHORIZATION_FAILED"
    talk = sent(Talk(), [])
    talk.wire.packets.pop()
    [(_, span)] = spans_of(captured(tmp_path, talk))
    assert values(span.attributes)["error.type"] == "no_answer" and span.status.code == Status.STATUS_CODE_ERROR
    [(_, span)] = spans_of(captured(tmp_path, sent(Talk(), [])))
    assert span.status.code == Status.STATUS_CODE_UNSET


def test_the_brokers_half_is_a_child_of_the_clients(tmp_path: Path) -> None:
    path = captured(tmp_path, sent(Talk("shop"), [ORDERED]))
    talk = Talk("shop")
    talk.wire.now += 3 * MILLISECOND
    times = broker_times([str(captured(tmp_path, sent(talk, [ORDERED]), "b.pcap"))], DecodeOptions())
    (shop, client), (service, broker) = spans_of(path, times)
    assert (shop, service) == ("shop", "kafka-broker") and broker.kind == Span.SPAN_KIND_SERVER
    assert broker.parent_span_id == client.span_id != broker.span_id and broker.trace_id == client.trace_id
    assert broker.start_time_unix_nano == client.start_time_unix_nano + 3 * MILLISECOND
    assert broker.end_time_unix_nano == client.end_time_unix_nano + 3 * MILLISECOND


def test_the_same_capture_gives_the_same_spans(samples: Path) -> None:
    first, second = (spans_of(samples / "java44-txn.pcap") for _ in range(2))
    assert first == second and len({span.span_id for _, span in first}) == len(first) > 50
    names = {span.name for _, span in first}
    assert {"Metadata", "InitProducerId"} <= names and any(name.startswith("send ") for name in names)


@pytest.mark.parametrize(
    "text",
    [
        "", "00", f"ff-{TRACE}-{PARENT}-01", f"00-{'0' * 32}-{PARENT}-01", f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{PARENT}-01",
    ],
)  # fmt: skip
def test_what_is_no_trace_context(text: str) -> None:
    assert context_in([{"key": "traceparent", "value": text}]) is None
    assert context_in([{"key": "traceparent", "value": {"base64": "AA=="}}]) is None


def test_values_that_json_hides_are_in_no_span(tmp_path: Path) -> None:
    """Bytes behind an answer with secrets say that it was misread: the throttle time may be a part of a secret."""
    for behind, throttled in ((b"", 7), (b"\1", None)):
        talk = Talk()
        talk.wire.client(request(38, 1, 1, {"renewers": [], "maxLifetimeMs": 1}))
        frame = response(38, 1, 1, {"throttleTimeMs": 7})[4:] + behind
        talk.wire.server(len(frame).to_bytes(4, "big") + frame)
        [(_, span)] = spans_of(captured(tmp_path, talk))
        assert values(span.attributes).get("kcli.throttle_ms") == throttled
