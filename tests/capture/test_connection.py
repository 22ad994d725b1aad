"""One connection's rules: who is who, pairing, SASL, refusals, losses, and what is no Kafka."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kcli.capture.bodies import Bodies
from kcli.capture.connection import CapturedConnection
from kcli.capture.events import Event, Exchange
from kcli.capture.pending import Pending
from tests.capture.messages import api_versions, metadata, produce, refusal, request, response, sasl_handshake
from tests.capture.wires import ACK, FIN, RST, SYN, Packet, Wire, ethernet, ip4, segment

Read = Callable[[Any], list[Exchange | Event]]


def told(items: list[Exchange | Event]) -> list[str]:
    """Items in short: "METADATA 2" with its correlation id, "... ?" unanswered, or an event's kind."""
    return [
        f"{item.api_name} {item.correlation_id}{'' if item.response_frame else ' ?'}"
        if isinstance(item, Exchange) else item.kind
        for item in items
    ]  # fmt: skip


def events(items: list[Exchange | Event]) -> list[Event]:
    return [item for item in items if isinstance(item, Event)]


def test_requests_and_responses_are_paired_when_pipelined(read: Read) -> None:
    first, second, third = metadata(1), produce(2), api_versions(3)
    wire = Wire().open().client(first[0] + second[0][:7]).client(second[0][7:] + third[0])
    wire.server(first[1]).server(second[1] + third[1][:5]).server(third[1][5:]).close()
    items = read(wire)
    assert told(items) == ["METADATA 1", "PRODUCE 2", "API_VERSIONS 3"]
    assert [item.link.server for item in items if isinstance(item, Exchange)] == ["10.0.0.2:9092"] * 3


def test_an_exchange_says_when_and_how_big(read: Read) -> None:
    asked, answer = metadata(1)
    (item,) = read(Wire(start=1_700_000_000_000_000_000).open().client(asked).server(answer))
    assert isinstance(item, Exchange)
    assert item.timestamp == "2023-11-14T22:13:20.003000Z"
    assert (item.latency_ms, item.request_bytes, item.response_bytes) == (1.0, len(asked), len(answer))
    assert (item.client_id, item.connection) == ("tester", "10.0.0.2:9092-10.0.0.1:40000")


def test_answers_out_of_order_find_their_requests(read: Read) -> None:
    first, second = metadata(1), produce(2)
    items = read(Wire().open().client(first[0] + second[0]).server(second[1]).server(first[1]).close())
    assert told(items) == ["PRODUCE 2", "METADATA 1"]


@pytest.mark.parametrize("version", [0, 2, 3, 8, 9, 11])
def test_produce_without_acks_has_no_response(read: Read, version: int) -> None:
    items = read(Wire().open().client(produce(1, 0, version=version)[0]).client(metadata(2)[0]).server(metadata(2)[1]))
    assert told(items) == ["PRODUCE 1 ?", "METADATA 2"]
    assert [event.kind for event in events(items)] == []


def test_what_is_unanswered_at_the_end_is_said(read: Read) -> None:
    items = read(Wire().open().client(metadata(5)[0]).close())
    assert told(items) == ["METADATA 5 ?", "unanswered-at-end"]
    assert events(items)[0].reason == "no response to 5: the connection ends"


def test_a_refused_api_versions_is_answered_in_version_0(read: Read) -> None:
    refused, accepted = refusal(1, 4), api_versions(2, 3)
    items = read(Wire().open().client(refused[0]).server(refused[1]).client(accepted[0]).server(accepted[1]))
    first = items[0]
    assert isinstance(first, Exchange) and first.response is not None
    assert first.response["errorCode"] == 35 and len(first.response["apiKeys"]) == 1
    assert told(items) == ["API_VERSIONS 1", "API_VERSIONS 2"]


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
    assert told(items) == ["API_VERSIONS 1", "METADATA 2"]


def test_an_unknown_api_key_is_undecodable(read: Read) -> None:
    header = (120).to_bytes(2, "big") + bytes(2) + (2).to_bytes(4, "big") + b"\0\1t"
    asked = (len(header) + 4).to_bytes(4, "big") + header + b"\0abc"
    answer = (7).to_bytes(4, "big") + (2).to_bytes(4, "big") + b"xyz"
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1]).client(asked).server(answer)
    items = read(wire.client(metadata(3)[0]).server(metadata(3)[1]))
    assert told(items) == ["METADATA 1", "120 2", "METADATA 3"]
    unknown = items[1]
    assert isinstance(unknown, Exchange)
    assert unknown.request is None and unknown.response is None
    assert [each.data for each in unknown.failures] == [asked[4:], answer[4:]]


@pytest.mark.parametrize("name", ["ba\td", "a\nb", "\x1b[2K", "\u202e", "a "])
def test_a_client_id_may_hold_anything(read: Read, name: str) -> None:
    asked, answer = request(3, 12, 1, {"topics": None}, name), metadata(1)[1]
    (item,) = read(Wire().open().client(asked).server(answer).close())
    assert isinstance(item, Exchange) and item.client_id == name


def test_sasl_handshake_0_is_followed_by_tokens(read: Read) -> None:
    asked, answer = sasl_handshake(1, 0)
    token, empty = b"\0\0\0\x0c\0alice\0secret"[:16], bytes(4)
    wire = Wire().open().client(asked).server(answer).client(token).server(empty)
    items = read(wire.client(metadata(2)[0]).server(metadata(2)[1]).close())
    assert told(items) == ["SASL_HANDSHAKE 1", "not-kafka", "not-kafka", "METADATA 2"]
    assert [event.reason for event in events(items)] == ["SASL token of the client", "SASL token of the server"]


def test_sasl_handshake_1_keeps_to_requests(read: Read) -> None:
    asked, answer = sasl_handshake(1, 1)
    token = request(36, 0, 2, {"authBytes": b"\0a\0b"}), response(36, 0, 2, {"authBytes": b""})
    items = read(Wire().open().client(asked).server(answer).client(token[0]).server(token[1]))
    assert told(items) == ["SASL_HANDSHAKE 1", "SASL_AUTHENTICATE 2"]


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40), "TLS"),
        (b"GET / HTTP/1.1\r\nHost: example\r\n\r\n", "begins with b'GET / HTTP/1'"),
        (b"\0\0\0\x20" + b"\x7f\xff" * 20, "begins with"),
        (b"hi", "begins with b'himore'"),
    ],
)
def test_what_is_not_kafka_is_counted_and_said(read: Read, start: bytes, reason: str) -> None:
    items = read(Wire().open().client(start).server(b"whatever the answer is").client(b"more").close())
    assert told(items) == ["not-kafka"]
    event = events(items)[0]
    assert event.reason.startswith(reason) and event.size == len(start) + 26


def test_a_server_that_speaks_first_is_not_kafka(read: Read) -> None:
    assert told(read(Wire().open().server(b"SSH-2.0-OpenSSH_9.2\r\n").client(b"SSH-2.0-other_client\r\n").close())) == [
        "not-kafka"
    ]


def test_a_reset_ends_a_connection(read: Read) -> None:
    wire = Wire().open().client(metadata(1)[0])
    wire.add(1, RST | ACK)
    items = read(wire)
    assert told(items) == ["METADATA 1 ?", "unanswered-at-end"]
    assert events(items)[0].reason.endswith("the connection was reset")


def test_ports_are_used_again(read: Read) -> None:
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1]).close()
    again = Wire(start=wire.now, seq=(900_000, 70_000)).open().client(produce(2)[0]).server(produce(2)[1]).close()
    assert told(read(wire.packets + again.packets)) == ["METADATA 1", "PRODUCE 2"]


def test_ports_are_used_again_without_a_goodbye(read: Read) -> None:
    wire = Wire().open().client(metadata(1)[0])
    again = Wire(start=wire.now, seq=(900_000, 70_000)).open().client(produce(2)[0]).server(produce(2)[1])
    assert told(read(wire.packets + again.packets)) == ["METADATA 1 ?", "unanswered-at-end", "PRODUCE 2"]


def later(packets: list[Packet], by: int = 10**9) -> list[Packet]:
    return [packet._replace(ns=packet.ns + by) for packet in packets]


def chatter(numbers: range, wire: Wire) -> Wire:
    for number in numbers:
        asked, answer = metadata(number)
        wire.client(asked).server(answer)
    return wire


def without(wire: Wire, *lost: int) -> list[Packet]:
    return [packet for at, packet in enumerate(wire.packets) if at not in lost]


def test_a_lost_request_is_a_gap_and_its_answer_is_kept(read: Read) -> None:
    wire = chatter(range(1, 40), Wire().open())
    items = read(without(wire, 3 + 2 * 4))  # the request of correlation id 5
    assert told(items).count("gap") == 1 and told(items).count("undecodable") == 1
    answers = [item.correlation_id for item in items if isinstance(item, Exchange)]
    assert answers == [number for number in range(1, 40) if number != 5]
    gap, orphan = events(items)
    assert gap.size == len(metadata(5)[0]) and orphan.reason == "answers request 5, which is not in the capture"
    assert orphan.data == metadata(5)[1][4:]


def test_a_lost_response_leaves_its_request_unanswered(read: Read) -> None:
    wire = chatter(range(1, 40), Wire().open())
    items = read(without(wire, 4 + 2 * 4))
    assert [event.kind for event in events(items)] == ["gap"]
    assert "METADATA 5 ?" in told(items)
    assert len([item for item in items if isinstance(item, Exchange)]) == 39


def test_a_loss_within_a_frame_damages_only_that(read: Read) -> None:
    asked, answer = produce(5, records=bytes(range(256)) * 20)
    wire = chatter(range(1, 5), Wire().open())
    lost = len(wire.packets) + 1
    for start in range(0, len(asked), 1000):
        wire.client(asked[start : start + 1000])
    wire.server(answer)
    items = read(without(chatter(range(6, 40), wire), lost))
    before, gap, *others = events(items)
    assert gap.size == 1000 and "Produce v9 request 5" in gap.reason
    assert {event.kind for event in (before, *others)} == {"undecodable"}
    assert [item.correlation_id for item in items if isinstance(item, Exchange)] == [*range(1, 5), *range(6, 40)]


def test_a_capture_may_begin_in_mid_stream(read: Read) -> None:
    wire = chatter(range(1, 40), Wire().open())
    for start in range(4, 30):
        items = read(wire.packets[start:])
        numbers = [item.correlation_id for item in items if isinstance(item, Exchange)]
        whole = range((start - 3 + 1) // 2 + 1, 40)
        assert numbers == list(whole), start
        assert all(event.reason == "before the first whole frame" for event in events(items))


def test_a_capture_of_one_direction_has_requests_alone(read: Read) -> None:
    wire = chatter(range(1, 5), Wire().open())
    items = read([packet for packet in wire.packets if packet.data[26:30] == bytes([10, 0, 0, 1])])
    assert told(items) == [f"METADATA {number} ?" for number in range(1, 5)] + ["unanswered-at-end"]


def test_the_server_port_can_be_pinned(tmp_path: Any, read: Read) -> None:
    from kcli.capture.reading import read_capture
    from tests.capture.wires import pcap

    wire = chatter(range(1, 5), Wire().open())
    path = tmp_path / "ports.pcap"
    path.write_bytes(pcap(wire.packets))
    assert len(list(read_capture(path, ports=[9092]).items())) == 4
    assert list(read_capture(path, ports=[9093]).items()) == []
    # A pin overrules who connected, and then no request is found.
    assert told(list(read_capture(path, ports=[40000]).items())) == ["not-kafka"]


def test_lengths_that_cannot_be_are_said(read: Read) -> None:
    wire = chatter(range(1, 3), Wire().open()).client(b"\x7f\xff\xff\xff" + bytes(20))
    items = read(chatter(range(3, 5), wire))
    assert told(items)[:3] == ["METADATA 1", "METADATA 2", "undecodable"]
    assert "cannot have a length of 2147483647" in events(items)[0].reason
    assert told(items)[-2:] == ["METADATA 3", "METADATA 4"]


def test_a_request_that_was_cut_short_is_kafka_all_the_same(read: Read) -> None:
    """What the capture has of it tells, however its connection goes on."""
    wire = Wire().open()
    cut = wire.add(0, ACK, metadata(1)[0])
    wire.packets[-1] = cut._replace(data=cut.data[:-9], length=len(cut.data))
    items = read(wire.server(b"\0\0"))
    assert "not-kafka" not in told(items)
    assert "Metadata v12 request 1" in events(items)[1].reason


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
    assert told(read(wire)) == ["METADATA 1", "METADATA 2"]


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
    pending, buffers, heard = made.release()
    assert [each[0] for each in pending] == [1] and buffers == [metadata(2)[0][:9], b""] and heard == (5, 4)
    other = CapturedConnection(ends, 0, (True, True), Bodies(), emitted.append)
    other.restore(True, pending, buffers, (2 * len(metadata(1)[0]), 0), heard, 5, True)
    other.data(0, 6, metadata(2)[0][9:])
    other.data(1, 7, metadata(1)[1] + metadata(2)[1])
    assert told(emitted) == ["METADATA 0", "METADATA 1", "METADATA 2"]
    assert list(other.pending) == [] and isinstance(Pending(1, 3, 12, 5, b""), Pending)


def test_a_segment_of_nothing_but_a_syn_payload(read: Read) -> None:
    """TCP Fast Open: a SYN may carry bytes."""
    asked, answer = metadata(1)
    wire = Wire()
    wire.add(0, SYN, asked, ack=0)
    wire.add(1, SYN | ACK)
    wire.server(answer)
    assert told(read(wire)) == ["METADATA 1"]


def test_padding_of_the_link_is_no_data(read: Read) -> None:
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1])
    padded = [packet._replace(data=packet.data + bytes(9)) for packet in wire.packets]
    assert told(read(padded)) == ["METADATA 1"]
    assert ethernet(ip4("10.0.0.1", "10.0.0.2", segment(1, 2, 3, 4, ACK)))
