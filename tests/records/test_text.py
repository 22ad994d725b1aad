"""JSON of batches against what Kafka's own reader says of the same bytes."""

from __future__ import annotations

import json

import pytest

from kcli.records.builder import build_batch
from kcli.records.text import MOST_KEPT, Findings, RecordsText, batches_json, new_writer, write_chunk
from tests.records.vectors import Case, as_kafka, bad, good, kafkas_records, mixed_batches, records_as_kafka, truth


@pytest.mark.parametrize("case", good(), ids=str)
def test_batches_and_records_are_what_kafka_reads(case: Case) -> None:
    findings = Findings()
    rows = json.loads(batches_json(case.data, "full", findings))
    expected = truth(case.dump)
    assert [as_kafka(row) for row in rows] == [as_kafka(batch) for batch, _ in expected]
    assert all(row["crcValid"] is True for row in rows) and not findings.damaged
    for row, (batch, records) in zip(rows, expected, strict=True):
        timed = batch["magic"] > 0
        assert records_as_kafka(row, timed) == kafkas_records(records, timed)


@pytest.mark.parametrize("case", bad(), ids=str)
def test_of_damaged_segments_every_batch_is_read_that_kafka_reads(case: Case) -> None:
    findings = Findings()
    rows = [row for row in json.loads(batches_json(case.data, "full", findings)) if "event" not in row]
    left = iter(rows)
    for batch, records in truth(case.dump):
        if batch["isValid"] and "error" not in batch:
            timed = batch["magic"] > 0
            wanted = as_kafka(batch), kafkas_records(records, timed)
            assert any((as_kafka(row), records_as_kafka(row, timed)) == wanted for row in left), batch["position"]
    wrong = any(row["type"] == "error" or row.get("isValid") is False for row in case.dump)
    assert findings.damaged or not wrong


def test_without_records_only_headers_are_shown() -> None:
    rows = json.loads(batches_json(mixed_batches(), "batches"))
    assert all("records" not in row and "_payload" not in row for row in rows)
    assert [row["count"] for row in rows[:2]] == [5, 1]


def test_old_messages_lack_fields() -> None:
    rows = json.loads(batches_json(mixed_batches()))
    old = next(row for row in rows if row["magic"] == 0)
    assert old["timestampType"] == "NoTimestampType" and old["maxTimestamp"] == -1
    assert old["producerId"] is None and old["isControl"] is None and old["baseTimestamp"] is None


def test_a_marker_says_what_it_is() -> None:
    last = json.loads(batches_json(mixed_batches()))[-1]
    assert last["isControl"] is True
    assert last["records"][0]["_control"] == {"type": "COMMIT", "version": 0, "data": {"coordinatorEpoch": 2}}


def test_a_cut_batch_at_the_end_is_an_event_and_lawful() -> None:
    findings = Findings()
    rows = json.loads(batches_json(mixed_batches()[:-3], "full", findings))
    assert rows[-1]["event"] == "truncated" and rows[-1]["bytes"] == 75
    assert not findings.damaged and findings.damages[0].lawful


def test_a_wrong_checksum_is_shown_and_found() -> None:
    data = bytearray(mixed_batches())
    data[70] ^= 1
    findings = Findings()
    rows = json.loads(batches_json(bytes(data), "batches", findings))
    assert rows[0]["crcValid"] is False and rows[1]["crcValid"] is True
    assert findings.damaged and findings.wrong_checksums == 1


def test_a_chunk_says_where_to_go_on_when_it_needs_more() -> None:
    from kcli.records.chunks import Chunk

    data = bytearray(mixed_batches())
    chunk = Chunk(data, len(data) - 5, len(data) - 5, 100, False)
    writer = new_writer()
    assert write_chunk(writer, chunk, False, True, []) == (100 + len(data) - 78, True)


def test_one_writer_gives_the_same_text_for_every_field() -> None:
    """Whatever was read before: damaged fields, much text, a hook that raised."""
    fields = [case.data for case in [*good(), *bad()]]
    fields.insert(1, build_batch([(1, None, b"v" * MOST_KEPT, ())]))
    findings, met = Findings(), list[Findings]()
    texts = RecordsText("full", findings=findings)
    for data in fields:
        findings.clear()
        texts.begin()
        alone = Findings()
        assert texts(data) == batches_json(data, "full", alone)
        assert findings == alone
        met.append(alone)
    assert any(each.damaged for each in met) and not all(each.damaged for each in met)


def test_a_hook_that_raises_leaves_nothing_behind() -> None:
    def refuse(key: bytes | None, value: bytes | None) -> bytes:
        if value == b"bad":
            raise KeyError(value)
        return b""

    texts, sound = RecordsText("full", record=refuse), build_batch([(1, None, b"good", ())])
    with pytest.raises(KeyError):
        texts(sound + build_batch([(1, None, b"bad", ())]))
    assert texts(sound) == batches_json(sound)
