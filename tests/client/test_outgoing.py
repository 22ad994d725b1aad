import json

import pytest

from kcli import __version__
from kcli.client.outgoing import answer_text, encoded, from_bytes, from_json, looks_like_json, raw
from kcli.errors import DecodeError, EncodeError, InputError, UsageError
from kcli.grammar import frames

HEADER = {"requestApiKey": 3, "requestApiVersion": 12, "correlationId": 9, "clientId": "me"}
BODY = {"topics": [{"name": "t"}], "allowAutoTopicCreation": False}
FRAME = frames.encode_request(HEADER, BODY)


def framed(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


@pytest.mark.parametrize("data", [FRAME, framed(FRAME)])
def test_an_encoded_request_goes_out_as_it_is_with_its_length(data: bytes) -> None:
    request = from_bytes(data)
    assert request.data == framed(FRAME)
    assert (request.api_key, request.version, request.correlation, request.answered) == (3, 12, 9, True)
    assert request.name == "Metadata v12"


def test_what_is_no_request_is_said_with_its_place() -> None:
    with pytest.raises(DecodeError, match="topics"):
        from_bytes(FRAME[:-8])


@pytest.mark.parametrize(
    ("value", "api", "version"),
    [
        ({"requestHeader": HEADER, "request": BODY}, None, None),
        ({"requestHeader": {**HEADER, "requestApiKeyName": "METADATA"}, "request": BODY}, None, None),
        ({"requestHeader": {"requestApiKeyName": "METADATA", "requestApiVersion": 12}, "request": BODY}, None, None),
        ({"requestHeader": {"requestApiKey": 3}, "request": BODY}, None, 12),
        ({"request": BODY}, "metadata", 12),
        (BODY, "Metadata", 12),
        (BODY, "Metadata", None),
    ],
)
def test_json_with_as_much_of_a_header_as_there_is(value: object, api: str | None, version: int | None) -> None:
    (written,) = from_json(json.dumps(value).encode(), api, version)
    request = encoded(written, lambda key: {3: 12}[key], 9, "me")
    assert request.data == framed(FRAME)


@pytest.mark.parametrize(("version", "named"), [(2, False), (3, True), (5, True)])
def test_api_versions_names_the_client_where_the_request_does_not(version: int, named: bool) -> None:
    """A broker refuses a request without a name (KIP-511)."""
    (written,) = from_json(b"{}", "ApiVersions", version)
    body = frames.decode_request(encoded(written, lambda _: 0, 9, "me").data[4:]).body
    found = body.get("clientSoftwareName"), body.get("clientSoftwareVersion")
    assert found == (("kcli", __version__) if named else (None, None))


def test_json_lines_are_as_many_requests() -> None:
    lines = "\n".join(json.dumps({"request": {"topics": [{"name": name}]}}) for name in "abc")
    requests = from_json(lines.encode(), "Metadata", 4)
    assert [each.body["topics"][0]["name"] for each in requests] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ('{"topics": null}', UsageError, "the API is unknown"),
        ('{"topics": nul}', InputError, "line 1, column 12"),
        ('{"request": {}}\n{"request": }', InputError, "not JSON: line 2"),
        ('{"requestHeader": {"requestApiKeyName": "Metadat"}, "request": {}}', UsageError, "did you mean Metadata"),
        ('{"requestHeader": 3, "request": {}}', InputError, "are JSON objects"),
        ('{"request": ' + "[" * 100_000, InputError, "nested too deep"),
        ('{"request": ' + "9" * 10_000 + "}", InputError, "a number of more than"),
        ('{"request": {}}\n' + "9" * 10_000, InputError, "a number of more than"),
    ],
)
def test_what_is_wrong_with_json_is_said(text: str, error: type[Exception], words: str) -> None:
    assert looks_like_json(text.encode())
    with pytest.raises(error, match=words):
        from_json(text.encode(), None, None)


def test_a_value_without_bytes_is_said() -> None:
    (written,) = from_json(b'{"topics": 3}', "Metadata", 12)
    with pytest.raises(EncodeError, match="topics"):
        encoded(written, lambda _: 0, 1, "c")


def test_produce_without_acks_has_no_answer() -> None:
    (written,) = from_json(b'{"acks": 0, "timeoutMs": 1, "topicData": []}', "Produce", 9)
    assert not encoded(written, lambda _: 0, 1, "c").answered


@pytest.mark.parametrize("data", [b"", b"\0", framed(FRAME), framed(FRAME) * 2 + b"\0\0\1\0junk", b"\xff" * 40])
def test_raw_bytes_stay_what_they_are(data: bytes) -> None:
    assert b"".join(part.data for part in raw(data)) == data


def test_raw_bytes_that_look_like_requests_say_how_to_read_their_answers() -> None:
    first, second = raw(framed(FRAME[:-3]) + b"\0\0\1\0junk")
    assert (first.api_key, first.version, first.correlation) == (3, 12, 9)
    assert (second.api_key, second.version, second.correlation) == (None, None, None)


def test_an_answer_is_printed_as_decode_response_prints_it() -> None:
    request = from_bytes(FRAME)
    frame = frames.encode_response({"correlationId": 9}, 3, 12, {"clusterId": "c", "controllerId": 1, "topics": []})
    answer = json.loads(answer_text(request, frame))
    assert answer["responseHeader"] == {"correlationId": 9}
    assert (answer["requestApiKey"], answer["requestApiVersion"]) == (3, 12)
    assert answer["response"]["clusterId"] == "c"
    assert json.loads(answer_text(raw(b"??")[0], b"abc")) == {"base64": "YWJj"}
