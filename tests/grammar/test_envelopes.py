"""Envelopes: what is inside is shown, and only its secrets are hidden."""

import base64
import json
from typing import Any

import pytest

from kcli.errors import EncodeError
from kcli.grammar import frames, messages
from kcli.grammar.envelopes import EnvelopeCodec
from kcli.grammar.secrets import Hidden

MARK = "S3CRET-" * 5
ALTER_CONFIGS, SASL_AUTHENTICATE, METADATA, PRODUCE, DESCRIBE_CONFIGS, ENVELOPE = 33, 36, 3, 0, 32, 58
CONFIGS = [{"name": "ssl.keystore.password", "value": MARK}, {"name": "retention.ms", "value": "12345678"}]
ALTER = {"resources": [{"resourceType": 2, "resourceName": "clicks", "configs": CONFIGS}]}
Inside = tuple[int, int, dict[str, Any]]
SECRETS: list[Inside] = [
    (ALTER_CONFIGS, 2, ALTER),
    (SASL_AUTHENTICATE, 2, {"authBytes": MARK.encode()}),
]
# Records of the metadata log, in a message that nobody forwards.
LOG = [{"name": "__cluster_metadata", "partitionData": [{"index": 0, "records": MARK.encode()}]}]
WITHOUT: list[Inside] = [(METADATA, 12, {"topics": [{"name": "clicks"}]})]
ENVELOPES = messages.request("Envelope", 0)


def header(key: int, version: int) -> dict[str, Any]:
    return {"requestApiKey": key, "requestApiVersion": version, "correlationId": 7, "clientId": "forwarded"}


def enveloped(inside: bytes, **more: Any) -> bytes:
    return ENVELOPES.write({"requestData": inside, "requestPrincipal": b"\0", "clientHostAddress": b"\1\2\3\4", **more})


def answered(key: int, version: int, inside: bytes | None) -> tuple[EnvelopeCodec, bytes]:
    """The codec of the answer to an envelope with that request inside, and such an answer."""
    codec = messages.response("Envelope", 0)
    assert isinstance(codec, EnvelopeCodec)
    request = (
        frames.encode_request(header(key, version), {}) if key != SASL_AUTHENTICATE else bytes([0, key, 0, version])
    )
    return codec.answering({"requestData": request}), codec.write({"responseData": inside, "errorCode": 0})


def nothing_of_it(text: bytes) -> bool:
    coded = base64.b64encode(MARK.encode())
    return MARK.encode() not in text and not any(coded[at : at + 12] in text for at in range(0, len(coded) - 16, 4))


@pytest.mark.parametrize(("key", "version", "body"), SECRETS)
def test_what_is_inside_a_request_is_shown_without_its_secrets(key: int, version: int, body: dict[str, Any]) -> None:
    frame = frames.encode_request(header(key, version), body)
    data = enveloped(frame)
    text, end = ENVELOPES.json(data)
    assert end == len(data) and nothing_of_it(text)
    inside = json.loads(text)["requestData"]
    assert list(inside) == ["requestHeader", "request", "redacted"] and inside["redacted"] == len(frame)
    assert inside["requestHeader"]["clientId"] == "forwarded"
    codec = messages.request(key, version)
    assert inside["request"] == json.loads(codec.json(frame, len(frame) - len(codec.write(body)))[0])
    assert ENVELOPES.json_value(ENVELOPES.read(data)[0]) == json.loads(text)
    shown = ENVELOPES.json(data, secrets=True)[0]
    assert json.loads(shown)["requestData"] == base64.b64encode(frame).decode()
    assert ENVELOPES.write(json.loads(shown)) == data
    with pytest.raises(EncodeError, match="requestData: a secret that was left out"):
        ENVELOPES.write(json.loads(text))


def test_configs_that_are_no_secrets_stay() -> None:
    frame = frames.encode_request(header(ALTER_CONFIGS, 2), ALTER)
    resource = json.loads(ENVELOPES.json(enveloped(frame))[0])["requestData"]["request"]["resources"][0]
    assert resource["resourceName"] == "clicks"
    assert [config["value"] for config in resource["configs"]] == [{"redacted": len(MARK)}, "12345678"]


@pytest.mark.parametrize(("key", "version", "body"), WITHOUT)
def test_one_without_secrets_has_its_bytes_and_is_encoded_again(key: int, version: int, body: dict[str, Any]) -> None:
    frame = frames.encode_request(header(key, version), body)
    data = enveloped(frame)
    made = json.loads(ENVELOPES.json(data)[0])
    assert base64.b64decode(made["requestData"]["base64"]) == frame
    assert made["requestData"]["requestHeader"]["requestApiKeyName"] == "METADATA"
    assert made["requestData"]["request"]["topics"][0]["name"] == "clicks"
    assert ENVELOPES.write(made) == data


def test_records_of_the_metadata_log_are_secrets_inside_as_outside() -> None:
    frame = frames.encode_request(header(PRODUCE, 9), {"acks": -1, "timeoutMs": 1, "topicData": LOG})
    text = ENVELOPES.json(enveloped(frame))[0]
    assert nothing_of_it(text) and json.loads(text)["requestData"]["redacted"] == len(frame)


def broken() -> dict[str, bytes]:
    frame = frames.encode_request(header(ALTER_CONFIGS, 2), ALTER)
    return {
        "cut": frame[:-1],
        "cut in its header": frame[:9],
        "too short": frame[:3],
        "bytes behind it": frame + b"\0",
        "an unknown API": b"\x7f\xff" + frame[2:],
        "an unknown version": frame[:2] + b"\0\x63" + frame[4:],
        "a version below 0": frame[:2] + b"\xff\xff" + frame[4:],
        "an envelope": frames.encode_request(header(ENVELOPE, 0), ENVELOPES.read(enveloped(frame))[0]),
        "text": MARK.encode(),
        "nothing": b"",
    }


@pytest.mark.parametrize("what", broken())
def test_what_does_not_decode_is_hidden_whole(what: str) -> None:
    frame = broken()[what]
    data = enveloped(frame)
    text = ENVELOPES.json(data)[0]
    assert nothing_of_it(text) and json.loads(text)["requestData"] == {"redacted": len(frame)}
    (span,) = [span for span in ENVELOPES.spans(data) if span.path.startswith("requestData")]
    assert isinstance(span.value, Hidden)


def test_what_is_inside_a_response_is_shown_when_it_is_known_what_it_answers() -> None:
    configs = [
        {"name": "sasl.jaas.config", "value": MARK, "synonyms": []},
        {"name": "x", "value": None, "synonyms": []},
    ]
    body = {"results": [{"errorCode": 0, "resourceType": 4, "resourceName": "1", "configs": configs}]}
    frame = frames.encode_response({"correlationId": 7}, DESCRIBE_CONFIGS, 4, body)
    codec, data = answered(DESCRIBE_CONFIGS, 4, frame)
    text = codec.json(data, whole=True)[0]
    assert nothing_of_it(text)
    inside = json.loads(text)["responseData"]
    assert inside["redacted"] == len(frame) and inside["responseHeader"] == {"correlationId": 7}
    assert inside["response"]["results"][0]["configs"][0]["value"] == {"redacted": len(MARK)}
    unknown = messages.response("Envelope", 0)
    assert json.loads(unknown.json(data)[0])["responseData"] == {"redacted": len(frame)}
    assert json.loads(answered(METADATA, 12, frame)[0].json(data)[0])["responseData"] == {"redacted": len(frame)}


def test_an_answer_without_a_message_inside() -> None:
    codec, data = answered(METADATA, 12, None)
    assert json.loads(codec.json(data)[0])["responseData"] is None


@pytest.mark.parametrize(("key", "version", "body"), [*SECRETS, *WITHOUT])
def test_spans_of_what_is_inside_lie_where_its_bytes_are(key: int, version: int, body: dict[str, Any]) -> None:
    frame = frames.encode_request(header(key, version), body)
    data = enveloped(frame)
    spans = ENVELOPES.spans(data)
    by_path = {span.path: span for span in spans}
    assert by_path["requestData"].type == "length"
    assert by_path["requestData.clientId"].value == "forwarded"
    at = by_path["requestData.correlationId"]
    assert data[at.start : at.end] == b"\0\0\0\7"
    assert [span.end for span in spans[:-1]] == [span.start for span in spans[1:]]  # nothing between, nothing twice
    hidden = [span for span in spans if isinstance(span.value, Hidden)]
    assert len(hidden) == frame.count(MARK.encode())
    shown = ENVELOPES.spans(data, secrets=True)
    assert [span[:3] for span in shown] == [span[:3] for span in spans]
    assert not any(isinstance(span.value, Hidden) for span in shown)


def test_the_core_writes_the_same() -> None:
    made = [frames.encode_request(header(key, version), body) for key, version, body in [*SECRETS, *WITHOUT]]
    made.append(frames.encode_request(header(PRODUCE, 9), {"acks": -1, "timeoutMs": 1, "topicData": LOG}))
    made += broken().values()
    node = ENVELOPES.compiled
    assert node is not None
    for frame in made:
        data = enveloped(frame)
        for secrets in (False, True):
            assert node.json(data, secrets=secrets) == ENVELOPES.json(data, secrets=secrets)
