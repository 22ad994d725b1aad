"""Acknowledged records whose offsets a new leader gives again."""

from pathlib import Path

import pytest

from kcli.diagnose import diagnose
from kcli.finding import CRITICAL, INFO
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Talk, found, told


def written(talk: Talk, offsets: list[int], name: str, records: int = 1, acks: int = 1) -> Talk:
    """Write batches that are acknowledged with these offsets. name: their keys; the same name, the same batches."""
    for number, offset in enumerate(offsets):
        data = batch_bytes([(f"{name}{number}".encode(), b"v")] * records)
        asked = {
            "acks": acks,
            "timeoutMs": 1000,
            "topicData": [{"name": "orders", "partitionData": [{"index": 0, "records": data}]}],
        }
        part = {"index": 0, "errorCode": 0, "baseOffset": offset}
        talk.call(0, 9, asked, {"responses": [{"name": "orders", "partitionResponses": [part]}]}, SECOND)
    return talk


def after(talk: Talk, other: Talk) -> Talk:
    other.wire.now = talk.wire.now
    return other


@pytest.mark.parametrize("records", [1, 40])
def test_a_new_leader_that_lacks_what_was_acknowledged(records: int, tmp_path: Path) -> None:
    """It gives the offsets again: one by one, or all in one large batch."""
    old = written(Talk("till", 40000, 2), [*range(100, 120)], "a")
    new = after(old, Talk("till", 40001, 3))
    written(new, [*range(108, 114)] if records == 1 else [108, 148], "b", records)
    finding = told(found(tmp_path, old, new), "lost-writes", partition="orders-0", client=["till"])
    assert "gives offsets 108 to 119, which broker 10.0.0.2:9092 had given" in finding.text


@pytest.mark.parametrize("case", ["goes on", "retries"])
def test_a_new_leader_that_has_all(case: str, tmp_path: Path) -> None:
    """A retry of an idempotent producer is told the offset that its records have."""
    old = written(Talk("till", 40000, 2), [*range(100, 120)], "a")
    new = after(old, Talk("till", 40001, 3))
    if case == "retries":
        written(new, [*range(100, 120)][:6], "a")
    written(new, [*range(120, 126)], "b")
    assert not found(tmp_path, old, new)


@pytest.mark.parametrize(("lost", "acks", "severity"), [(1, 1, INFO), (1, -1, CRITICAL), (4, 1, CRITICAL)])
def test_the_newest_record_is_what_one_acknowledgement_risks(
    lost: int, acks: int, severity: str, tmp_path: Path
) -> None:
    """A leader that stops in order may have a record more than its follower."""
    old = written(Talk("till", 40000, 2), [*range(100, 110)], "a", acks=acks)
    new = after(old, Talk("till", 40001, 3))
    written(new, [*range(110 - lost, 116 - lost)], "b", acks=acks)
    found(tmp_path, old, new)
    [finding] = diagnose([str(tmp_path / "a.pcap")]).findings
    assert (finding.finding, finding.severity) == ("lost-writes", severity)
    assert ("acks=1 in the last second" in finding.text) == (severity == INFO)
