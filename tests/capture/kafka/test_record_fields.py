"""Which records fields an exchange has, and what its answer says of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.record_fields import RecordField, RecordSink, record_fields
from kcli.records.builder import build_batch
from tests.capture.decoding import as_values, pieces
from tests.capture.messages import request, response
from tests.capture.wires import DATA, SAMPLES, Wire, pcap


def record_source(
    paths: list[str], topic: str | None = None, partition: int | None = None, **options: Any
) -> RecordSink:
    return CaptureDecoder(paths, RecordSink(topic, partition), DecodeOptions(**options)).sink


def fields(path: object) -> Iterator[tuple[Exchange, RecordField]]:
    for items in pieces(as_values([str(path)])):
        for item in items:
            if isinstance(item, Exchange):
                for field in record_fields(item):
                    yield item, field


def test_what_was_produced() -> None:
    found = [field for exchange, field in fields(SAMPLES / "java44-txn.pcap") if exchange.api_name == "PRODUCE"]
    assert [(field.topic, field.partition, field.base_offset) for field in found[:4]] == [
        ("pay-in", 0, 0), ("pay-in", 1, 0), ("pay-in", 1, 3), ("pay-in", 0, 4),
    ]  # fmt: skip
    assert found[-1].base_offset is None, "the broker refused it"
    assert all(field.append_time is None and len(field.data) > 61 for field in found)


def test_what_was_fetched() -> None:
    found = [field for exchange, field in fields(SAMPLES / "java44-txn.pcap") if exchange.api_name == "FETCH"]
    assert {(field.topic, field.partition): field.aborted for field in found} == {
        ("pay-in", 0): ((7, 5), (17, 5)), ("pay-in", 1): ((7, 5), (18, 5)),
    }  # fmt: skip


def test_the_metadata_log_has_its_name() -> None:
    assert {field.label for _, field in fields(DATA / "kraft-boot.pcap.zst")} >= {"__cluster_metadata"}


def test_a_topic_without_a_known_name_is_called_by_its_id() -> None:
    data = memoryview(b"")
    assert RecordField(None, "AAAAAAAAAAAAAAAAAAAAAg", 0, data).label == "AAAAAAAAAAAAAAAAAAAAAg"
    assert RecordField("orders", "AAAAAAAAAAAAAAAAAAAAAg", 0, data).label == "orders"


def test_fields_come_with_the_file_that_shows_them() -> None:
    names = ["java44-txn.pcap", "kcat-codecs.pcap"]
    paths = [str(SAMPLES / name) for name in names]
    found = list(record_source([paths[0], *paths]).fields())
    assert {each.file for each in found} == set(paths)
    for path in paths:
        alone = [field for _, field in fields(path)]
        assert [each.field for each in found if each.file == path] == alone


def test_a_batch_that_was_sent_again_keeps_the_clients_times(tmp_path: Path) -> None:
    """Its answer has a time, although the topic takes none; an append time stays one where no answer lacked it."""
    batch = build_batch([(5, None, b"a", ()), (9, None, b"b", ())])
    wire, times = Wire().open(), [("kept", -1), ("kept", 9), ("other", 9)]
    for number, (topic, time) in enumerate(times):
        asked = {"acks": -1, "topicData": [{"name": topic, "partitionData": [{"index": 0, "records": batch}]}]}
        answer = {"index": 0, "errorCode": 0, "baseOffset": number, "logAppendTimeMs": time}
        answered = {"responses": [{"name": topic, "partitionResponses": [answer]}]}
        wire = wire.client(request(0, 9, number, asked)).server(response(0, 9, number, answered))
    path = tmp_path / "again.pcap"
    path.write_bytes(pcap(wire.packets))
    found = [each.field for each in record_source([str(path)]).fields()]
    assert [(each.topic, each.append_time) for each in found] == [("kept", None), ("kept", None), ("other", 9)]
