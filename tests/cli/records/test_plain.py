"""Lines and Parquet that the core makes of records: those that rows are written as."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.decoder import DecodeOptions
from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.events import Link
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.record_fields import CapturedField, RecordField, RecordSink
from kcli.cli.records import plain
from kcli.cli.records.choice import RecordChoice
from kcli.cli.records.formats import write_jsonl, write_parquet
from kcli.cli.records.plain import write_plain_lines, write_plain_parquet
from kcli.cli.records.sources import Problems, RecordGroup, captured_group, record_groups
from kcli.records.builder import build_batch, build_marker
from kcli.records.unfolding import Unfolding
from kcli.schemas.apikeys import FETCH, PRODUCE
from tests.capture.messages import request
from tests.capture.wires import DATA, SAMPLES
from tests.records.vectors import bad, good

parquet = pytest.importorskip("pyarrow.parquet")

KEYS = (None, b"", b"k", b"\xff\x00", "日本\u202e\n".encode(), b'"\\')
VALUES = (None, b"", b'{"a": 1}', b"\x01\x0b" + bytes(40), b"v" * 1000, "größe\x7f".encode(), b"\xc2\x85")
HEADERS: tuple[Any, ...] = ((), (("h", b"1"), ("h", None)), ((b"\xfe", b"\x00\xff"),))


def choice_of(**options: Any) -> RecordChoice:
    made = RecordChoice.__new__(RecordChoice)
    made.topic, made.partition, made.key = options.get("topic"), options.get("partition"), None
    made.control, made.seen, made.has_conditions, made.count, made.topics = False, None, True, 0, {}
    return made


def groups_of(path: Path, problems: Problems) -> Iterator[RecordGroup]:
    return record_groups([str(path)], problems, lambda _count: None, RecordSink(), DecodeOptions(), quiet=True)


def field_groups(path: Path, problems: Problems) -> Iterator[RecordGroup]:
    """Yield the file as a records field of a Fetch, then as one of a Produce, both before another one."""
    for api_key, offset in ((FETCH, None), (PRODUCE, 500), (PRODUCE, None)):
        body = {"topics": []} if api_key == FETCH else {"acks": 1, "topicData": []}
        frame = request(api_key, 7, 5, body)[4:]
        exchange = Exchange(Link("a:1", "b:2"), 1, frame, 2, b"", Bodies(None))
        for data in (path.read_bytes(), build_batch([(1, b"k", b"v", ())], 9)):
            field = RecordField("t", None, 3, memoryview(data), offset, 77 if offset else None)
            yield captured_group(CapturedField(exchange, "f", field), problems, False, Unfolding(shared=True))


def assert_same(
    path: Path, groups_of: Callable[[Path, Problems], Iterator[RecordGroup]] = groups_of, **options: Any
) -> int:
    """Check that both ways write the same, say the same and count the same; return how many records there are."""
    found = [Problems() for _ in range(4)]
    choices = [choice_of(**options) for _ in range(4)]
    outs = [io.BytesIO() for _ in range(4)]

    def rows(number: int) -> Iterator[Any]:
        groups = groups_of(path, found[number])
        return choices[number].wanted(row for group in groups for row in group.rows())

    write_jsonl(rows(0), outs[0], None)
    write_plain_lines(groups_of(path, found[1]), choices[1], outs[1], lambda: None)
    write_parquet(rows(2), outs[2], None)
    write_plain_parquet(groups_of(path, found[3]), choices[3], outs[3], lambda: None)
    assert outs[1].getvalue() == outs[0].getvalue()
    one, other = map(parquet.read_table, (outs[2], outs[3]))
    assert other.schema.equals(one.schema, check_metadata=True)
    assert other.equals(one)
    said = [(each.count, [str(failure) for failure in each.failures]) for each in found]
    assert said == [said[0]] * 4
    assert [each.count for each in choices] == [choices[0].count] * 4
    return choices[0].count


@pytest.mark.parametrize("path", sorted(path for path in [*SAMPLES.glob("*.pcap*"), *DATA.glob("*.pcap*")]), ids=str)
def test_captures(path: Path) -> None:
    assert_same(path)


def test_records_of_a_topic_and_a_partition() -> None:
    path = SAMPLES / "java44-consume-classic.pcap"
    whole = assert_same(path)
    assert 0 < assert_same(path, topic="*", partition=0) < whole


def test_segments() -> None:
    for path in (*(SAMPLES / "orders-0").glob("*.log"), *(SAMPLES / "__cluster_metadata-0").glob("*.log")):
        assert assert_same(path), path


@pytest.mark.parametrize("number", range(8))
def test_vectors(number: int, tmp_path: Path) -> None:
    for case in [*good(), *bad()][number::8]:
        path = tmp_path / "orders-3" / "0.log"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(case.data)
        assert_same(path)
        assert_same(path, field_groups)


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
def test_odd_keys_values_and_headers(codec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where plain batches stand between others, and where there is more than is written at a time."""
    records = [
        (time, key, value, headers)
        for time in (5, -1, 1 << 62)
        for key in KEYS
        for value in VALUES
        for headers in HEADERS
    ]
    batches = [
        build_batch(records, 100, codec=codec),
        build_batch(records[:7], 1000, codec=codec, append_time=77),
        build_marker(False, 9, 2000, 5, 0, 1),
        build_batch(records, 3000, codec=codec, producer_id=5, transactional=True),
    ]
    broken = bytearray(build_batch(records[:2], 5000))
    broken[-1] ^= 1
    path = tmp_path / "odd-0" / "0.log"
    path.parent.mkdir()
    path.write_bytes(b"".join([*batches, broken, batches[0], batches[3][:70]]))
    count = assert_same(path)
    assert count == 3 * len(records) + 7 + 2
    assert assert_same(path, field_groups) > count
    for name, size in (("LINES", 100), ("GATHERED", 100), ("HELD", 1)):
        monkeypatch.setattr(plain, name, size)
    assert assert_same(path) == count


@pytest.mark.parametrize("cut", [1, 30, 70, 100])
def test_a_broker_cuts_the_last_batch_of_a_fetch(cut: int, tmp_path: Path) -> None:
    batch = build_batch([(5, b"k", b"v" * 100, ())], 100)
    path = tmp_path / "field"
    path.write_bytes(batch + build_marker(True, 9, 2000, 5, 0, 1) + batch + batch[:cut])
    assert assert_same(path, field_groups) == 3 * 2 + 3
