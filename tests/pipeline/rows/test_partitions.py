"""Partitions of real and of made exchanges, their figures counted another way: from lines of decode pcap, or by
hand."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.capture.messages import request, response
from tests.capture.wires import Wire, pcap
from tests.pipeline.outputs import decoded_lines, rows_of, run_here


def exchanges(path: Path, api_key: int) -> list[dict[str, Any]]:
    """The lines of decode pcap for one API."""
    return [line for line in decoded_lines([path]) if line.get("requestHeader", {}).get("requestApiKey") == api_key]


@pytest.mark.parametrize("name", ["java44-consume-classic.pcap", "kcat-codecs.pcap", "old-librdkafka-on-3.9.pcap"])
def test_fetch_partitions_and_batches_are_those_in_the_lines(name: str, samples: Path, output: Path) -> None:
    run_here([samples / name], output, shares=3)
    rows, fetches = rows_of(output, "fetch_partitions"), exchanges(samples / name, 1)
    asked = [
        (p["partition"], p["fetchOffset"]) for f in fetches for t in f["request"]["topics"] for p in t["partitions"]
    ]
    reported = [
        (p["partitionIndex"], p["highWatermark"], (p["records"] or {"sizeInBytes": 0})["sizeInBytes"])
        for f in fetches if f["response"]
        for t in f["response"]["responses"]
        for p in t["partitions"]
    ]  # fmt: skip
    assert Counter((r["partition"], r["fetch_offset"]) for r in rows if r["asked"]) == Counter(asked)
    answered = Counter((r["partition"], r["high_watermark"], r["records_bytes"]) for r in rows if r["answered"])
    assert answered == Counter(reported)
    assert asked


@pytest.mark.parametrize("name", ["java44-txn.pcap", "kcat-codecs.pcap", "old-librdkafka-on-3.9.pcap"])
def test_produce_partitions_are_those_in_the_lines(name: str, samples: Path, output: Path) -> None:
    run_here([samples / name], output, shares=3)
    rows, produces = rows_of(output, "produce_partitions"), exchanges(samples / name, 0)
    asked, reported = [], []
    for line in produces:
        sent, reply = line["request"], line["response"] or {"responses": []}
        for topic in sent["topicData"]:
            called = topic.get("name") or topic["_topicName"]
            for each in topic["partitionData"]:
                size = each["records"]["sizeInBytes"]
                asked.append((sent["acks"], sent["timeoutMs"], called, each["index"], size))
        for topic in reply["responses"]:
            called = topic.get("name") or topic["_topicName"]
            for each in topic["partitionResponses"]:
                times = each.get("logAppendTimeMs"), each.get("logStartOffset")
                reported.append((called, each["index"], each["baseOffset"], *times, each["errorCode"] != 0))
    names = ("acks", "timeout_ms", "topic", "partition", "records_bytes")
    assert Counter(tuple(r[each] for each in names) for r in rows) == Counter(asked)
    names = ("topic", "partition", "base_offset", "log_append_time_ms", "log_start_offset")
    answered = [(*(r[each] for each in names), r["error"] is not None) for r in rows if r["answered"]]
    assert Counter(answered) == Counter(reported)
    assert asked and sum(r["batches"] for r in rows) >= len(asked)


def test_batches_are_those_that_the_records_hold(samples: Path, output: Path) -> None:
    """Against another way to them: the JSON text of `decode pcap --records batches`."""
    import io
    import json

    from tests.capture.decoding import write_lines

    name = samples / "kcat-codecs.pcap"
    run_here([name], output, shares=2)
    out = io.BytesIO()
    write_lines([str(name)], out.write, records="batches")
    reported: list[tuple[Any, ...]] = []
    for line in map(json.loads, out.getvalue().splitlines()):
        for side, topics, partitions in (
            ("request", "topicData", "partitionData"),
            ("response", "responses", "partitions"),
        ):
            for topic in (line[side] or {}).get(topics, ()):
                for partition in topic.get(partitions, ()):
                    for batch in (partition.get("records") or {}).get("batches", ()):
                        reported.append(
                            (batch["baseOffset"], batch["magic"], batch["compression"], batch["count"], batch["crc"])
                        )
    rows = rows_of(output, "record_batches")
    names = ("base_offset", "magic", "compression", "count", "crc")
    assert Counter(tuple(row[name] for name in names) for row in rows) == Counter(reported)
    assert {row["compression"] for row in rows} == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert all(row["crc_valid"] for row in rows)


def test_who_forces_down_conversion(samples: Path, output: Path) -> None:
    """The clients of this capture were told that the broker is 0.8.2 or 0.9.0: Fetch v0 and v1, magic 0."""
    name = samples / "old-librdkafka-on-3.9.pcap"
    run_here([name], output)
    rows = rows_of(output, "down_conversions")
    lines = exchanges(name, 1)
    sizes = [
        (p["records"] or {"sizeInBytes": 0})["sizeInBytes"]
        for line in lines for t in (line["response"] or {"responses": ()})["responses"] for p in t["partitions"]
    ]  # fmt: skip
    assert {row["to_magic"] for row in rows} == {0}
    assert {row["api_version"] for row in rows} <= {0, 1}
    assert sum(row["converted_bytes"] for row in rows) == sum(sizes) > 0
    assert all(row["eager_bytes"] == row["converted_bytes"] >= row["lazy_bytes"] for row in rows)


def fetch(offset: int, high: int, records: bytes, limit: int) -> Wire:
    asked = {"maxWaitMs": 500, "maxBytes": 1 << 25, "topics": [
        {"topic": "old", "partitions": [{"partition": 3, "fetchOffset": offset, "partitionMaxBytes": limit}]}
    ]}  # fmt: skip
    reported = {"responses": [
        {"topic": "old", "partitions": [{"partitionIndex": 3, "highWatermark": high, "records": records}]}
    ]}  # fmt: skip
    return Wire().open().client(request(1, 11, 1, asked)).server(response(1, 11, 1, reported)).close()


def batch(first: int, count: int, size: int) -> bytes:
    from kcli.records import build_batch

    return build_batch([(0, None, bytes(size), ()) for _ in range(count)], first)


@pytest.mark.parametrize(("high", "behind"), [(1_000_000, 999_890), (120, None)])
def test_a_read_far_behind_the_end(high: int, behind: int | None, tmp_path: Path, output: Path) -> None:
    """Ten records of 1000 bytes at 100; the limit is 100,000 bytes: 990 more such records fill ten more answers."""
    data = batch(100, 10, 1000)
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(fetch(100, high, data, 100_000).packets))
    run_here([path], output)
    rows = rows_of(output, "remote_fetches")
    assert [row["behind"] for row in rows] == ([behind] if behind else [])
    for row in rows:
        assert (row["topic"], row["partition"], row["fetch_offset"], row["max_bytes"]) == ("old", 3, 100, 100_000)
        assert row["records_bytes"] == len(data)
        assert (row["requests_1mb"], row["requests_4mb"]) == (len(data) / 2**20, len(data) / 2**22)
