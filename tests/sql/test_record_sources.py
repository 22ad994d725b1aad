"""Records of segments and captures: those that `kcli decode` shows, value for value."""

import gzip
import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

import kcli
from kcli.errors import InputError
from kcli.payloads.record_table import as_text, text_of
from kcli.tables.captured import CAPTURED
from tests.capture.wires import SAMPLES

Ask = Callable[..., list[dict[str, Any]]]


def shown(data: bytes | None) -> str | None:
    return None if data is None else text_of(data).decode()


def test_a_segments_records(ask: Ask, samples: Path) -> None:
    rows = ask("FROM records", samples / "orders-0")
    log = samples / "orders-0" / "00000000000000000000.log"
    expected = [
        (batch, record) for batch in kcli.read_segment(log) if not batch.is_control for record in batch.records()
    ]
    assert len(rows) == len(expected) == 482
    for row, (batch, record) in zip(rows, expected, strict=True):
        assert list(row) == CAPTURED["records"].names
        assert (row["topic"], row["partition"], row["file"]) == ("orders", 0, str(log))
        assert (row["api"], row["client_id"], row["connection"]) == (None, None, None)
        assert row["offset"] == record.offset and row["timestamp"].timestamp() * 1000 == record.timestamp
        assert (row["key"], row["value"]) == (shown(record.key), shown(record.value))
        assert row["headers"] == [{"key": key, "value": shown(value)} for key, value in record.headers]
        assert (row["base_offset"], row["compression"]) == (batch.base_offset, batch.compression)
        assert (row["magic"], row["timestamp_type"]) == (batch.magic, batch.timestamp_type)
        assert row["producer_id"] == batch.producer_id and row["base_sequence"] == batch.base_sequence


def reported(item: kcli.Exchange) -> Iterator[tuple[Any, ...]]:
    """The records in an exchange's JSON: (exchange, topic, partition, batch, record), offsets of Produce as its answer
    has them, -1 without one. What stands behind damage, as the end of an answer that was converted down, is left
    out."""
    _, request, response = (json.loads(text) for text in item.texts())
    body = (request if item.api == "Produce" else response) or {}
    put = {
        (topic.get("name") or topic["_topicName"], part["index"]): part["baseOffset"]
        for topic in (response or {}).get("responses", ())
        for part in topic.get("partitionResponses", ())
    }
    for topic in body.get("topicData", body.get("responses", ())):
        name = topic.get("_topicName") or topic.get("name") or topic.get("topic")
        for part in topic.get("partitionData", topic.get("partitions", ())):
            batches = (part["records"] or {}).get("batches", ())
            if item.api == "Produce":
                first, records = (
                    put.get((name, part["index"]), -1),
                    [row for each in batches for row in each["records"]],
                )
                for count, record in enumerate(records):
                    record["offset"] = first + count if first >= 0 else -1
            for batch in takewhile(lambda each: "event" not in each, batches):
                if not batch.get("isControl"):
                    number = part["index"] if "index" in part else part["partitionIndex"]
                    yield from ((item, name, number, batch, record) for record in batch["records"])


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.pcap*")), ids=lambda path: path.name)
def test_a_captures_records(path: Path, ask: Ask) -> None:
    """Each record that the JSON of Produce and Fetch shows."""
    expected = [
        each for item in kcli.read_capture(path, api=["Produce", "Fetch"], records="full") for each in reported(item)
    ]
    rows = ask("FROM records WHERE api != 'SHARE_FETCH'", path)
    assert len(rows) == len(expected)
    for row, (item, topic, number, batch, record) in zip(rows, expected, strict=True):
        assert (row["topic"], row["partition"], row["offset"]) == (topic, number, record["offset"])
        for name in ("key", "value"):
            value = record[name]
            assert row[name] == (json.dumps(value, separators=(",", ":")) if isinstance(value, dict) else value)
        assert (row["api"], row["client_id"], row["connection"]) == (item.api_name, item.client_id, item.connection)
        assert (row["compression"], row["file"]) == (batch["compression"], str(path))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain", "plain"),
        ("größe\t1\n".encode(), "größe\t1\n"),
        (b"", ""),
        (None, None),
        (b"\x00", '{"base64":"AA=="}'),
        (b"\x1b[31m", '{"base64":"G1szMW0="}'),
        (b"\xff", '{"base64":"/w=="}'),
        ("\x9b".encode(), '{"base64":"wps="}'),
    ],
)
def test_bytes_are_text_where_they_print(data: bytes | None, text: str | None) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for others in ([], [b"x"], [b"\xfe"]):
        assert as_text(pyarrow.array([data, *others], pyarrow.binary())).to_pylist()[0] == text
    nested = pyarrow.array([[{"key": b"k", "value": data}], []])
    assert as_text(nested).to_pylist()[0][0]["value"] == text


def test_damage_is_told_behind_what_could_be_read(ask: Ask, samples: Path, tmp_path: Path) -> None:
    data = bytearray((samples / "orders-0" / "00000000000000000000.log").read_bytes())
    broken = tmp_path / "00000000000000000000.log"
    data[4805 + 8 : 4805 + 12] = b"\xff" * 4  # the second batch's length
    broken.write_bytes(data)
    with pytest.raises(InputError, match=r"00000000000000000000\.log: "):
        ask("SELECT count(*) FROM records", broken)
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((samples / "java44-txn.pcap").read_bytes()[:-7])
    with pytest.raises(InputError, match="ends in the middle of a packet"):
        ask("SELECT count(*) FROM records", cut)


def test_times_beyond_the_calendar_are_null(ask: Ask, tmp_path: Path) -> None:
    from kcli.records.builder import build_batch

    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(b"".join(build_batch([(time, b"k", b"v", ())]) for time in (-1, 1 << 62, -(1 << 62), 1000)))
    rows = ask("SELECT timestamp FROM records", log)
    assert [row["timestamp"] and row["timestamp"].timestamp() for row in rows] == [None, None, None, 1.0]


def test_gzip_and_base64_are_what_they_seem() -> None:
    assert b64decode(json.loads(text_of(gzip.compress(b"x")))["base64"])[:2] == b"\x1f\x8b"
