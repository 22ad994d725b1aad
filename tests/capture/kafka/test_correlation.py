"""Pairing of requests and responses, and SASL tokens among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from tests.capture.messages import api_versions, metadata, produce, refusal, request, response, sasl_handshake
from tests.capture.traffic import events, summary
from tests.capture.wires import Wire

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
