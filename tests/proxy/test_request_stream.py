"""Requests on their way: where each begins, and what answers it."""

from collections import deque
from typing import Any

import pytest

from kcli.errors import NetworkError
from kcli.grammar import frames
from kcli.proxy.request_stream import TOKEN, Awaited, RequestStream

PRODUCE, METADATA, API_VERSIONS, SASL_HANDSHAKE = 0, 3, 18, 17


def request(api_key: int, version: int, number: int, body: dict[str, Any], client: str | None = "c") -> bytes:
    header = {"requestApiKey": api_key, "requestApiVersion": version, "correlationId": number, "clientId": client}
    return sized(frames.encode_request(header, body))


def sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def produce(version: int, acks: int, number: int, transaction: str | None = None) -> bytes:
    rows = [{"name": "t", "partitionData": [{"index": 0, "records": b"x" * 3000}]}]
    body = {"acks": acks, "transactionalId": transaction, "timeoutMs": 1, "topicData": rows}
    return request(
        PRODUCE, version, number, {name: value for name, value in body.items() if version >= 3 or name[1] != "r"}
    )


def awaited_of(data: bytes, *cuts: int) -> list[Awaited]:
    found: deque[Awaited] = deque()
    stream = RequestStream(found)
    for start, end in zip((0, *cuts), (*cuts, len(data)), strict=True):
        stream.feed(data[start:end])
    assert stream.is_between
    return list(found)


def test_each_request_waits_for_its_response_wherever_it_is_cut() -> None:
    data = (
        request(API_VERSIONS, 3, 1, {}) + produce(9, -1, 2) + produce(9, 0, 3, "t" * 300) + request(METADATA, 1, 4, {})
    )
    wanted = [Awaited(API_VERSIONS, 3, 1), Awaited(PRODUCE, 9, 2), Awaited(METADATA, 1, 4)]
    for cut in (*range(1, 80), *range(3000, len(data), 97)):
        assert awaited_of(data, cut) == wanted, cut
    assert awaited_of(data, *range(1, len(data))) == wanted


@pytest.mark.parametrize("version", [2, 3, 8, 9, 12])
def test_produce_without_acks_waits_for_nothing(version: int) -> None:
    assert awaited_of(produce(version, 0, 1)) == []
    assert awaited_of(produce(version, 1, 1, "t" * 30000 if version >= 3 else None)) == [Awaited(PRODUCE, version, 1)]


def test_what_has_no_request_header_waits_for_any_frame() -> None:
    """SASL's tokens behind SaslHandshake v0 (KIP-43)."""
    tokens = [b"", b"\0alice\0alice-secret", b"n,,n=alice,r=abc", b"\x60\x82\x01", b"a\0b\0c", b"\0a\0bcdef"]
    for token in tokens:
        data = request(SASL_HANDSHAKE, 0, 1, {"mechanism": "PLAIN"}) + sized(token) + request(METADATA, 1, 2, {})
        assert awaited_of(data) == [Awaited(SASL_HANDSHAKE, 0, 1), TOKEN, Awaited(METADATA, 1, 2)], token


def test_a_request_that_the_tables_lack_waits_as_any_other() -> None:
    assert awaited_of(sized(b"\3\xe7\0\1\0\0\0\7\xff\xff")) == [Awaited(999, 1, 7)]
    assert awaited_of(sized(b"\0\0\0\x3f\0\0\0\7\xff\xffrest")) == [Awaited(PRODUCE, 63, 7)]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"GET / HTTP/1.1\r\n", "frame"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "it speaks TLS"),
        (b"\xff\xff\xff\xff", "a frame of -1 bytes"),
        (b"\x7f\xff\xff\xff", "a frame of 2147483647 bytes"),
    ],
)
def test_another_protocol(data: bytes, why: str) -> None:
    with pytest.raises(NetworkError, match=why):
        RequestStream(deque()).feed(data)
