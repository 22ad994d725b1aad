"""Tables in Parquet files: what is stored, and what readers see of it."""

from pathlib import Path
from typing import Any

import pytest

from kcli.tables.definition import columns, schema_of
from kcli.tables.parquet import parquet_writer, stored

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

SCHEMA = schema_of(
    columns(
        "timestamp instant when\napi string? which\nrequest string? JSON\nbytes int64 how many\nframe binary wire\n"
        "last_ns int64? when"
    )
)
ROWS: list[dict[str, Any]] = [
    {"timestamp": time, "api": api, "request": f"[{time}]", "bytes": 5, "frame": b"\0" * time, "last_ns": time or None}
    for time, api in enumerate(("a", None, "b", "a"))
]


def test_short_texts_are_dictionaries() -> None:
    made = stored(SCHEMA)
    assert made.field("api").type == pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    assert [made.field(name) for name in ("timestamp", "request", "bytes", "frame")] == [
        SCHEMA.field(at) for at in (0, 2, 3, 4)
    ]
    assert made.field("api").metadata == {b"comment": b"which"}


@pytest.mark.parametrize("schema", [SCHEMA, stored(SCHEMA)], ids=["plain", "dictionaries"])
def test_how_columns_are_kept(schema: Any, tmp_path: Path) -> None:
    """Texts in dictionaries, numbers and short texts with the least and greatest, times as differences; readers see
    texts."""
    path = tmp_path / "x.parquet"
    with path.open("wb") as file, parquet_writer(file, schema) as writer:
        writer.write_batch(pyarrow.RecordBatch.from_pylist(ROWS, schema))
    assert parquet.read_schema(path).equals(SCHEMA, check_metadata=True)
    assert parquet.read_table(path).cast(SCHEMA).equals(pyarrow.Table.from_pylist(ROWS, SCHEMA))
    group = parquet.ParquetFile(path).metadata.row_group(0)
    found = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}
    for name in ("timestamp", "last_ns"):
        assert "DELTA_BINARY_PACKED" in found[name].encodings and found[name].statistics.has_min_max
    assert (found["bytes"].statistics.min, found["bytes"].statistics.max) == (5, 5)
    assert found["frame"].statistics is None
    assert (found["api"].statistics.min, found["api"].statistics.max) == ("a", "b")
    assert found["request"].statistics is None
    for name in ("api", "request"):
        assert "RLE_DICTIONARY" in found[name].encodings


def test_a_text_may_stand_in_a_dictionary_twice(tmp_path: Path) -> None:
    made = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, 2, 3, None], "int32"), ["a", "b", "a", "c"])
    schema = pyarrow.schema([pyarrow.field("api", made.type)])
    with parquet_writer(str(tmp_path / "x"), schema) as writer:
        writer.write_batch(pyarrow.record_batch([made], schema))
    assert parquet.read_table(tmp_path / "x").column("api").to_pylist() == ["a", "b", "a", "c", None]
