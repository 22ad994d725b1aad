"""What the grammar says of frames."""

import base64
import json
from typing import Any

import pytest

from kcli.capture.kafka.bodies import Bodies
from kcli.errors import DecodeError, SchemaError
from kcli.grammar import messages
from tests.capture.messages import api_versions, metadata, produce, refusal, request

BODIES = Bodies()
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def body(message: bytes) -> bytes:
    return message[4:]


def in_json(value: Any, name: str = "") -> Any:
    """A value as its JSON text shows it: bytes as base64, records by their size."""
    if isinstance(value, dict):
        return {key: in_json(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [in_json(each) for each in value]
    if isinstance(value, bytes):
        return {"sizeInBytes": len(value)} if name == "records" else base64.b64encode(value).decode()
    return value


def test_values_and_text_say_the_same() -> None:
    for asked, answer in (metadata(1), produce(2), api_versions(3), refusal(4, 4)):
        frame, reported = body(asked), body(answer)
        key, version = frame[1], frame[3]
        header, end = BODIES.header_text(frame)
        assert json.loads(header) == BODIES.read_header(frame)
        assert json.loads(BODIES.request_text(frame, end)) == in_json(BODIES.read_request(frame))
        assert json.loads(BODIES.response_text(reported, key, version)) == in_json(
            BODIES.read_response(reported, key, version)
        )
        assert BODIES.request_fits(frame) and BODIES.response_fits(reported, key, version)
        assert not BODIES.request_fits(frame[:-1]) and not BODIES.request_fits(frame + bytes(9))


def test_the_texts_of_an_exchange_come_with_why_others_do_not() -> None:
    asked, answer = map(body, metadata(1))
    texts, errors = BODIES.texts(3, 12, asked, answer)
    header, end = BODIES.header_text(asked)
    assert texts == (header, BODIES.request_text(asked, end), BODIES.response_text(answer, 3, 12)) and not errors
    assert BODIES.texts(3, 12, asked, None) == ((*texts[:2], None), {})
    texts, errors = BODIES.texts(3, 12, asked[:-1], answer[:-1])
    assert texts == (header, None, None) and [*errors] == ["client", "server"]
    assert BODIES.texts(3, 12, asked[:3], None)[0] == (None, None, None)


def test_spare_bytes_are_believed_and_kept() -> None:
    frame = body(metadata(1)[0]) + b"\1\0\0"
    assert BODIES.request_fits(frame)
    assert json.loads(BODIES.request_text(frame, BODIES.header_text(frame)[1]))["_trailing"] == "AQAA"
    assert BODIES.read_request(frame)["_trailing"] == b"\1\0\0"


def test_names_are_learnt_and_shown() -> None:
    asked, answer = metadata(1, "orders")
    ours = Bodies()
    ours.read_response(body(answer), 3, 12)
    frame = body(request(0, 13, 1, {"topicData": [{"topicId": TOPIC_ID, "partitionData": []}]}))
    assert ours.read_request(frame)["topicData"][0]["_topicName"] == "orders"
    assert b'"_topicName":"orders"' in ours.request_text(frame, ours.header_text(frame)[1])
    plain = Bodies(annotated=False)
    plain.read_response(body(answer), 3, 12)
    assert "_topicName" not in plain.read_request(frame)["topicData"][0]
    assert ours.request_fits(body(asked))


@pytest.mark.parametrize(
    ("key", "version", "why"),
    [
        (999, 0, r"unknown API key 999 \(known: 0-\d+\)"),
        (3, 99, r"Metadata has no version 99 \(known: 0-13\)"),
        (3, -2, r"Metadata has no version -2 \(known: 0-13\)"),
    ],
)
def test_what_the_tables_do_not_have_cannot_be_decoded(key: int, version: int, why: str) -> None:
    frame = key.to_bytes(2, "big") + version.to_bytes(2, "big", signed=True) + bytes(4) + b"\xff\xff"
    with pytest.raises(DecodeError, match=why):
        BODIES.read_request(frame)
    with pytest.raises(DecodeError, match=why):
        BODIES.request_text(frame, 10)
    for answer in (BODIES.read_response, BODIES.response_text):
        with pytest.raises(DecodeError, match=why):
            answer(bytes(8), key, version)
    assert not BODIES.request_decodes(frame) and not BODIES.request_fits(frame)


def test_unknown_messages_have_headers() -> None:
    frame = (999).to_bytes(2, "big") + bytes(2) + bytes(4) + b"\xff\xffabc"
    assert BODIES.read_header(frame)["requestApiKeyName"] is None
    assert not BODIES.knows(999, 0) and BODIES.knows(3, 12) and not BODIES.knows(3, 99)
    assert BODIES.response_fits(bytes(4), 999, 0) and not BODIES.request_fits(frame)


def test_too_short_is_an_error_with_a_place() -> None:
    with pytest.raises(DecodeError, match="needs 4 bytes of api key and version"):
        BODIES.read_request(b"\0\3")


def test_a_dialect_is_used() -> None:
    assert Bodies("kip-1018").knows(1, 18)


def test_the_nodes_of_an_exchange_are_those_of_its_messages() -> None:
    request_header, asked, response_header, answer = BODIES.exchange_nodes(3, 12)
    assert (asked, answer) == (messages.request(3, 12).node, messages.response(3, 12).node)
    assert request_header is messages.request_header(3, 12).node
    assert response_header is messages.response_header(3, 12).node
    with pytest.raises(SchemaError, match="v99"):
        BODIES.exchange_nodes(3, 99)


def test_versions_that_teach_topic_names() -> None:
    bodies = Bodies()
    assert bodies.teaches(3, 12) and not bodies.teaches(3, 0) and not bodies.teaches(1, 17)
    assert bodies.teaches(58, 0)  # an envelope may hold any other
