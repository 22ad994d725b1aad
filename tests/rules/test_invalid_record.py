"""Records that a broker refuses as invalid: told from the first one on, with what the broker says."""

from pathlib import Path
from typing import Any

import pytest

from kcli.diagnose import Finding
from kcli.pipeline.rows.refused_records import may_refuse
from tests.capture.messages import response
from tests.diagnose.captured import diagnosed, only
from tests.diagnose.captured import told as told_of
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import Talk, found, produced, told


def test_one_record_without_a_key_in_a_compacted_topic() -> None:
    """A real broker says so, and 23 batches of the same client are taken."""
    finding = only("invalid-record-profiles")
    told_of(finding, client="profile-sync", topic="profiles", partition=["profiles-0"])
    assert (finding.finding, finding.severity) == ("invalid-record", "critical")
    assert (finding.evidence["refused"], finding.evidence["batches"], finding.evidence["record"]) == (1, 24, 0)
    assert 'the broker: "Compacted topic cannot accept message without key in topic' in finding.text
    assert (
        "23 batches of it were accepted" in finding.ruled_out and "a key, as the topic is compacted" in finding.advice
    )


def test_timestamps_that_are_too_old() -> None:
    finding = only("invalid-record-readings")
    told_of(finding, client="meter-import", topic="readings")
    assert finding.evidence["errors"] == ["INVALID_TIMESTAMP"] and finding.evidence["refused"] == 2
    assert finding.evidence["ahead_hours"] == pytest.approx(-50, abs=0.1) and " is out of range" in finding.text
    assert "here up to 50.0 h behind the packets); old data" in finding.advice


def test_an_old_version_of_produce_has_no_reason() -> None:
    finding = only("invalid-record-untold")
    told_of(finding, client="profile-old", topic="profiles")
    assert "message" not in finding.evidence and "gives no reason to this version of Produce" in finding.text
    assert not diagnosed("invalid-record-untold").explained


def refused(folder: Path, said: str | None, times: int = 1, code: int = 87) -> Finding:
    """The finding on a client of which a broker refuses some batches of two partitions, and says why."""
    talk = produced(Talk(), 5, 0)
    for _ in range(times):
        parts = [{"index": at, "records": batch_bytes([(b"k", b"v")])} for at in (0, 3)]
        errors = [{"batchIndex": 0, "batchIndexErrorMessage": said}]
        part: dict[str, Any] = {"index": 3, "errorCode": code, "baseOffset": -1, "recordErrors": errors}
        answer = {"responses": [{"name": "orders", "partitionResponses": [{"index": 0, "baseOffset": 9}, part]}]}
        asked = {"acks": 1, "timeoutMs": 1000, "topicData": [{"name": "orders", "partitionData": parts}]}
        talk.call(0, 9, asked, answer | {"throttleTimeMs": 0})
    return told(found(folder, talk), "invalid-record", client="tester", topic="orders", partition=["orders-3"])


@pytest.mark.parametrize("times", [1, 30])
def test_what_a_validation_on_the_broker_says(times: int, tmp_path: Path) -> None:
    """It explains that the error comes again and again; a quotation mark or a brace is only text."""
    finding = refused(tmp_path, 'rejected by "{schema}"', times)
    assert finding.text.endswith('the broker: "rejected by "{schema}""') and "record interceptor" in finding.advice
    assert finding.evidence["refused"] == times


def test_what_may_be_a_refusal() -> None:
    """Answers are read whole only then, where records are read, too."""
    answers = [
        response(0, 9, 1, {"responses": [{"name": "t", "partitionResponses": [{"index": 0, "errorCode": code}]}]})
        for code in (0, 6, 19, 32, 87)
    ]
    assert [may_refuse(each) for each in answers] == [False, False, True, True, True] and not may_refuse(None)
