"""Transactions that are open for long, and that their producers end."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kcli.diagnose import diagnose
from tests.diagnose.captured import only
from tests.diagnose.captured import told as tells
from tests.rules.test_by_hand import SECOND, Talk, found, told, transactional


def writer(seconds: Sequence[float], port: int = 46000) -> Talk:
    """A producer whose transactions are open for so long. Its producer id is its port."""
    talk, who = Talk(f"writer-{port}", port), {"transactionalId": f"t-{port}", "producerId": port, "producerEpoch": 0}
    body = {"transactionalId": who["transactionalId"], "transactionTimeoutMs": 60_000, "producerId": -1}
    talk.call(22, 4, {**body, "producerEpoch": -1}, {"errorCode": 0, "producerId": port, "producerEpoch": 0})
    for open_for in seconds:
        parts = [{"index": 3, "records": transactional(port)}]
        asked = {"transactionalId": who["transactionalId"], "acks": -1, "timeoutMs": 1000,
                 "topicData": [{"name": "orders", "partitionData": parts}]}  # fmt: skip
        part = {"index": 3, "errorCode": 0, "baseOffset": 1234}
        answer = {"responses": [{"name": "orders", "partitionResponses": [part]}]}
        talk.call(0, 9, asked, answer, int(open_for * SECOND))
        talk.call(26, 3, {**who, "committed": True}, {"errorCode": 0}, SECOND // 10)
    return talk


def reader(isolation: int = 1) -> Talk:
    """A consumer for whom the end of what is committed stands still."""
    talk = Talk("reader", 46900)
    for number in range(60):
        asked = {
            "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "sessionId": 0, "sessionEpoch": -1,
            "isolationLevel": isolation,
            "topics": [{"topic": "orders", "partitions": [{"partition": 3, "fetchOffset": 1234}]}],
        }  # fmt: skip
        given = {"partitionIndex": 3, "errorCode": 0, "highWatermark": 1235 + number, "lastStableOffset": 1234,
                 "logStartOffset": 7}  # fmt: skip
        talk.call(1, 11, asked, {"errorCode": 0, "responses": [{"topic": "orders", "partitions": [given]}]})
    return talk


def test_one_that_is_far_longer_than_its_own(tmp_path: Path) -> None:
    finding = told(found(tmp_path, writer([0.2] * 4 + [20] + [0.2] * 4), reader()), "long-transaction")
    assert finding.subject["transactionalId"] == "t-46000" and finding.subject["topic"] == ["orders"]
    assert finding.evidence["open_seconds"] == pytest.approx(20, abs=0.2) and finding.evidence["readers"] == 1
    assert "its own usually take 0.2 s. 1 reader of orders" in finding.text
    assert not found(tmp_path, writer([0.2] * 4 + [20] + [0.2] * 4), reader(isolation=0)), "nobody waits"


def test_checkpoints_are_as_long_as_they_are_set_to(tmp_path: Path) -> None:
    """Beside short ones of another producer, too."""
    assert not found(tmp_path, writer([10] * 5), reader())
    assert not found(tmp_path, writer([10] * 5), writer([0.2] * 20, 46001), reader())


def test_one_that_has_none_beside_it_of_its_own_is_worth_a_word(tmp_path: Path) -> None:
    assert not found(tmp_path, writer([20]), writer([0.2] * 20, 46001), reader())
    [finding] = diagnose([str(tmp_path / "a.pcap")]).findings
    assert (finding.finding, finding.severity) == ("long-transaction", "info")
    assert "those of others usually take 0.2 s" in finding.text


def test_a_real_one() -> None:
    """librdkafka: 16 s before a commit, among those of 0.2 s; and another producer that is well."""
    finding = only("long-transaction-pay")
    assert (finding.finding, finding.severity) == ("long-transaction", "warning")
    tells(finding, transactionalId="slow-pay", client="slow-pay-app", topic=["book"])
