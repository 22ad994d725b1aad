"""Rows into Parquet: a file for each table and day, rows in groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from kcli.pipeline import writing
from kcli.pipeline.tables import arrow_schema
from kcli.pipeline.writing import TableWriter, Written, day_of

DAY = 86_400_000_000


def event(us: int) -> tuple[Any, ...]:
    return (us, "gap", "a:1-b:2", "client", None, 0, 5, False, "why", None)


def test_a_file_for_each_day(tmp_path: Path) -> None:
    writer = TableWriter(str(tmp_path), "x")
    for us in (0, 1, DAY - 1, DAY):
        writer.put("undecodable", event(us))
    assert writer.close() == [
        Written("undecodable", "1970-01-01", "undecodable/date=1970-01-01/x.parquet", 3),
        Written("undecodable", "1970-01-02", "undecodable/date=1970-01-02/x.parquet", 1),
    ]
    table = pyarrow.parquet.read_table(tmp_path / "undecodable/date=1970-01-01/x.parquet", partitioning=None)
    assert table.schema.equals(arrow_schema("undecodable"))
    assert table.num_rows == 3


def test_rows_go_out_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "ROWS", 10)
    writer = TableWriter(str(tmp_path), "x")
    for us in range(25):
        writer.put("undecodable", event(us))
    assert len(writer.sinks["undecodable", 0].rows) == 5
    (written,) = writer.close()
    assert pyarrow.parquet.ParquetFile(tmp_path / written.path).num_row_groups == 3


def test_long_rows_go_out_sooner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "TEXT_BYTES", 1000)
    writer = TableWriter(str(tmp_path), "x")
    for us in range(writing.SAMPLE):
        writer.put("undecodable", (*event(us)[:8], "w" * 100, None))
    assert not writer.sinks["undecodable", 0].rows
    writer.close()


def test_days_are_utc() -> None:
    assert (day_of(DAY - 1), day_of(DAY)) == ("1970-01-01", "1970-01-02")


def test_how_columns_are_kept(tmp_path: Path) -> None:
    """Texts that repeat as dictionaries, numbers with the least and greatest of a group, times as differences."""
    writer = TableWriter(str(tmp_path), "x")
    for us in range(3):
        writer.put("undecodable", event(us))
    (written,) = writer.close()
    group = pyarrow.parquet.ParquetFile(tmp_path / written.path).metadata.row_group(0)
    columns = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}
    assert "DELTA_BINARY_PACKED" in columns["timestamp"].encodings
    assert columns["timestamp"].statistics.has_min_max
    assert (columns["bytes"].statistics.min, columns["bytes"].statistics.max) == (5, 5)
    assert "RLE_DICTIONARY" in columns["event"].encodings
    assert columns["event"].statistics is None
    assert "RLE_DICTIONARY" not in columns["data"].encodings
