"""The pipeline's tables as data sources: of captures, of an output folder, and as streams."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
from pyspark.sql.datasource import EqualTo, GreaterThan, In

from kcli.errors import InputError, UsageError
from kcli.pipeline.context import Options
from kcli.pipeline.local_engine import LocalEngine
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.tables import SHOWN
from tests.pipeline.outputs import run_here
from tests.pipeline.sources.reading import SOURCES, read, rows_in
from tests.pipeline.test_run import rotated

CAPTURE = "java44-txn.pcap"


@pytest.fixture(scope="module", params=["delta", "parquet"])
def written(request: pytest.FixtureRequest, samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder with the tables of one capture."""
    folder = tmp_path_factory.mktemp("tables") / "out"
    options = Options(str(folder), table_format=request.param, records=True)
    run_pipeline(LocalEngine(), [str(samples / CAPTURE)], options)
    return folder


def told(rows: list[dict[str, Any]]) -> list[str]:
    """Rows without what tells runs apart."""
    return sorted(str({name: value for name, value in row.items() if name not in ("run", "file")}) for row in rows)


@pytest.mark.parametrize("table", [*(name for name in SHOWN if SHOWN[name].dated), "clients", "findings"])
def test_a_table_is_the_same_of_captures_and_of_a_folder(table: str, written: Path, samples: Path) -> None:
    rows = read(SOURCES[table]({"path": str(written)}))
    assert told(rows) == told(read(SOURCES[table]({"path": str(samples / CAPTURE), "shares": "2"})))
    assert rows or not any((written / table).rglob("0*-0*.parquet"))


def test_runs_are_those_of_a_folder(written: Path, samples: Path) -> None:
    if (written / "runs").is_dir():
        (row,) = read(SOURCES["runs"]({"path": str(written)}))
        assert (row["run"], row["exchanges"]) == (1, 78)
    with pytest.raises(UsageError, match=r"kcli\.runs is of a folder"):
        read(SOURCES["runs"]({"path": str(samples / CAPTURE)}))
    with pytest.raises(UsageError, match="read them apart"):
        read(SOURCES["clients"]({"path": f"{samples / CAPTURE},{written}"}))


@pytest.mark.parametrize("captures", [True, False])
def test_filters_and_columns(captures: bool, written: Path, samples: Path) -> None:
    path = str(samples / CAPTURE if captures else written)
    rows = read(SOURCES["exchanges"]({"path": path}))
    fetches = read(SOURCES["exchanges"]({"path": path, "columns": "correlation_id"}), EqualTo(("api",), "FETCH"))
    chosen = [row["correlation_id"] for row in rows if row["api"] == "FETCH"]
    assert chosen == [row["correlation_id"] for row in fetches]
    assert fetches[0].keys() == {"correlation_id"}
    moment = sorted(row["timestamp"] for row in rows)[40]
    late = read(SOURCES["exchanges"]({"path": path}), GreaterThan(("timestamp",), moment), In(("api_version",), (4, 9)))
    assert late == [row for row in rows if row["timestamp"] > moment and row["api_version"] in (4, 9)]
    assert 0 < len(late) < len(rows)


def test_a_stream_of_captures_reads_each_once(samples: Path, tmp_path: Path) -> None:
    paths = rotated(samples, tmp_path, 3)
    late = paths[2].rename(tmp_path / "later")
    reader = SOURCES["exchanges"]({"path": str(tmp_path), "settle": "5"}).streamReader(schema())
    for path in paths[:2]:
        os.utime(path, (1, 1))
    start = reader.latestOffset()
    first = rows_in(reader, reader.partitions(reader.initialOffset(), start))
    assert {row["file"] for row in first} == {str(path) for path in paths[:2]}
    assert rows_in(reader, reader.partitions(start, start)) == []
    late.rename(paths[2])
    assert reader.latestOffset() == start  # somebody may still write it
    os.utime(paths[2], (2, 2))
    rest = rows_in(reader, reader.partitions(start, reader.latestOffset()))
    assert {row["file"] for row in rest} == {str(paths[2])}


def test_a_stream_of_a_folder_is_what_new_runs_bring(samples: Path, tmp_path: Path, output: Path) -> None:
    paths = rotated(samples, tmp_path, 3)
    run_here(paths[:1], output)
    reader = SOURCES["exchanges"]({"path": str(output)}).streamReader(schema())
    start = reader.latestOffset()
    rows = rows_in(reader, reader.partitions(reader.initialOffset(), start))
    run_here(paths[2:], output)
    middle = reader.latestOffset()
    more = rows_in(reader, reader.partitions(start, middle))
    assert {row["run"] for row in rows} == {1} and {row["run"] for row in more} == {2}
    run_here(paths[1:2], output)  # stands in place of run 2
    with pytest.raises(InputError, match="run 3 stands in place of run 2, which the stream has read"):
        reader.partitions(middle, reader.latestOffset())
    with pytest.raises(UsageError, match=r"kcli\.clients is rewritten by every run"):
        SOURCES["clients"]({"path": str(output)}).streamReader(schema()).latestOffset()


def schema() -> Any:
    """What Spark gives a reader: the schema of a frame."""
    from pyspark.sql.types import StringType, StructType, TimestampType

    made = StructType().add("timestamp", TimestampType()).add("file", StringType())
    return made.add("run", "long")


def test_times_are_instants(written: Path) -> None:
    (row, *_) = read(SOURCES["exchanges"]({"path": str(written), "columns": "timestamp"}))
    assert datetime(2026, 1, 1, tzinfo=UTC) < row["timestamp"]
