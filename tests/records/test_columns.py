from pathlib import Path
from typing import Any

import pytest

from kcli.errors import DecodeError
from kcli.records.batches import scan
from kcli.records.columns import SCHEMA_FIELDS, arrow_batches, write_parquet
from kcli.records.conversion import Slice
from tests.records.vectors import Case, good, mixed_batches, named

pytest.importorskip("pyarrow")
pytest.importorskip("kcli.core.records.record_columns")


def expected(data: bytes) -> list[tuple[Any, ...]]:
    return [
        (r.offset, None if r.timestamp == -1 else r.timestamp, r.key, r.value, [(k.encode(), v) for k, v in r.headers])
        for batch in scan(data)
        if not batch.is_control
        for r in batch.records()
    ]


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    times = table.column("timestamp").cast("int64").to_pylist()
    return [
        (row["offset"], time, row["key"], row["value"], [(h["key"], h["value"]) for h in row["headers"]])
        for row, time in zip(table.drop_columns(["timestamp"]).to_pylist(), times, strict=True)
    ]


@pytest.mark.parametrize("case", good(), ids=str)
def test_columns_hold_what_the_records_say(case: Case) -> None:
    import pyarrow as pa

    [made] = arrow_batches(memoryview(case.data), "f")
    made.validate(full=True)
    assert rows_of(pa.Table.from_batches([made])) == expected(case.data)


def test_a_record_has_what_its_batch_says(tmp_path: Path) -> None:
    import pyarrow.parquet

    data = mixed_batches()
    with (tmp_path / "x.parquet").open("wb") as out, write_parquet(out) as append:
        append(Slice.of(data).read, "a.log", lambda _: None)
        append(Slice.of(data).read, "b.log", lambda _: None)
    table = pyarrow.parquet.read_table(tmp_path / "x.parquet")
    assert table.schema.names == [name for name, _ in SCHEMA_FIELDS]
    assert rows_of(table) == expected(data) * 2
    assert set(table.column("file").to_pylist()) == {"a.log", "b.log"}
    assert set(table.column("compression").to_pylist()) == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert table.column("producerId").to_pylist()[0] == 7


def test_what_cannot_be_read_is_an_error_behind_the_rest(tmp_path: Path) -> None:
    import pyarrow.parquet

    one = named("one-record")
    with (tmp_path / "x.parquet").open("wb") as out, write_parquet(out) as append:
        for data in (one + named("key-length-long") + one, one + b"\1" * 40 + one):
            with pytest.raises(DecodeError):
                append(Slice.of(data).read, "a.log", lambda _: None)
    assert pyarrow.parquet.read_table(tmp_path / "x.parquet").num_rows >= 4
