"""Each file beside a log, as Kafka wrote it and back."""

import struct
from pathlib import Path

import pytest

from kcli.core.records.crc import crc32c
from kcli.grammar.files import logfiles
from kcli.records.segments import read_rows


def test_a_real_index_both_ways(samples: Path) -> None:
    for ending, grammar in (("index", logfiles.OFFSET_INDEX), ("timeindex", logfiles.TIME_INDEX)):
        data = (samples / f"orders-0/00000000000000000000.{ending}").read_bytes()
        found = grammar.parse(data)
        assert grammar.build(found) == data
        rows = list(read_rows(ending, data, "00000000000000000000"))
        assert [row["offset"] for row in rows] == [entry.relativeOffset for entry in found[: len(rows)]]


def test_sizes() -> None:
    entries = (
        logfiles.OFFSET_INDEX_ENTRY,
        logfiles.TIME_INDEX_ENTRY,
        logfiles.TRANSACTION_INDEX_ENTRY,
        logfiles.PRODUCER_ENTRY,
        logfiles.PRODUCER_HEAD,
    )
    assert [entry.sizeof() for entry in entries] == [8, 12, 34, 46, 10]
    assert logfiles.producer_crc_start() == 6


@pytest.mark.parametrize("count", [0, 2])
def test_producer_snapshots(count: int) -> None:
    body = struct.pack(">i", count) + count * struct.pack(">qhiqiqiq", 5, 1, 9, 40, 3, 1700, 2, -1)
    data = struct.pack(">hI", 1, crc32c(body)) + body
    found = logfiles.PRODUCER_SNAPSHOT.parse(data)
    assert len(found.producers) == count and logfiles.PRODUCER_SNAPSHOT.build(found) == data
    assert list(read_rows("snapshot", data, "x")) == found.producers


def test_aborted_transactions() -> None:
    data = struct.pack(">hqqqq", 0, 5, 10, 20, 9) * 2
    assert list(read_rows("txnindex", data, "x")) == logfiles.TRANSACTION_INDEX.parse(data)
