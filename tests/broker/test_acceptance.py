"""Whether a broker would take a request, and what an embedded one answers."""

import base64
from pathlib import Path
from typing import Any

import pytest

from kcli.broker.acceptance import RequestVerdict, batch_verdict, request_verdicts
from kcli.core.records.batches import LENGTH_END, SIZE_AT
from kcli.grammar import frames
from kcli.records import build_batch, build_message_set
from kcli.schemas.errors import error_name
from tests.broker.talk import batch, run, talking
from tests.greeting import GREET, greeting, newer_metadata
from tests.records.test_acceptance import answers

NOW = 1_795_415_800_000


def frame(api: str, version: int, body: dict[str, object]) -> bytes:
    return frames.encode_request({"requestApiKey": api, "requestApiVersion": version, "correlationId": 1}, body)


def produce(*records: bytes, version: int = 9, **body: object) -> bytes:
    parts = [{"index": index, "records": each} for index, each in enumerate(records)]
    return frame("Produce", version, {"acks": 1, "topicData": [{"name": "t", "partitionData": parts}], **body})


def test_what_is_sound_is_taken() -> None:
    asked = [frame("Metadata", 12, {"topics": None}), produce(batch("a"), batch("b")), frame("Fetch", 17, {})]
    assert [each for one in asked for each in request_verdicts(one, "4.4", NOW)] == [RequestVerdict("", "NONE", "")] * 3


def test_a_broker_that_has_a_dialect_takes_its_drafts(tmp_path: Path) -> None:
    greet = greeting(tmp_path / "greet")
    header = {"requestApiKey": GREET, "requestApiVersion": 1, "correlationId": 1}
    asked = frames.encode_request(header, {"name": "world", "times": []}, greet)
    assert request_verdicts(asked, "4.4", NOW, greet) == [RequestVerdict("", "NONE", "")]
    assert request_verdicts(asked, "4.4", NOW)[0].reason == f"4.4 has no API key {GREET}"
    newer = newer_metadata(tmp_path / "newer")
    asked = frames.encode_request(header | {"requestApiKey": 3, "requestApiVersion": 14}, {"topics": None}, newer)
    assert [request_verdicts(asked, "4.4", NOW, dialect)[0].is_accepted for dialect in (newer, None)] == [True, False]
    old = frame("Fetch", 3, {})
    assert not request_verdicts(old, "4.4", NOW, greet)[0].is_accepted  # Apache's own, which the release has no more


@pytest.mark.parametrize(
    ("asked", "release", "error", "said"),
    [
        (b"\0\1", "4.4", "", "needs 4 bytes of api key and version"),
        (frame("Fetch", 17, {})[:-3], "4.4", "", "FetchRequest v17: "),
        (frame("Fetch", 3, {}), "4.4", "", "4.4 has no Fetch v3 (it has 4-"),
        (frame("Fetch", 17, {}), "3.5", "", "3.5 has no Fetch v17"),
        (b"\x03\xe7\0\0" + bytes(8), "4.4", "", "4.4 has no API key 999"),
        (b"\0\x12\0\x63" + bytes(8), "4.4", "UNSUPPORTED_VERSION", "4.4 has ApiVersions"),
        (frame("Fetch", 17, {"isolationLevel": 9}), "4.4", "UNKNOWN_SERVER_ERROR", "isolationLevel 9: 0 or 1 expected"),
        (frame("ListOffsets", 5, {"isolationLevel": -1}), "4.4", "UNKNOWN_SERVER_ERROR", "isolationLevel -1"),
        (produce(batch("a"), acks=2), "4.4", "INVALID_REQUIRED_ACKS", "acks 2"),
        (produce(batch("a", transactional=True)), "4.4", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "transactional"),
    ],
)
def test_a_request_is_refused_as_a_whole(asked: bytes, release: str, error: str, said: str) -> None:
    (verdict,) = request_verdicts(asked, release, NOW)
    assert (verdict.place, verdict.error) == ("", error) and said in verdict.reason
    assert (verdict.code is None) == (not error)


def test_each_partition_has_its_own_verdict() -> None:
    found = request_verdicts(produce(batch("a"), batch("a")[:-1] + b"x", b"", batch("b")), "4.4", NOW)
    assert [(each.place, each.error) for each in found] == [("t-1", "CORRUPT_MESSAGE"), ("t-2", "INVALID_RECORD")]


def test_releases_differ() -> None:
    late = build_batch([(NOW + 4_000_000, None, b"", ())])
    assert batch_verdict(late, 9, "4.4", NOW).error == "INVALID_TIMESTAMP"
    assert batch_verdict(late, 9, "3.9", NOW).is_accepted
    old = build_message_set([(1, None, b"a")], magic=1)
    assert batch_verdict(old, 2, "3.9", NOW).is_accepted
    assert batch_verdict(batch("a"), 2, "3.9", NOW).error == "INVALID_RECORD"


def test_the_embedded_broker_answers_the_same() -> None:
    """As a real one of 4.4 (tests/records/test_acceptance.py has its answers)."""
    rows = [row for row in answers() if row["version"] == 9 and row["errorCode"] != 32]

    async def work() -> None:
        async with talking(topic="t", partitions=len(rows)) as talk:
            for number, row in enumerate(rows):
                body = {
                    "acks": 1,
                    "timeoutMs": 1000,
                    "topicData": [
                        {"name": "t", "partitionData": [{"index": number, "records": base64.b64decode(row["records"])}]}
                    ],
                }
                answer = await talk(0, 9, body)
                (part,) = answer["responses"][0]["partitionResponses"]
                assert error_name(part["errorCode"]) == error_name(row["errorCode"]), row["name"]

    run(work())


def produced(records: bytes, version: int = 9, **more: Any) -> bytes:
    part = {"topicData": [{"name": "t", "partitionData": [{"index": 0, "records": records}]}]}
    body = {"transactionalId": None, "acks": -1, "timeoutMs": 1000} | part | more
    return frame("Produce", version, body)


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ({"timeoutMs": -5}, "timeoutMs -5: with acks -1 nothing waits for the replicas"),
        ({"timeoutMs": 0}, "timeoutMs 0: with acks -1 nothing waits for the replicas"),
        ({"timeoutMs": 0, "acks": 1}, ""),
        ({"acks": 0}, ""),
    ],
    ids=str,
)
def test_odd_numbers_are_noted(more: dict[str, Any], note: str) -> None:
    (verdict,) = request_verdicts(produced(build_batch([(NOW, None, b"v", ())]), **more), "4.4", NOW)
    assert (verdict.error, verdict.reason) == ("NONE", note)


def test_acks_of_an_idempotent_producer() -> None:
    mine = build_batch([(NOW, None, b"v", ())], producer_id=1, producer_epoch=0, base_sequence=0)
    (verdict,) = request_verdicts(produced(mine, acks=1), "4.4", NOW)
    assert verdict.is_accepted and verdict.reason.startswith("acks 1: an idempotent producer needs -1")


def test_a_compact_length_that_is_one_short() -> None:
    records = build_batch([(NOW, None, b"v", ())])
    sound = produced(records)
    at = sound.index(records)
    short = sound[: at - 1] + bytes([len(records)]) + sound[at:]
    (verdict,) = request_verdicts(short, "4.4", NOW)
    assert verdict.error == "INVALID_RECORD"
    assert f"was the field's compact length written as {len(records)}, not {len(records) + 1}?" in verdict.reason


def test_a_transactional_batch_needs_a_producer() -> None:
    verdict = batch_verdict(build_batch([(NOW, None, b"v", ())], transactional=True), 9, "4.4", NOW)
    assert verdict.error == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"


def test_an_incomplete_batch_behind_a_whole_one_is_left_out() -> None:
    """A length past the end, with another batch behind it."""
    whole = build_batch([(NOW, None, b"v", ())])
    longer = whole[:SIZE_AT] + (len(whole) * 3).to_bytes(4, "big") + whole[LENGTH_END:]
    assert batch_verdict(whole + longer + whole, 7, "4.4", NOW).is_accepted
