"""What the data sources have in common: options, columns, filters, types."""

import json
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
from pyspark.sql.datasource import EqualTo

from kcli.errors import UsageError
from kcli.pipeline.schemas import SPARK_TYPES
from kcli.pipeline.sources.file_source import arrow_type
from kcli.pipeline.sources.source_logs import SnapshotSource
from kcli.tables import definition
from tests.pipeline.sources.reading import ExchangeSource, read


def test_columns_that_are_asked_for(samples: Path) -> None:
    source = ExchangeSource({"path": str(samples / "java44-txn.pcap"), "columns": "api, correlation_id"})
    assert source.schema() == "`api` string, `correlation_id` int"
    assert set(read(source)[0]) == {"api", "correlation_id"}


def test_filters_are_judged_before_arrow(samples: Path) -> None:
    source = ExchangeSource({"path": str(samples / "java44-txn.pcap"), "columns": "api_version"})
    rows = read(source, EqualTo(("api",), "FETCH"))
    assert 0 < len(rows) < len(read(source))


def test_wrong_options_are_wrong_usage(samples: Path) -> None:
    with pytest.raises(UsageError, match=r"colour: no such column of kcli\.snapshots"):
        SnapshotSource({"columns": "colour"}).schema()
    with pytest.raises(UsageError, match="needs a path"):
        SnapshotSource({}).files()


def test_several_paths_as_spark_hands_them_on(samples: Path) -> None:
    """`.load([a, b])` is an option `paths`, in JSON; commas and patterns are paths, too."""
    names = [str(samples / name) for name in ("java44-txn.pcap", "kcat-codecs.pcap")]
    pattern = f"{samples}/[jk]*-[tc]*.pcap"
    for options in ({"paths": json.dumps(names)}, {"path": ",".join(names)}, {"path": pattern}):
        assert {*names} <= {file.uri for file in ExchangeSource(options).files()}


def test_an_empty_folder_has_no_rows(tmp_path: Path) -> None:
    assert read(SnapshotSource({"path": str(tmp_path)})) == []


def test_types_of_both_worlds() -> None:
    assert str(arrow_type("array<string>")).startswith("list<")
    assert str(arrow_type("timestamp")) == "timestamp[us, tz=UTC]"
    assert str(arrow_type("map<string, int>")) == "map<string, int32>"
    assert arrow_type(SPARK_TYPES["headers"]) == definition.arrow_type("headers")
