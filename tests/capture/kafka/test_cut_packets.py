"""Messages that the snapshot length cuts off: what is known of them, and what is not."""

from collections.abc import Callable
from typing import Any

import pytest

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from tests.capture.messages import metadata, produce, request, response
from tests.capture.traffic import chatter, events
from tests.capture.wires import SAMPLES, Wire, packets_of, pcap

Read = Callable[..., list[Exchange | Event]]


def exchanges(items: list[Exchange | Event]) -> list[Exchange]:
    return [item for item in items if isinstance(item, Exchange)]


def key_of(item: Exchange) -> tuple[Any, ...]:
    return item.connection, item.correlation_id, item.api_key, item.api_version


@pytest.mark.parametrize("length", [64, 80, 96, 128, 256, 512])
def test_what_is_told_of_a_cut_message_is_true(read: Read, length: int) -> None:
    packets = packets_of(SAMPLES / "java44-txn.pcap")
    whole = {key_of(item): item for item in exchanges(read(packets, names=False))}
    found = exchanges(read(pcap(packets, snaplen=length), names=False))
    assert len(found) == len({key_of(item) for item in found})
    for item in found:
        true = whole[key_of(item)]
        assert (item.request_ns, item.response_ns) == (true.request_ns, true.response_ns)
        assert (item.request_bytes, item.response_bytes) == (true.request_bytes, true.response_bytes)
        assert item.timing._replace(in_flight=0) == true.timing._replace(in_flight=0)
        assert item.client_id in (None, true.client_id) and item.request in (None, true.request)
        assert item.response in (None, true.response)
        assert item.errors == true.errors if item.cut.response is None else item.errors in (None, true.errors)
        assert item.errors != [] or item.cut.response is None
    assert len(found) == (len(whole) if length >= 80 else 0)


def test_a_cut_response_has_the_fields_before_the_cut(read: Read) -> None:
    body = {"throttleTimeMs": 70, "errorCode": 71, "sessionId": 5, "responses": []}
    wire = chatter(range(1, 4), Wire().open())
    wire.client(request(1, 12, 4, {"maxWaitMs": 500, "minBytes": 1, "topics": []})).server(response(1, 12, 4, body))
    for length, errors, throttle in ((19, ["INVALID_FETCH_SESSION_EPOCH"], 70), (18, None, None)):
        [*_, last] = exchanges(read(pcap(wire.packets, snaplen=54 + length)))
        assert last.response is None and last.errors == errors
        assert last.start_of("throttleTimeMs?", response=True) == throttle
        assert last.start_of("responses?", response=True) is None


def test_what_follows_a_cut_frame_in_its_packet_is_lost_and_the_next_packet_is_read(read: Read) -> None:
    wire = chatter(range(1, 4), Wire().open())
    first, second = metadata(4), metadata(5)
    wire.client(first[0] + second[0]).server(first[1] + second[1])
    chatter(range(6, 9), wire)
    items = read(pcap(wire.packets, snaplen=54 + 30))
    assert [item.correlation_id for item in exchanges(items)] == [1, 2, 3, 4, 6, 7, 8]
    assert all(item.latency_ms is not None for item in exchanges(items))
    assert {event.kind for event in events(items)} == {"truncated", "undecodable"}


def test_a_connection_that_began_before_the_capture_is_read(read: Read) -> None:
    wire = chatter(range(1, 9), Wire().open())
    found = exchanges(read(pcap(wire.packets[5:], snaplen=54 + 30)))
    assert [item.correlation_id for item in found] == [*range(2, 9)]
    assert {item.client_id for item in found} == {"tester"}


@pytest.mark.parametrize("length", [8, 12])
def test_a_first_request_is_known_where_its_client_id_is_cut_off(read: Read, length: int) -> None:
    first = produce(1, records=bytes(300))
    parts = [first[0][:200], first[0][200:]]
    wire = Wire().open().client(parts[0]).client(parts[1]).server(first[1])
    for number in (2, 3):
        asked, answer = metadata(number)
        wire.client(asked).server(answer)
    items = read(pcap(wire.close().packets, snaplen=54 + length))
    assert [item.correlation_id for item in exchanges(items)] == ([1, 2, 3] if length == 12 else [])


def test_a_produce_without_acks_has_no_response_where_its_acks_are_known(read: Read) -> None:
    wire = chatter(range(1, 4), Wire().open())
    for number in (4, 5):
        wire.client(produce(number, acks=0, records=bytes(100))[0])
    chatter(range(6, 9), wire)
    for length, known in ((54 + 30, True), (54 + 20, False)):
        items = read(pcap(wire.packets, snaplen=length))
        sent = [item for item in exchanges(items) if item.api_key == 0]
        assert [item.correlation_id for item in sent] == [4, 5] and {item.response_ns for item in sent} == {None}
        assert [item.start_of("acks?", response=False) for item in sent] == [0 if known else None] * 2
        assert not [event for event in events(items) if event.kind == "unanswered-at-end"]


def test_a_line_says_that_errors_are_unknown(read: Read) -> None:
    [first, *_] = exchanges(read(pcap(chatter(range(1, 4), Wire().open()).packets, snaplen=54 + 30)))
    assert first.line().endswith(b'"errors":null}\n') and first.outcome.endswith("ms, cut off")
