"""Secrets in what the verbs of messages show: compiled and interpreted alike."""

import base64
import json
from typing import Any

import pytest

from kcli.errors import EncodeError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.secrets import Hidden, hide_records, hide_span, hide_spans, redacted
from kcli.grammar.words.trace import Span
from kcli.schemas.catalog import catalog
from kcli.schemas.secrets import SECRETS

MARK = "S3CRET-" * 5
RAW = MARK.encode()
CONFIGS = [{"name": name, "value": MARK} for name in ("ssl.keystore.password", "never.heard.of")]
VALUES: dict[str, dict[str, Any]] = {
    "SaslAuthenticateRequest": {"authBytes": RAW},
    "SaslAuthenticateResponse": {"authBytes": RAW},
    "AlterUserScramCredentialsRequest": {"upsertions": [{"name": "u", "salt": RAW, "saltedPassword": RAW}]},
    "UserScramCredentialRecord": {"name": "u", "salt": RAW, "storedKey": RAW, "serverKey": RAW},
    "CreateDelegationTokenResponse": {"tokenId": "t", "hmac": RAW},
    "RenewDelegationTokenRequest": {"hmac": RAW},
    "ExpireDelegationTokenRequest": {"hmac": RAW},
    "DescribeDelegationTokenResponse": {"tokens": [{"tokenId": "t", "hmac": RAW}, {"tokenId": "s", "hmac": RAW}]},
    "EnvelopeRequest": {"requestData": RAW},
    "EnvelopeResponse": {"responseData": RAW},
    "AlterConfigsRequest": {"resources": [{"resourceType": 4, "configs": CONFIGS}]},
    "IncrementalAlterConfigsRequest": {"resources": [{"resourceType": 4, "configs": CONFIGS}]},
    "CreateTopicsRequest": {"topics": [{"name": "retention.ms", "configs": CONFIGS}]},
    "CreateTopicsResponse": {"topics": [{"name": "retention.ms", "configs": CONFIGS}]},
    "DescribeConfigsResponse": {"results": [{"resourceType": 4, "configs": CONFIGS}]},
    "ConfigRecord": {"resourceType": 4, "resourceName": "1", **CONFIGS[0]},
}


def every_version() -> list[tuple[str, int]]:
    found = [(name, version) for name in SECRETS for version in catalog().message(name).versions]
    return [(name, version) for name, version in found if name != "CreateTopicsResponse" or version >= 5]


def forms(codec: MessageCodec, data: bytes, **how: Any) -> set[bytes]:
    """What each of the two ways makes of the bytes."""
    ways = (codec.compiled or codec.interpreted, codec.interpreted)
    return {codec.json(data, **how)[0], *(way.json(data, **how)[0] for way in ways)}


def build(name: str, version: int) -> tuple[MessageCodec, bytes]:
    codec = messages.data(name, version)
    known = {field.name for field in (*codec.grammar.fields, *codec.grammar.tagged)}
    return codec, codec.write({field: value for field, value in VALUES[name].items() if field in known})


def test_every_message_of_the_table_is_tried() -> None:
    assert set(VALUES) == set(SECRETS)


@pytest.mark.parametrize(("name", "version"), every_version())
def test_json_hides_secrets_and_shows_them_when_told_to(name: str, version: int) -> None:
    codec, data = build(name, version)
    (hidden,) = forms(codec, data)
    (shown,) = forms(codec, data, secrets=True)
    coded = base64.b64encode(RAW)[4:-4]
    assert RAW not in hidden and coded not in hidden
    assert hidden.count(b'{"redacted":%d}' % len(RAW)) == data.count(RAW)
    assert RAW in shown or coded in shown
    assert codec.write(json.loads(shown)) == data
    assert codec.json_value(codec.read(data)[0]) == json.loads(hidden)


@pytest.mark.parametrize(("name", "version"), every_version())
def test_spans_hide_secrets(name: str, version: int) -> None:
    codec, data = build(name, version)
    hidden = [span for span in codec.spans(data) if isinstance(span.value, Hidden)]
    assert [data[span.start : span.end].endswith(RAW) for span in hidden] == [True] * data.count(RAW)
    assert all(span.value.size == len(RAW) for span in hidden)
    assert not any(isinstance(span.value, Hidden) for span in codec.spans(data, secrets=True))


@pytest.mark.parametrize("name", SECRETS)
def test_what_was_left_out_cannot_be_encoded(name: str) -> None:
    codec, data = build(name, catalog().message(name).versions.hi)
    value = json.loads(codec.json(data)[0])
    for way in (codec, codec.interpreted):
        with pytest.raises(EncodeError, match="--show-secrets"):
            way.write(value)


def test_errors_do_not_repeat_what_was_given() -> None:
    codec = messages.data("SaslAuthenticateRequest", 2)
    for value in ({"authBytes": f"{MARK}!"}, {"authBytes": {"password": MARK}}, {"authBytes": b"", "_trailing": MARK}):
        with pytest.raises(EncodeError) as caught:
            codec.write(value)
        assert MARK not in str(caught.value)


def test_bytes_of_no_known_field() -> None:
    codec = messages.data("SaslAuthenticateRequest", 2)
    odd = b"\x05abcd" + b"\x01" + b"\x63" + b"\x03xyz"  # a tag that no release has
    (text,) = forms(codec, odd + b"tail", whole=True)
    value = json.loads(text)
    assert value["_unknownTaggedFields"] == [{"tag": 99, "data": redacted(3)}] and value["_trailing"] == redacted(4)
    assert codec.write(json.loads(codec.json(odd + b"tail", whole=True, secrets=True)[0])) == odd + b"tail"
    longer = b"\x85\x00abcd\x00"  # a length in more bytes than it needs
    value = json.loads(codec.json(longer)[0])
    assert value == {"authBytes": redacted(4), "_encodings": {"authBytes": redacted(6)}}


def test_null_hides_nothing() -> None:
    codec = messages.data("ConfigRecord", 0)
    data = codec.write({"resourceType": 2, "resourceName": "t", "name": "x", "value": None})
    (text,) = forms(codec, data)
    assert json.loads(text)["value"] is None


def test_a_message_of_no_known_version() -> None:
    assert json.loads(messages.unknown("request", 36, 99).json(b"abc", whole=True)[0]) == {"_trailing": redacted(3)}
    assert json.loads(messages.unknown("request", 1, 99).json(b"abc", whole=True)[0]) == {"_trailing": "YWJj"}


def test_raw_records_of_the_metadata_log() -> None:
    fetch = {"topics": [{"name": "__cluster_metadata", "partitions": [{"unalignedRecords": RAW}]}]}
    codec = messages.data("FetchSnapshotResponse", 1)
    (text,) = forms(codec, codec.write(fetch), records="raw")
    assert json.loads(text)["topics"][0]["partitions"][0]["unalignedRecords"]["base64"] == redacted(len(RAW))
    (text,) = forms(codec, codec.write(fetch), records="raw", secrets=True)
    assert base64.b64encode(RAW) in text
    fetched = [{"partitions": [{"records": RAW}]}]
    for version, topic, other in (
        (12, {"topic": "__cluster_metadata"}, {"topic": "t"}),
        (17, {"topicId": "A" * 21 + "Q"}, {"topicId": "B" * 22}),
    ):
        codec = messages.data("FetchResponse", version)
        data = codec.write({"responses": [topic | fetched[0], (other if version == 12 else {}) | fetched[0]]})
        (text,) = forms(codec, data, records="raw")
        first, second = (each["partitions"][0]["records"] for each in json.loads(text)["responses"])
        assert first == {"sizeInBytes": len(RAW), "base64": redacted(len(RAW))}
        assert base64.b64decode(second["base64"]) == RAW


def test_records_hidden_in_json() -> None:
    value: Any = {"topics": [{"name": "t", "records": {"sizeInBytes": 1, "base64": "AA=="}}]}
    hide_records(value)
    assert value["topics"][0]["records"]["base64"] == "AA=="


def test_hidden_spans_are_told_by_path() -> None:
    spans = [Span("configs[0].name", 0, 2, "string", "x"), Span("configs[0].value", 2, 6, "string", "abcd")]
    assert isinstance(hide_spans(spans, {"configs.value": "by name"})[1].value, Hidden)
    assert repr(hide_span(spans[1]).value) == "redacted, 4 bytes"
