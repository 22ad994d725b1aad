"""Which records fields an exchange has, and what its answer says of them."""

from __future__ import annotations

from collections.abc import Iterator

from kcli.capture.exchange import Exchange
from kcli.capture.exchanges import CaptureDecoder
from kcli.capture.record_fields import RecordDecoder, RecordField, record_fields
from tests.capture.wires import DATA, SAMPLES


def fields(path: object) -> Iterator[tuple[Exchange, RecordField]]:
    for items in CaptureDecoder([str(path)]).wanted():
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
    found = list(RecordDecoder([paths[0], *paths]).fields())
    assert {each.file for each in found} == set(paths)
    for path in paths:
        alone = [field for _, field in fields(path)]
        assert [each.field for each in found if each.file == path] == alone
