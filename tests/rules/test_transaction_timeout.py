"""Transactions that take longer than they may, and what their producers meet."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.rules.test_by_hand import SECOND, Talk, found, told, transactional


def writer(
    seconds: Sequence[float], error: int = 47, timeout: int = 4000, *, adds: bool = True, start: int = 0
) -> Talk:
    """A producer that ends its transactions after so long, and begins anew, with a higher epoch, where it is refused.
    adds: as before KIP-890, it adds partitions first. start: s later.
    """
    talk, epoch, fresh = Talk("etl", 46000 + start), 2 * start, True
    talk.wire.packets = [each._replace(ns=each.ns + start * SECOND) for each in talk.wire.packets]
    talk.wire.now += start * SECOND
    for open_for in seconds:
        who = {"transactionalId": "t", "producerId": 5, "producerEpoch": epoch}
        if fresh:
            asked = {"transactionalId": "t", "transactionTimeoutMs": timeout, "producerId": -1, "producerEpoch": -1}
            talk.call(22, 4, asked, {"errorCode": 0, "producerId": 5, "producerEpoch": epoch})
        if adds:
            talk.call(24, 3, {"v3AndBelowTransactionalId": "t", "v3AndBelowProducerId": 5,
                              "v3AndBelowProducerEpoch": epoch,
                              "v3AndBelowTopics": [{"name": "orders", "partitions": [3]}]}, {}, 0)  # fmt: skip
        parts = [{"index": 3, "records": transactional(5)}]
        wrote = {"responses": [{"name": "orders", "partitionResponses": [{"index": 3, "baseOffset": 1}]}]}
        write = {"transactionalId": "t", "acks": -1, "topicData": [{"name": "orders", "partitionData": parts}]}
        talk.call(0, 9, write, wrote, int(open_for * SECOND))
        fresh = open_for * 1000 > timeout
        talk.call(26, 3, {**who, "committed": True}, {"errorCode": error if fresh else 0})
        epoch += 2 if fresh else 0
    return talk


@pytest.mark.parametrize(("error", "adds"), [(47, True), (90, True), (48, False)])
def test_one_that_takes_longer_than_its_timeout(error: int, adds: bool, tmp_path: Path) -> None:
    finding = told(found(tmp_path, writer([0.2, 6, 0.2, 7, 8], error, adds=adds)), "transaction-timeout",
                   client="etl", transactionalId="t")  # fmt: skip
    assert (finding.evidence["refused"], finding.evidence["ended"]) == (3, 2)
    assert finding.evidence["transaction_timeout_ms"] == 4000
    assert finding.evidence["open_seconds"] == pytest.approx(8, abs=0.2)
    assert not found(tmp_path, writer([0.2, 3, 0.2, 3, 3], error, adds=adds))


def test_refused_in_time_is_another_cause(tmp_path: Path) -> None:
    talk = writer([0.2] * 3)
    talk.call(
        26, 3, {"transactionalId": "t", "producerId": 5, "producerEpoch": 0, "committed": True}, {"errorCode": 47}
    )
    assert not found(tmp_path, talk)


def test_who_is_put_out_by_its_own_slowness_shares_its_id_with_nobody(tmp_path: Path) -> None:
    """It begins anew on another connection each time, as one that is restarted."""
    runs = [writer([0.2, 6], start=10 * number) for number in range(5)]
    finding = told(found(tmp_path, *runs), "transaction-timeout", client="etl", transactionalId="t")
    assert finding.evidence["refused"] == 5
