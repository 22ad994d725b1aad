"""Frames: header and body together, and what they say of each other."""

import pytest

from kcli.errors import DecodeError, EncodeError, UsageError
from kcli.grammar import frames, messages

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


def test_a_message_may_be_changed_and_written_again() -> None:
    frame = frames.encode_request(HEADER, {"topics": [{"topic": "t", "partitions": [{"partition": 3}]}]})
    request = frames.decode_request(frame)
    assert frames.encode(request) == frame
    request.body["maxBytes"] = 1
    request.header["clientId"] = "me"
    again = frames.decode_request(frames.encode(request))
    assert (again.body, again.header["clientId"]) == (request.body, "me")
    response = frames.decode_response(frames.encode_response({"correlationId": 7}, 1, 12, {"errorCode": 70}), 1, 12)
    response.body = {"errorCode": 3}
    assert frames.decode_response(frames.encode(response), "fetch", 12).body["errorCode"] == 3
    with pytest.raises(UsageError, match="a Request or a Response expected, not dict"):
        frames.encode({})  # type: ignore[arg-type]


def test_names_are_taken_where_keys_are() -> None:
    named = HEADER | {"requestApiKey": "Fetch"}
    assert frames.encode_request(named, {}) == frames.encode_request(HEADER, {})
    assert frames.Request(named, {}).api_key == 1
    frame = frames.encode_response({"correlationId": 7}, 1, 12, {})
    for name in (1, "Fetch", "FETCH", "1"):
        response = frames.decode_response(frame, name, 12)
        assert (response.api_key, response.api, response.version) == (1, "Fetch", 12)
    for bad in ("Fetcch", 1.0, None):
        with pytest.raises(UsageError, match="no such API"):
            frames.decode_response(frame, bad, 12)  # type: ignore[arg-type]
    assert messages.request("Fetch", 12) is messages.request(1, 12) is messages.message("FetchRequest", 12)
    assert messages.message("FetchRequest").version >= 18


def test_a_length_that_is_still_in_front_is_named() -> None:
    frame = frames.encode_request(HEADER, {})
    with pytest.raises(DecodeError, match="the frame's length is still in front"):
        frames.decode_request(len(frame).to_bytes(4, "big") + frame)


def test_messages_in_a_notebook() -> None:
    request = frames.decode_request(frames.encode_request(HEADER | {"clientId": "<c>"}, {"topics": [{"topic": "<t>"}]}))
    assert repr(request) == "<Request Fetch v12, correlation id 7>"
    shown = request._repr_html_()
    assert "&lt;c&gt;" in shown and "&quot;&lt;t&gt;&quot;" in shown and "<t>" not in shown
    request.body["topics"] = 5
    assert "this body can&#x27;t be shown: TypeError" in request._repr_html_()
    request.header = {}
    assert repr(request).startswith("<Request that can't be encoded (requestHeader.requestApiKey: needs an int16")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"rackId": ""}, "has no field 'rackId' in this version, versions 11+ have it (it has: isolationLevel, "),
        (
            {"topics": [{"topic": "t", "partitions": [{"partition": 0, "currentLeaderEpoch": 1}]}]},
            "topics[0].partitions[0]: has no field 'currentLeaderEpoch' in this version, versions 9+ have it (it has: ",
        ),
        ({"rakId": ""}, "has no field 'rakId' in this version (it has: "),
        ({"topics": [{"nope": 1}]}, "topics[0]: has no field 'nope' in this version (it has: "),
    ],
)
def test_a_field_of_other_versions_is_told_with_them(body: dict[str, object], said: str) -> None:
    header = {"requestApiKey": 1, "requestApiVersion": 4, "correlationId": 1, "clientId": "c"}
    with pytest.raises(EncodeError) as error:
        frames.encode_request(header, body)
    assert str(error.value).startswith(f"FetchRequest v4: {said}")
