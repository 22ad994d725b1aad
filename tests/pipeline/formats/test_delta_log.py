"""One Delta table: statistics, where it lies, and what is wrong with it."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from deltalake.exceptions import DeltaError
from pyarrow import compute
from pyarrow.parquet import read_metadata

from kcli.errors import InputError, UsageError
from kcli.pipeline.formats.delta_log import DeltaLog, cause_of, clear_errors, location, stats_of
from kcli.pipeline.storage import StoragePath
from kcli.pipeline.tables import TABLES
from kcli.pipeline.writing import TableWriter
from kcli.tables.definition import Table, columns
from tests.pipeline.outputs import filled

DAY_US = 86_400_000_000
EXCHANGES = TABLES["exchanges"]


def put(folder: Path, name: str, *rows: dict[str, Any]) -> list[str]:
    """Write exchanges into files, one a day; return their paths below the table's folder."""
    writer = TableWriter(str(folder), name)
    for row in rows:
        writer.put("exchanges", tuple(filled("exchanges", row)[each] for each in EXCHANGES.names))
    return [each.path.partition("/")[2] for each in writer.close()]


def test_rows_are_found_by_day_and_by_statistics(tmp_path: Path) -> None:
    log = DeltaLog(StoragePath(str(tmp_path / "exchanges")), EXCHANGES)
    log.make()
    paths = put(tmp_path, "a", {"timestamp": 5, "client_id": "anna"}, {"timestamp": DAY_US, "client_id": "b" * 100})
    paths += put(tmp_path, "b", {"timestamp": 7, "server": "b:2", "client_id": None, "latency_ms": float("nan")})
    log.set_to(paths, 1)
    data = log.handle.to_pyarrow_dataset()
    assert sorted(log.files) == sorted(paths)
    assert data.to_table(filter=compute.field("date") == date(1970, 1, 2)).num_rows == 1
    for field, value in (("client_id", "anna"), ("client_id", "b" * 100), ("server", "b:2")):
        assert data.to_table(filter=compute.field(field) == value).num_rows == 1
    assert data.to_table(filter=compute.field("client_id").is_null()).num_rows == 1
    assert [each.path for each in data.get_fragments(filter=compute.field("server") == "b:2")] == paths[-1:]
    assert data.schema.field("timestamp").type == pyarrow.timestamp("us", "UTC")
    assert data.schema.field("client_id").metadata[b"comment"]


def test_a_table_without_statistics_is_found_in_too(tmp_path: Path) -> None:
    log = DeltaLog(StoragePath(str(tmp_path / "clients")), TABLES["clients"])
    log.make()
    writer = TableWriter(str(tmp_path), "a")
    writer.put("clients", tuple(filled("clients", {"client_id": "anna", "software": None}).values()))
    [made] = writer.close()
    log.set_to([made.path.partition("/")[2]], 1)
    data = log.handle.to_pyarrow_dataset()
    for asked in (compute.field("client_id") == "anna", compute.field("software").is_null()):
        assert data.to_table(filter=asked).num_rows == 1


def test_statistics_say_no_more_than_is_known(tmp_path: Path) -> None:
    [path] = put(tmp_path, "a", {"timestamp": 5, "client_id": None, "api_key": 1})
    said = json.loads(stats_of(read_metadata(tmp_path / "exchanges" / path), {"timestamp", "api_key"}))
    same = {"timestamp": "1970-01-01T00:00:00.000005Z", "api_key": 1}
    assert said == {"numRecords": 1, "minValues": same, "maxValues": same, "nullCount": {"timestamp": 0, "api_key": 0}}


def test_a_column_of_another_type_is_one_line(tmp_path: Path) -> None:
    place = StoragePath(str(tmp_path / "t"))
    DeltaLog(place, Table("t", "", columns("run int64 its number"), dated=False)).make()
    with pytest.raises(InputError, match="column run is long, and string for this kcli"):
        DeltaLog(place, Table("t", "", columns("run string its number"), dated=False)).make()


def test_what_is_no_log_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / f"{0:020}.json").write_text("{}")
    with pytest.raises(InputError, match=str(tmp_path)):
        DeltaLog(StoragePath(str(tmp_path)), EXCHANGES)


@pytest.mark.parametrize("path", ["../x.parquet", "/etc/passwd", "s3://bucket/x.parquet"])
def test_a_log_names_no_file_elsewhere(path: str, tmp_path: Path) -> None:
    log = DeltaLog(StoragePath(str(tmp_path)), TABLES["clients"])
    log.make()
    added = {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": True}
    (tmp_path / "_delta_log" / f"{1:020}.json").write_text(json.dumps({"add": added}))
    with pytest.raises(InputError, match="its log names a file elsewhere"):
        DeltaLog(StoragePath(str(tmp_path)), TABLES["clients"]).listed()


def test_where_tables_may_lie() -> None:
    assert location(StoragePath("/a b/c")) == ("/a b/c", None)
    place = StoragePath("s3://fleet/out/t?endpoint_override=127.0.0.1:9&scheme=http&region=eu-1")
    said = {"AWS_REGION": "eu-1", "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ALLOW_HTTP": "True"}
    assert location(place) == ("s3://fleet/out/t", said)
    for name, refused in (("/a%20b", "'%'"), ("/a\nb", r"'\\n'"), ("/a\\b", r"'\\\\'")):
        with pytest.raises(UsageError, match=rf"with {refused} in it \(--table-format parquet\)"):
            location(StoragePath(name))


def test_an_error_of_the_library_is_a_line() -> None:
    arrow = "\n  \x1b[31m\u21b3\x1b[0m "
    full = (
        f"Generic LocalFileSystem error{arrow}Unable to copy data to file{arrow}No space left on device (os error 28)"
    )
    assert cause_of(full + "\n") == "No space left on device"
    assert (
        cause_of(f"Generic S3 error{arrow}Error performing GET\n\n{arrow}more")
        == "Generic S3 error: Error performing GET"
    )
    for error in (OSError(full), DeltaError(full)):
        with (
            pytest.raises(InputError, match=r"^fleet/exchanges: No space left on device$"),
            clear_errors("fleet/exchanges"),
        ):
            raise error
