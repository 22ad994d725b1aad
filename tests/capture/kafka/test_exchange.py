"""Exchanges as values and as lines."""

import json

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.events import Link
from kcli.capture.kafka.exchange import Exchange
from tests.capture.messages import metadata

BODIES = Bodies()
LINK = Link("10.0.0.2:9092", "[::1]:4000")


def exchange(asked: bytes, answer: bytes | None) -> Exchange:
    return Exchange(LINK, 10**9, asked, None if answer is None else 10**9 + 2_345_678, answer, BODIES)


def test_an_exchange_as_values() -> None:
    asked, answer = metadata(7)
    made = exchange(asked[4:], answer[4:])
    assert (made.api_key, made.api_version, made.correlation_id, made.api_name) == (3, 12, 7, "METADATA")
    assert made.connection == "10.0.0.2:9092-[::1]:4000" == str(LINK)
    assert made.header["clientId"] == "tester" and made.request is not None and made.response is not None
    assert made.latency_ms == 2.345 and made.failures == []


def test_an_exchange_as_a_line() -> None:
    asked, answer = metadata(7)
    line = json.loads(exchange(asked[4:], answer[4:]).line())
    assert line["timestamp"] == "1970-01-01T00:00:01.000000Z" and line["latencyMs"] == 2.345
    assert line["request"]["topics"][0]["name"] == "orders"
    alone = json.loads(exchange(asked[4:], None).line())
    assert (alone["response"], alone["responseBytes"], alone["latencyMs"]) == (None, None, None)


def test_bodies_that_cannot_be_decoded() -> None:
    asked, answer = metadata(7)
    for frame, answered in ((asked[4:-3], answer[4:]), (asked[4:], answer[4:9])):
        made = exchange(frame, answered)
        assert (made.request is None) != (made.response is None)
        (failure,) = made.failures
        assert failure.kind == "undecodable" and failure.data in (frame, answered)
        again = exchange(frame, answered)
        assert b":null," in again.line() and len(again.failures) == 1


def test_a_header_that_cannot_be_decoded_says_what_it_can() -> None:
    made = exchange(metadata(7)[0][4:14], None)
    assert made.header == {
        "requestApiKey": 3,
        "requestApiVersion": 12,
        "correlationId": 7,
        "clientId": None,
        "requestApiKeyName": "METADATA",
    }
    assert json.loads(made.line())["requestHeader"] == made.header
