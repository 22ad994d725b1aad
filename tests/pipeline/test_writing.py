"""Rows into Parquet: a file for each table and day, rows in groups."""

from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from kcli.pipeline import writing
from kcli.pipeline.schemas import filed_schema
from kcli.pipeline.writing import TableWriter, WrittenFile, day_of, stored_schema
from kcli.tables.arrays import batch_of_rows
from tests.pipeline.outputs import filled

DAY = 86_400_000_000
ID = "LiM8oXcTSBWR3XF1qnjt6A"


def event(us: int) -> tuple[Any, ...]:
    return (us, "gap", "a:1-b:2", "client", None, 0, 5, False, "why", None)


def test_a_file_for_each_day(tmp_path: Path) -> None:
    writer = TableWriter(str(tmp_path), "x")
    for us in (0, 1, DAY - 1, DAY):
        writer.put("undecodable", event(us))
    assert writer.close() == [
        WrittenFile("undecodable", "1970-01-01", "undecodable/date=1970-01-01/x.parquet", 3),
        WrittenFile("undecodable", "1970-01-02", "undecodable/date=1970-01-02/x.parquet", 1),
    ]
    table = pyarrow.parquet.read_table(tmp_path / "undecodable/date=1970-01-01/x.parquet", partitioning=None)
    assert table.schema.equals(filed_schema("undecodable"))
    schema = pyarrow.parquet.read_schema(tmp_path / "undecodable/date=1970-01-01/x.parquet")
    assert schema.field("sender").metadata[b"comment"] == b"client or server"
    assert table.num_rows == 3


def test_rows_go_out_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "ROWS", 10)
    writer = TableWriter(str(tmp_path), "x")
    for us in range(25):
        writer.put("undecodable", event(us))
    assert len(writer.sinks["undecodable", 0, False].rows) == 5
    (written,) = writer.close()
    assert pyarrow.parquet.ParquetFile(tmp_path / written.path).num_row_groups == 3


def test_long_rows_go_out_sooner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "TEXT_BYTES", 1000)
    writer = TableWriter(str(tmp_path), "x")
    for us in range(writing.SAMPLE):
        writer.put("undecodable", (*event(us)[:8], "w" * 100, None))
    assert not writer.sinks["undecodable", 0, False].rows
    writer.close()


def test_rows_whose_topics_lack_names_have_files_of_their_own(tmp_path: Path) -> None:
    writer, schema = TableWriter(str(tmp_path), "x"), stored_schema("remote_fetches")
    for topic, nameless in (("t", False), (None, True), (None, True)):
        row = dict(zip(schema.names, remote(topic, ID), strict=True))
        writer.put_batch("remote_fetches", 0, pyarrow.RecordBatch.from_pylist([row], schema), nameless)
    files = sorted((file.path.rpartition("/")[2], file.rows, file.nameless) for file in writer.close())
    assert files == [("x-nameless.parquet", 2, True), ("x.parquet", 1, False)]


def remote(topic: str | None, topic_id: str | None) -> tuple[Any, ...]:
    return (*filled("remote_fetches", {"topic": topic, "topic_id": topic_id}).values(),)


def test_what_always_has_a_value_is_required(tmp_path: Path) -> None:
    writer = TableWriter(str(tmp_path), "x")
    writer.put("fetch_partitions", (*filled("fetch_partitions", {}).values(),))
    (made,) = writer.close()
    schema = pyarrow.parquet.read_schema(tmp_path / made.path)
    assert not schema.field("partition").nullable
    assert schema.field("topic").nullable


def test_days_are_utc() -> None:
    assert (day_of(DAY - 1), day_of(DAY)) == ("1970-01-01", "1970-01-02")


def zeros(table: str, rows: int) -> Any:
    """Return rows of a table, of empty texts and zeros."""
    schema = stored_schema(table)
    row = [0 if pyarrow.types.is_integer(field.type) else b"" for field in schema]
    return batch_of_rows([row] * rows, schema)


def test_short_rows_that_are_columns_wait_for_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those do not whose texts lie in memory that is used again."""
    monkeypatch.setattr(writing, "SHORT_ROWS", 5)
    writer = TableWriter(str(tmp_path), "x")
    for table in ("topic_names", "fetch_frames"):
        for _ in range(3):
            writer.put_batch(table, -1, zeros(table, 2))
    short, long = (pyarrow.parquet.ParquetFile(tmp_path / each.path) for each in writer.close())
    assert (short.num_row_groups, short.metadata.num_rows) == (1, 6)
    assert (long.num_row_groups, long.metadata.num_rows) == (3, 6)


def test_no_more_long_texts_wait_than_there_is_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "TEXT_BYTES", 100)
    writer = TableWriter(str(tmp_path), "x")
    schema = stored_schema("noted_exchanges")
    for size in (60, 60, 10):
        long = [b"x" * size if field.name == "response" else None for field in schema]
        writer.put_batch("noted_exchanges", -1, batch_of_rows([long], schema))
    [written] = writer.close()
    file = pyarrow.parquet.ParquetFile(tmp_path / written.path)
    assert [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)] == [2, 1]
