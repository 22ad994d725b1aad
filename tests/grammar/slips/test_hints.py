"""Slips of whole frames named: version, header, what follows, and that right or hopeless bytes have no hint."""

from pathlib import Path

import pytest

from kcli.grammar import frames, messages
from kcli.grammar.slips.hints import hints_text, request_hints, response_hints
from tests.grammar.slips.judge import falsely_named, score, share, table
from tests.grammar.slips.making import KINDS, Sample, frames_of
from tests.records.slips.making import batch_bytes

SAMPLES = sorted(map(str, (Path(__file__).parents[3] / "samples").glob("*.pcap*")))
CAN_BE_KNOWN = 90.0  # per cent


def metadata(version: int, header: int, said: int) -> bytes:
    """A Metadata request of a version, behind a header of another, that says it is of a third."""
    head = {"requestApiKey": 3, "requestApiVersion": said, "correlationId": 1, "clientId": "c"}
    body = {"topics": [{"name": "orders"}]}
    return messages.data("RequestHeader", header).write(head) + messages.data("MetadataRequest", version).write(body)


def text_of(frame: bytes) -> str:
    return hints_text(request_hints(frame))


def test_another_version_is_named() -> None:
    assert text_of(metadata(9, 2, 8)) == "it reads to its end as v9: was that meant?"
    assert text_of(metadata(8, 1, 9)) == "it reads to its end as v8: was that meant?"
    assert request_hints(metadata(9, 2, 99))[0].words == "as v9"


def test_many_versions_that_fit_are_counted() -> None:
    api_versions = b"\0\x12" + b"\0\x63" + bytes(4) + b"\xff\xff"
    assert text_of(api_versions) == "it reads to its end as v0 or v1 or v2: was that meant?"
    produce = frames.encode_request({"requestApiKey": 0, "requestApiVersion": 9, "correlationId": 1}, {})
    assert text_of(produce[:2] + b"\0\x63" + produce[4:]).startswith(
        "it reads to its end as v9 or v10 or v11 or v12 or 1 more: was that meant?"
    )


def test_the_other_header_is_named() -> None:
    words = "it reads to its end with a header v{}, which differs at 0xb: was v{} written?"
    assert text_of(metadata(9, 1, 9)) == words.format(2, 1)
    assert text_of(metadata(8, 2, 8)) == words.format(1, 2)


def test_the_header_of_a_response_is_named() -> None:
    plain = frames.encode_response({"correlationId": 1}, 3, 8, {"clusterId": "c", "controllerId": 1})
    assert response_hints(plain[:4] + b"\0" + plain[4:], 3, 8)[0].slip == "header"
    flexible = frames.encode_response({"correlationId": 1}, 3, 9, {"clusterId": "c", "controllerId": 1})
    (first, *_) = response_hints(flexible[:4] + flexible[5:], 3, 9)
    assert (first.slip, first.at, first.frame) == ("header", 4, flexible)


def test_the_next_message_is_named_with_its_place() -> None:
    frame = metadata(9, 2, 9)
    (first, *_) = request_hints(frame + len(frame).to_bytes(4, "big") + frame)
    assert (first.slip, first.at, first.frame) == ("next message", len(frame), frame)


def test_the_next_message_may_have_no_length() -> None:
    frame = metadata(9, 2, 9)
    (first, *_) = request_hints(frame + metadata(8, 1, 8))
    assert (first.slip, first.at, first.frame) == ("next message", len(frame), frame)
    assert first.question == "was the length in front of that left out?"
    answer = frames.encode_response({"correlationId": 1}, 3, 9, {"clusterId": "c", "controllerId": 1})
    (first, *_) = response_hints(answer * 2, 3, 9)
    assert (first.slip, first.at) == ("next message", len(answer))


def test_the_body_of_another_version_is_named() -> None:
    plain = metadata(8, 1, 9)
    flexible = plain[:11] + b"\0" + plain[11:]
    assert text_of(flexible) == "it reads to its end as v8, after the header of v9: was that meant?"


TOPIC = {"topics": [{"name": "orders"}, {"name": "bills"}]}


def request(version: int) -> bytes:
    header = {"requestApiKey": 3, "requestApiVersion": version, "correlationId": 1, "clientId": "cli"}
    return frames.encode_request(header, TOPIC)


@pytest.mark.parametrize(
    ("frame", "hint"),
    [
        (request(1).replace(b"\2\0\6", b"\3\0\6"), "with a count of topics of 2 at 0xd: it says 3"),
        (request(12).replace(b"\3" + bytes(16), b"\4" + bytes(16)), "with a count of topics of 2 at 0xe: it says 3"),
        (request(1).replace(b"\2\0\6", b"\1\0\6"), "with a count of topics of 2 at 0xd: it says 1"),
        (request(1).replace(b"\0\5bills", b"\0\4bills"), "with a length of topics[1].name of 5 at 0x19: it says 4"),
        (request(1).replace(b"\0\3cli", b"cli\0"), "with a length in front of clientId at 0x8: does it end with"),
    ],
)
def test_a_number_that_is_off_is_the_first_hint(frame: bytes, hint: str) -> None:
    assert hint in text_of(frame).partition(" Or ")[0]


def test_a_length_of_records_that_does_not_fit_its_batch_is_the_first_hint() -> None:
    batch = batch_bytes([(b"k", b"one"), (None, b"two")])
    head = {"requestApiKey": 0, "requestApiVersion": 3, "correlationId": 7, "clientId": "cli"}
    topic = {"name": "t", "partitionData": [{"index": 0, "records": batch}]}
    frame = frames.encode_request(head, {"acks": -1, "timeoutMs": 30_000, "topicData": [topic]})
    at = len(frame) - len(batch) - 4
    for said in (len(batch) - 1, len(batch) + 1, len(batch) + 2):
        (first, *_) = request_hints(frame[:at] + said.to_bytes(4, "big") + batch)
        assert (first.slip, first.at, first.frame) == ("miscounted", at, frame)


def test_what_no_slip_explains_has_no_hint() -> None:
    frame = frames.encode_request({"requestApiKey": 1, "requestApiVersion": 12, "correlationId": 1}, {"topics": [{}]})
    assert text_of(frame[:20]) == text_of(b"") == text_of(b"\0\1\0") == ""
    unknown = frames.encode_request({"requestApiKey": 999, "requestApiVersion": 0, "correlationId": 1}, {})
    assert text_of(unknown) == ""
    assert response_hints(frame, 999, 0) == []


def test_several_that_fit_are_said_to_be_several() -> None:
    text = text_of(metadata(9, 2, 9)[:-1])
    assert text.startswith("3 slips explain it: it reads to its end with ")
    assert text.count(" Or with ") == 2


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return [*frames_of(SAMPLES)][::11]


def test_slips_made_in_real_frames_are_named(samples: list[Sample]) -> None:
    scores = score(samples, seed=20)
    poor = {kind: share(each.counts) for kind, each in scores.items() if share(each.counts) < CAN_BE_KNOWN}
    assert not poor, table(scores)
    assert all(scores[kind].counts.total() for kind in KINDS)


def test_right_frames_have_no_hint(samples: list[Sample]) -> None:
    assert falsely_named(samples) == []
