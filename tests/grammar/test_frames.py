"""Frames: header and body together, and what they say of each other."""

from __future__ import annotations

import pytest

from kcli.errors import DecodeError, EncodeError
from kcli.grammar import frames

HEADER = {"requestApiKey": 1, "requestApiVersion": 12, "correlationId": 7, "clientId": "c"}
REFUSED = {"errorCode": 35, "apiKeys": [{"apiKey": 18, "minVersion": 0, "maxVersion": 3}]}


def test_a_request_goes_both_ways() -> None:
    frame = frames.encode_request(HEADER, {"topics": [{"topic": "t", "partitions": [{"partition": 3}]}]})
    request = frames.decode_request(b"??" + frame, 2)
    assert request.header == HEADER | {"requestApiKeyName": "FETCH"}
    assert (request.api_key, request.api_version, request.start) == (1, 12, 14)
    assert request.body["topics"][0]["partitions"][0]["partition"] == 3
    assert frames.encode_request(request.header, request.body) == frame


def test_a_response_is_read_with_its_requests_version() -> None:
    frame = frames.encode_response({"correlationId": 7}, 1, 12, {"errorCode": 70})
    response = frames.decode_response(frame, 1, 12)
    assert (response.header, response.body["errorCode"]) == ({"correlationId": 7}, 70)


def test_an_unknown_version_of_api_versions_is_refused_in_version_0() -> None:
    frame = frames.encode_response({"correlationId": 7}, 18, 9, REFUSED)
    assert frame == b"\0\0\0\7" + b"\0\x23" + b"\0\0\0\1" + b"\0\x12\0\0\0\3"
    for version in (3, 9):
        response = frames.decode_response(frame, 18, version)
        assert response.codec.version == 0
        assert response.body == REFUSED
        assert frames.encode_response(response.header, 18, version, response.body) == frame


def test_error_35_in_a_newer_layout_stays_there() -> None:
    body = REFUSED | {"throttleTimeMs": 5}
    frame = frames.encode_response({"correlationId": 7}, 18, 2, body)
    assert frames.decode_response(frame, 18, 2).body == body


def test_an_unknown_message_is_kept_as_bytes() -> None:
    frame = frames.encode_request(HEADER | {"requestApiKey": 999}, {"_trailing": b"what?"})
    request = frames.decode_request(frame)
    assert request.header["requestApiKeyName"] is None
    assert request.body == {"_trailing": b"what?"}
    assert frames.encode_request(request.header, request.body) == frame


def test_a_frame_that_ends_in_its_header_is_named() -> None:
    with pytest.raises(DecodeError, match="needs 4 bytes of api key and version at 0x0, 2 left"):
        frames.decode_request(b"\0\1")
    with pytest.raises(DecodeError, match="RequestHeader v2: correlationId: needs 4 bytes at 0x4, 1 left"):
        frames.decode_request(b"\0\1\0\x0c\0")


def test_a_header_has_to_say_what_it_is() -> None:
    with pytest.raises(EncodeError, match=r"requestHeader\.requestApiVersion: needs an int16, not None"):
        frames.encode_request({"requestApiKey": 1}, {})
