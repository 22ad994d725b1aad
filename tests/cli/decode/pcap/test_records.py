"""Records beneath their exchange."""

from kcli.capture.api import read_capture
from kcli.capture.kafka.exchange import Exchange
from kcli.cli.decode.pcap.records import batch_line, record_lines, text_of
from tests.capture.wires import SAMPLES


def lines(form: str) -> list[str]:
    items = read_capture(SAMPLES / "java44-txn.pcap").items()
    return [line.strip() for item in items if isinstance(item, Exchange) for line in record_lines(item, form)]


def test_batches() -> None:
    found = lines("batches")
    assert found[0].startswith("pay-in[") and "records," in found[0] and "transactional" in found[0]
    assert any("control" in line for line in found)


def test_records() -> None:
    found = lines("full")
    assert len(found) > len(lines("batches")) * 2
    assert any(": " in line and line.startswith("pay-in[0] 0") for line in found)


def test_a_long_topic_is_cut() -> None:
    """A name may have 249 characters, and stands in front of each of its records."""
    items = [item for item in read_capture(SAMPLES / "java44-txn.pcap").items() if isinstance(item, Exchange)]
    item = next(item for item in items if item.api_name == "PRODUCE")
    item.request["topicData"][0]["name"] = "x" * 249
    found = [line.strip() for line in record_lines(item, "full")]
    assert all("… (249 characters)[" in line and "x" * 60 not in line for line in found) and len(found) > 1


def test_values_of_every_kind() -> None:
    assert (text_of("a"), text_of(None), text_of({"base64": "AA=="})) == ("a", "null", '{"base64":"AA=="}')
    assert text_of("x" * 100).endswith("… (100 characters)")


def test_what_is_no_batch_stands_among_them() -> None:
    """A broker cuts the last batch at the fetch's limit."""
    row = {"event": "truncated", "offset": 7, "bytes": 393, "reason": "a batch of 2072 bytes, 393 are here"}
    assert batch_line("t[0]", row) == "t[0] truncated: 393 bytes: a batch of 2072 bytes, 393 are here"


def test_a_message_set_that_cannot_be_unpacked() -> None:
    row = {
        "baseOffset": None, "lastOffset": 9, "count": None, "sizeInBytes": 1000, "compression": "lz4",
        "_error": {"path": "records", "reason": "not lz4"},
    }  # fmt: skip
    assert batch_line("t[0]", row) == "t[0] ?-9  ? records, 1,000 bytes, lz4, records: not lz4"


def test_a_capture_with_cut_batches() -> None:
    items = read_capture(SAMPLES / "old-librdkafka-on-3.9.pcap").items()
    found = [line for item in items if isinstance(item, Exchange) for line in record_lines(item, "batches")]
    assert any(" truncated: " in line for line in found)
