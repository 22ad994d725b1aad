"""Batches that an old client can't read, and old clients that read on."""

from pathlib import Path

import pytest

from tests.diagnose.captured import diagnosed, only
from tests.diagnose.captured import told as told_with_figures
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Talk, found, told

ZSTD = batch_bytes([(b"k", b"v" * 100)], codec=4)
LATER = b"".join((offset * 7).to_bytes(8) + ZSTD[8:] for offset in range(1, 40))


def read(talk: Talk, records: bytes, *, version: int = 8, offset: int = 0, error: int = 0, times: int = 1) -> Talk:
    """Fetch from an offset of a log that ends at 9."""
    part = {"partitionIndex": 0, "highWatermark": 9, "errorCode": error, "records": records}
    asked = {"maxWaitMs": 500, "minBytes": 1, **({"sessionEpoch": -1} if version >= 7 else {}), "topics": [
        {"topic": "orders", "partitions": [{"partition": 0, "fetchOffset": offset, "partitionMaxBytes": 50}]},
    ]}  # fmt: skip
    for _ in range(times):
        talk.call(1, version, asked, {"responses": [{"topic": "orders", "partitions": [part]}]}, SECOND)
    return talk


def beat(talk: Talk, times: int) -> Talk:
    for _ in range(times):
        talk.call(12, 3, {"groupId": "g", "generationId": 1, "memberId": "m"}, {}, 2 * SECOND)
    return talk


@pytest.mark.parametrize("way", ["sent", "refused"])
def test_zstd_for_a_client_before_it(way: str, tmp_path: Path) -> None:
    """Records that a producer compressed are sent; where the topic says zstd, the broker refuses."""
    old = Talk("old")
    read(old, ZSTD + LATER) if way == "sent" else read(old, b"", error=76, times=3)
    modern = read(read(Talk("modern", 41000), ZSTD, version=11), b"", version=11, offset=9, times=4)
    finding = told(found(tmp_path, beat(old, 4), modern), "unreadable-batch",
                   client="old", topic="orders", partition=["orders-0"], group=["g"])  # fmt: skip
    assert "zstd" in finding.text and "Java 2.1" in finding.advice
    assert finding.evidence["base_offset"] == 0


def test_a_library_that_knows_zstd_and_keeps_to_an_old_version(tmp_path: Path) -> None:
    assert not found(tmp_path, beat(read(read(Talk("kafka-python"), ZSTD), b"", offset=9), 4))
    assert not found(tmp_path, beat(read(Talk("new"), ZSTD, version=11), 4))


@pytest.mark.parametrize("version", [1, 4])
def test_a_batch_that_is_larger_than_an_old_client_allows(version: int, tmp_path: Path) -> None:
    """From version 3 on the first batch of an answer comes whole."""
    writer = Talk("writer", 41000)
    asked = {"acks": -1, "topicData": [{"name": "orders", "partitionData": [{"index": 0, "records": ZSTD}]}]}
    answer = {"responses": [{"name": "orders", "partitionResponses": [{"index": 0, "baseOffset": 0}]}]}
    writer.call(0, 9, asked, answer, 10 * SECOND)
    findings = found(tmp_path, writer, read(Talk("old"), b"", version=version, times=8))
    if version == 1:
        finding = told(findings, "unreadable-batch", client="old", topic="orders")
        assert f"the batch of {len(ZSTD)} bytes is larger than the 50 bytes that it allows" in finding.text
        assert "max.partition.fetch.bytes" in finding.advice
    else:
        assert "unreadable-batch" not in {each.finding for each in findings}


def test_a_real_consumer_of_java_2_0() -> None:
    found = only("unreadable-batch-legacy")
    told_with_figures(found, client="legacy-201", topic="zs", group=["zold"])
    assert {each.finding for each in diagnosed("unreadable-batch-legacy").explained} <= {"consumer-stuck"}
