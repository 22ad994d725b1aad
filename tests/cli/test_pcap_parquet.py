"""Exchanges and events as rows."""

from __future__ import annotations

import io
import json
import sys

import pytest

from kcli.capture.reading import read_capture
from kcli.cli.pcap_parquet import COLUMNS, Writer
from kcli.errors import UsageError
from tests.capture.wires import DATA, SAMPLES

parquet = pytest.importorskip("pyarrow.parquet")


def test_a_row_for_each_exchange_and_event() -> None:
    out = io.BytesIO()
    items = [
        *read_capture(SAMPLES / "java44-txn.pcap").items(),
        *read_capture(DATA / "snaplen-96.pcap").items(),
    ]
    with Writer(out) as writer:
        for item in items:
            writer.add(item)
    rows = parquet.read_table(io.BytesIO(out.getvalue())).to_pylist()
    assert len(rows) == len(items) == 78 + 99 and list(rows[0]) == list(COLUMNS)
    first = rows[0]
    assert (first["api"], first["api_version"], first["client_id"], first["latency_ms"]) == (
        "API_VERSIONS",
        5,
        "lab-java",
        0.91,
    )
    assert json.loads(first["request"])["clientSoftwareName"] == "apache-kafka-java"
    assert first["timestamp"].isoformat() == "2026-11-21T01:21:58.865082+00:00"
    assert rows[2]["errors"] == ["COORDINATOR_NOT_AVAILABLE"] and first["errors"] == []
    assert rows[-1]["event"] in ("truncated", "undecodable") and rows[-1]["api"] is None


def test_rows_go_out_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.cli.pcap_parquet.ROWS", 10)
    out = io.BytesIO()
    with Writer(out) as writer:
        for item in read_capture(SAMPLES / "java44-txn.pcap").items():
            writer.add(item)
            assert len(writer.rows) < 10
    assert parquet.ParquetFile(io.BytesIO(out.getvalue())).num_row_groups == 8


def test_without_pyarrow_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match="needs pyarrow"):
        Writer(io.BytesIO())
