"""One connection from its packets: who is who, what it is made of, how it ends."""

from collections.abc import Callable
from typing import Any

import pytest

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.connection import CapturedConnection
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.pending import Pending
from tests.capture.messages import metadata, produce, refusal, request
from tests.capture.traffic import chatter, events, summary
from tests.capture.wires import ACK, FIN, RST, SYN, Packet, Wire, ethernet, ip4, segment

Read = Callable[[Any], list[Exchange | Event]]


def test_an_exchange_says_when_and_how_big(read: Read) -> None:
    asked, answer = metadata(1)
    (item,) = read(Wire(start=1_700_000_000_000_000_000).open().client(asked).server(answer))
    assert isinstance(item, Exchange)
    assert item.timestamp == "2023-11-14T22:13:20.003000Z"
    assert (item.latency_ms, item.request_bytes, item.response_bytes) == (1.0, len(asked), len(answer))
    assert (item.client_id, item.connection) == ("tester", "10.0.0.2:9092-10.0.0.1:40000")


def test_versions_beyond_the_tables_are_undecodable(read: Read) -> None:
    header = (18).to_bytes(2, "big") + (9).to_bytes(2, "big") + (1).to_bytes(4, "big") + b"\0\1t\0"
    asked = (len(header) + 3).to_bytes(4, "big") + header + b"new"
    items = read(Wire().open().client(asked).server(refusal(1, 4)[1]).client(metadata(2)[0]).server(metadata(2)[1]))
    first = items[0]
    assert isinstance(first, Exchange)
    assert first.request is None and first.header["clientId"] == "t"
    assert [each.reason for each in first.failures] == [
        "request 1: requestApiVersion: ApiVersions has no version 9 (known: 0-5)"
    ]
    assert first.response is not None and first.response["errorCode"] == 35
    assert summary(items) == ["API_VERSIONS 1", "METADATA 2"]


def test_an_unknown_api_key_is_undecodable(read: Read) -> None:
    header = (120).to_bytes(2, "big") + bytes(2) + (2).to_bytes(4, "big") + b"\0\1t"
    asked = (len(header) + 4).to_bytes(4, "big") + header + b"\0abc"
    answer = (7).to_bytes(4, "big") + (2).to_bytes(4, "big") + b"xyz"
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1]).client(asked).server(answer)
    items = read(wire.client(metadata(3)[0]).server(metadata(3)[1]))
    assert summary(items) == ["METADATA 1", "120 2", "METADATA 3"]
    unknown = items[1]
    assert isinstance(unknown, Exchange)
    assert unknown.request is None and unknown.response is None
    assert [each.data for each in unknown.failures] == [asked[4:], answer[4:]]


@pytest.mark.parametrize("name", ["ba\td", "a\nb", "\x1b[2K", "\u202e", "a "])
def test_a_client_id_may_hold_anything(read: Read, name: str) -> None:
    asked, answer = request(3, 12, 1, {"topics": None}, name), metadata(1)[1]
    (item,) = read(Wire().open().client(asked).server(answer).close())
    assert isinstance(item, Exchange) and item.client_id == name


def test_a_reset_ends_a_connection(read: Read) -> None:
    wire = Wire().open().client(metadata(1)[0])
    wire.add(1, RST | ACK)
    items = read(wire)
    assert summary(items) == ["METADATA 1 ?", "unanswered-at-end"]
    assert events(items)[0].reason.endswith("the connection was reset")


def test_ports_are_used_again(read: Read) -> None:
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1]).close()
    again = Wire(start=wire.now, seq=(900_000, 70_000)).open().client(produce(2)[0]).server(produce(2)[1]).close()
    assert summary(read(wire.packets + again.packets)) == ["METADATA 1", "PRODUCE 2"]


def test_ports_are_used_again_without_a_goodbye(read: Read) -> None:
    wire = Wire().open().client(metadata(1)[0])
    again = Wire(start=wire.now, seq=(900_000, 70_000)).open().client(produce(2)[0]).server(produce(2)[1])
    assert summary(read(wire.packets + again.packets)) == ["METADATA 1 ?", "unanswered-at-end", "PRODUCE 2"]


def test_the_server_port_can_be_pinned(tmp_path: Any, read: Read) -> None:
    from kcli.capture.api import read_capture
    from tests.capture.wires import pcap

    wire = chatter(range(1, 5), Wire().open())
    path = tmp_path / "ports.pcap"
    path.write_bytes(pcap(wire.packets))
    assert len(list(read_capture(path, ports=[9092]).items())) == 4
    assert list(read_capture(path, ports=[9093]).items()) == []
    # A pin overrules who connected, and then no request is found.
    assert summary(list(read_capture(path, ports=[40000]).items())) == ["not-kafka"]


def test_a_body_that_cannot_be_decoded_is_an_event(read: Read) -> None:
    asked, answer = metadata(1)
    broken = asked[:-3] + b"\xff\xff\xff"
    items = read(Wire().open().client(broken).server(answer).client(metadata(2)[0]).server(metadata(2)[1]))
    first = items[0]
    assert isinstance(first, Exchange)
    assert first.request is None and first.response is not None
    (failure,) = first.failures
    assert failure.kind == "undecodable" and failure.reason.startswith("request 1: MetadataRequest v12")
    assert first.line().count(b'"request":null') == 1


def test_a_fin_that_was_not_captured_is_no_gap(read: Read) -> None:
    wire = chatter(range(1, 3), Wire().open())
    wire.add(0, FIN | ACK)
    wire.packets.pop()
    wire.add(1, FIN | ACK)
    assert summary(read(wire)) == ["METADATA 1", "METADATA 2"]


def test_steadiness_is_handed_back_and_forth() -> None:
    """What a connection releases is what it restores."""
    emitted: list[Exchange | Event] = []
    ends = ("10.0.0.1:40000", "10.0.0.2:9092")
    made = CapturedConnection(ends, 0, (True, True), Bodies(), emitted.append)
    made.data(0, 4, metadata(0)[0])
    before = made.steady  # nothing proves yet that this is Kafka's
    made.data(1, 4, metadata(0)[1])
    made.data(0, 5, metadata(1)[0] + metadata(2)[0][:9])
    assert (before, made.steady) == (False, True)
    pending, buffers, heard, begun, answered, client = made.release()
    assert [each[0] for each in pending] == [1] and buffers == [metadata(2)[0][:9], b""] and heard == (5, 4)
    assert (begun[0], answered, client) == (5, 4, b"tester")
    other = CapturedConnection(ends, 0, (True, True), Bodies(), emitted.append)
    other.restore(True, pending, buffers, (2 * len(metadata(1)[0]), 0), heard, 5, True, begun, answered, client)
    other.data(0, 6, metadata(2)[0][9:])
    other.data(1, 7, metadata(1)[1] + metadata(2)[1])
    assert summary(emitted) == ["METADATA 0", "METADATA 1", "METADATA 2"]
    assert list(other.pending) == [] and isinstance(Pending(1, 3, 12, 5, b""), Pending)


def test_a_segment_of_nothing_but_a_syn_payload(read: Read) -> None:
    """TCP Fast Open: a SYN may carry bytes."""
    asked, answer = metadata(1)
    wire = Wire()
    wire.add(0, SYN, asked, ack=0)
    wire.add(1, SYN | ACK)
    wire.server(answer)
    assert summary(read(wire)) == ["METADATA 1"]


def test_padding_of_the_link_is_no_data(read: Read) -> None:
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1])
    padded = [packet._replace(data=packet.data + bytes(9)) for packet in wire.packets]
    assert summary(read(padded)) == ["METADATA 1"]
    assert ethernet(ip4("10.0.0.1", "10.0.0.2", segment(1, 2, 3, 4, ACK)))


def test_another_tap_whose_clock_is_slow_repeats_what_has_ended(read: Read) -> None:
    """Its packets come when the connection is over, and are far from its end."""
    packets = chatter(range(1, 1500), Wire().open()).close().packets
    again = [Packet(ns + packets[-1].ns - packets[0].ns + 3 * 10**9, data) for ns, data, _ in packets]
    assert sum(len(data) - 54 for _, data, _ in packets) > 2 << 16
    items = read([*packets, *again])
    assert [getattr(item, "correlation_id", item) for item in items] == [*range(1, 1500)]
