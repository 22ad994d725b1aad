"""Pairing of requests and responses, and SASL tokens among them."""

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.sinks import line_of
from tests.capture.messages import api_versions, metadata, produce, refusal, request, response, sasl_handshake
from tests.capture.traffic import chatter, events, summary
from tests.capture.wires import Wire, frame

Read = Callable[[Any], list[Exchange | Event]]


def test_requests_and_responses_are_paired_when_pipelined(read: Read) -> None:
    first, second, third = metadata(1), produce(2), api_versions(3)
    wire = Wire().open().client(first[0] + second[0][:7]).client(second[0][7:] + third[0])
    wire.server(first[1]).server(second[1] + third[1][:5]).server(third[1][5:]).close()
    items = read(wire)
    assert summary(items) == ["METADATA 1", "PRODUCE 2", "API_VERSIONS 3"]
    assert [item.link.server for item in items if isinstance(item, Exchange)] == ["10.0.0.2:9092"] * 3


def test_answers_out_of_order_find_their_requests(read: Read) -> None:
    first, second = metadata(1), produce(2)
    items = read(Wire().open().client(first[0] + second[0]).server(second[1]).server(first[1]).close())
    assert summary(items) == ["PRODUCE 2", "METADATA 1"]


@pytest.mark.parametrize("version", [0, 2, 3, 8, 9, 11])
def test_produce_without_acks_has_no_response(read: Read, version: int) -> None:
    items = read(Wire().open().client(produce(1, 0, version=version)[0]).client(metadata(2)[0]).server(metadata(2)[1]))
    assert summary(items) == ["PRODUCE 1 ?", "METADATA 2"]
    assert [event.kind for event in events(items)] == []


def test_what_is_unanswered_at_the_end_is_said(read: Read) -> None:
    items = read(Wire().open().client(metadata(5)[0]).close())
    assert summary(items) == ["METADATA 5 ?", "unanswered-at-end"]
    assert events(items)[0].reason == "no response to 5: the connection ends"


def test_a_refused_api_versions_is_answered_in_version_0(read: Read) -> None:
    refused, accepted = refusal(1, 4), api_versions(2, 3)
    items = read(Wire().open().client(refused[0]).server(refused[1]).client(accepted[0]).server(accepted[1]))
    first = items[0]
    assert isinstance(first, Exchange) and first.response is not None
    assert first.response["errorCode"] == 35 and len(first.response["apiKeys"]) == 1
    assert summary(items) == ["API_VERSIONS 1", "API_VERSIONS 2"]


def test_sasl_handshake_0_is_followed_by_tokens(read: Read) -> None:
    asked, answer = sasl_handshake(1, 0)
    token, empty = b"\0\0\0\x0c\0alice\0secret"[:16], bytes(4)
    wire = Wire().open().client(asked).server(answer).client(token).server(empty)
    items = read(wire.client(metadata(2)[0]).server(metadata(2)[1]).close())
    assert summary(items) == ["SASL_HANDSHAKE 1", "not-kafka", "not-kafka", "METADATA 2"]
    assert [event.reason for event in events(items)] == ["SASL token of the client", "SASL token of the server"]


def test_sasl_handshake_1_keeps_to_requests(read: Read) -> None:
    asked, answer = sasl_handshake(1, 1)
    token = request(36, 0, 2, {"authBytes": b"\0a\0b"}), response(36, 0, 2, {"authBytes": b""})
    items = read(Wire().open().client(asked).server(answer).client(token[0]).server(token[1]))
    assert summary(items) == ["SASL_HANDSHAKE 1", "SASL_AUTHENTICATE 2"]


WORD = b"Xq7#Rw3~Mz"  # what nobody may learn from a reason, a number or a text


def unknown(number: bytes, client: str | None, key: int = 900) -> bytes:
    """A request of an API that the tables don't have, and WORD behind its header."""
    name = b"\xff\xff" if client is None else len(client).to_bytes(2, "big") + client.encode()
    return frame(key.to_bytes(2, "big") + b"\0\1" + number + name + WORD)


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        (unknown(b"\0\0\0\7", "tester"), True),  # the client is known by its id
        (unknown(b"\0\0\0\7", "tester", 3)[:6] + b"\0\x63" + unknown(b"\0\0\0\7", "tester")[8:], True),
        (unknown(WORD[:4], "other"), False),
        (unknown(WORD[:4], None), False),
        (frame(b"\3\x84\0\1" + WORD * 2), False),  # no header
        (frame(WORD * 2), False),
        (frame(b"\0\3\0\x63" + WORD * 2), False),
    ],
)
def test_a_request_that_nobody_can_decode_or_has_answered_shows_its_client_alone(
    read: Read, asked: bytes, shown: bool
) -> None:
    items = read(chatter(range(1, 4), Wire().open()).client(asked).close())
    assert summary(items)[:3] == ["METADATA 1", "METADATA 2", "METADATA 3"]
    assert any(isinstance(item, Exchange) for item in items[3:]) == shown
    for item in items[3:]:
        lines = line_of(item) if isinstance(item, Exchange) else item.line()
        assert str(int.from_bytes(WORD[:4], "big")).encode() not in lines
        assert not any(WORD[at : at + 4] in lines for at in range(len(WORD) - 3))
        assert b64encode(asked[4:])[:8] not in lines


def test_an_answer_shows_the_header_of_an_unknown_request_but_no_more(read: Read) -> None:
    asked, answer = unknown(b"\0\0\0\7", "other"), frame(b"\0\0\0\7" + WORD)
    items = read(chatter(range(1, 3), Wire().open()).client(asked).server(answer).close())
    assert summary(items) == ["METADATA 1", "METADATA 2", "900 7"]
    assert isinstance(items[2], Exchange)
    line = line_of(items[2])
    assert b'"clientId":"other"' in line and b64encode(answer[4:])[:12] not in line and WORD[:4] not in line


def test_frames_of_the_server_that_answer_nothing_show_no_number(read: Read) -> None:
    items = read(chatter(range(1, 4), Wire().open()).server(frame(WORD)).close())
    (event,) = events(items)
    assert event.reason == "answers no request in the capture" and event.hidden
    asked = frame(b"\3\x84\0\1" + WORD * 2)  # whose header can't be read, and whose answer is an answer all the same
    items = read(chatter(range(1, 4), Wire().open()).client(asked).server(frame(WORD[:4] + b"x")).close())
    assert [each.reason for each in events(items)] == [
        "a request of an unknown API or version",
        "answers a request of an unknown API or version",
    ]


@pytest.mark.parametrize("start", [b"\0\0\x13\x88\0\1\0\7" + WORD, b"\x12\x34\x56\x78" + WORD])
def test_the_rest_of_a_frame_shows_a_length_where_it_names_a_message(read: Read, start: bytes) -> None:
    for add, known in ((Wire.client, start[4:8] == b"\0\1\0\7"), (Wire.server, False)):
        (event,) = events(read(add(chatter(range(1, 4), Wire().open()), start)))
        length = int.from_bytes(start[:4], "big") + 4
        assert event.reason == f"{len(start)}{f' of {length}' if known else ''} bytes of a frame: the capture ends"
