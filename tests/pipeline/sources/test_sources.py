"""Each data source as Spark reads it."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, InputPartition

from kcli.pipeline.sources import register
from kcli.records import build_batch
from tests.capture.wires import packets_of
from tests.pipeline.outputs import decoded_lines

ROOT = Path(__file__).parents[3]
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture(scope="module")
def load(spark: Any) -> Callable[..., Any]:
    """A frame of kcli.NAME over a path, as in a notebook."""
    register(spark)
    return lambda name, path, **options: spark.read.format(f"kcli.{name}").options(**options).load(str(path))


@pytest.fixture
def pushing(spark: Any) -> Iterator[None]:
    spark.conf.set(PUSHDOWN, "true")
    yield
    spark.conf.unset(PUSHDOWN)


@pytest.mark.parametrize(
    "name", ["samples/java44-txn.pcap", "samples/ipv6.pcapng", "tests/capture/data/mid-stream.pcap.zst"]
)
def test_exchanges_are_the_lines_of_decode_pcap(name: str, load: Any) -> None:
    """pcap, pcapng and a packed one."""
    answer = [line for line in decoded_lines([ROOT / name]) if "event" not in line]
    rows = load("exchanges", ROOT / name).collect()
    key = lambda row: (row["connection"], row["correlation_id"], json.loads(row["request"] or "null"))  # noqa: E731
    theirs = [(line["connection"], line["requestHeader"]["correlationId"], line["request"]) for line in answer]
    assert sorted(map(str, map(key, rows))) == sorted(map(str, theirs))
    assert rows


def test_packets_are_those_in_the_files(load: Any, samples: Path, tmp_path: Path) -> None:
    """A folder of three forms of capture."""
    for name in ("java44-txn.pcap", "ipv6.pcapng"):
        (tmp_path / name).write_bytes((samples / name).read_bytes())
    (tmp_path / "packed.pcap.gz").write_bytes(gzip.compress((samples / "kcat-codecs.pcap").read_bytes()))
    rows = load("packets", tmp_path, columns="length,data").collect()
    names = ("java44-txn.pcap", "ipv6.pcapng", "kcat-codecs.pcap")
    packets = [packet for name in names for packet in packets_of(samples / name)]
    assert sorted((row.length, bytes(row.data)) for row in rows) == sorted((each.length, each.data) for each in packets)


def test_segments_of_ordinary_and_internal_topics(load: Any, samples: Path, tmp_path: Path) -> None:
    orders = load("segments", samples / "orders-0")
    assert orders.where("value is null").count() == 2
    assert orders.groupBy("compression").count().where("compression = 'zstd'").first()["count"] == 240
    folder = tmp_path / "__consumer_offsets-12"
    folder.mkdir()
    value = b"\0\3" + (7).to_bytes(8, "big") + b"\xff\xff\xff\xff\0\0" + (99).to_bytes(8, "big")
    data = build_batch([(5, b"\0\1\0\1g\0\1t\0\0\0\3", value, ())])
    (folder / "00000000000000000000.log").write_bytes(data)
    (row,) = load("segments", tmp_path).selectExpr("get_json_object(record, '$.value.data.offset') AS offset").collect()
    assert row.offset == "7"


def test_snapshots(load: Any, samples: Path) -> None:
    rows = load("snapshots", samples / "__cluster_metadata-0").where("type = 'TOPIC_RECORD'").groupBy("file").count()
    assert sorted(row["count"] for row in rows.collect()) == [28, 30]


def test_only_the_columns_that_are_asked_for_are_made(load: Any, samples: Path) -> None:
    frame = load("exchanges", samples / "java44-txn.pcap", columns="api,latency_ms")
    assert frame.columns == ["api", "latency_ms"]
    assert frame.where("api = 'FETCH'").count() == 3


def test_a_frame_asked_twice_is_right_whatever_spark_pushes(load: Any, samples: Path, pushing: None) -> None:
    frame = load("exchanges", samples / "java44-txn.pcap", columns="api")
    assert [frame.where("api = 'FETCH'").count(), frame.count()] == [3, 78]


FILTERS = [
    "api = 'FETCH'",
    "api_version > 12 and latency_ms < 30",
    "api in ('FETCH', 'PRODUCE') and client_id is not null",
]


@pytest.mark.parametrize("condition", FILTERS)
def test_filters_that_are_pushed_change_no_answer(
    condition: str, load: Any, samples: Path, pushing: None, spark: Any
) -> None:
    """The same rows, and fewer that Python hands over."""
    path = samples / "java44-txn.pcap"
    plain, pushed = load("exchanges", path), load("exchanges", path, pushdown="true")
    rows = [
        sorted(frame.where(condition).select("connection", "correlation_id").collect()) for frame in (plain, pushed)
    ]
    assert rows[0] == rows[1]
    assert 0 < len(rows[0]) < 78
    assert received(load("exchanges", path, pushdown="true").where(condition)) == len(rows[0])
    assert received(load("exchanges", path).where(condition)) == 78


def received(frame: Any) -> int:
    """How many rows Spark had from Python for this query."""
    execution = frame._jdf.queryExecution()
    execution.executedPlan().executeCollect()
    node = execution.executedPlan()
    while node.children().size():
        node = node.children().head()
    return int(node.metrics().apply("numOutputRows").value())


def test_why_pushdown_is_asked_for_by_name(spark: Any, pushing: None) -> None:
    """Spark's mistake at its smallest. When this fails it is mended: filters can be taken always."""
    # Workers import nothing from the folder that tests run in: the class has to be sent whole.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    try:
        spark.dataSource.register(Numbers)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    numbers = spark.read.format("numbers").load()
    assert numbers.where("x = 3").count() == 1
    assert numbers.count() == 1  # of ten, though this query has no filter


class Numbers(DataSource):
    @classmethod
    def name(cls) -> str:
        return "numbers"

    def schema(self) -> str:
        return "x int"

    def reader(self, schema: Any) -> DataSourceReader:
        class Reader(DataSourceReader):
            only: Any = None

            def pushFilters(self, filters: list[Any]) -> Iterator[Any]:  # noqa: N802 - the API's name
                for each in filters:
                    if isinstance(each, EqualTo):
                        self.only = each.value
                    yield each  # for Spark to judge as well

            def partitions(self) -> list[InputPartition]:
                return [InputPartition(0)]

            def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
                return ((x,) for x in range(10) if self.only in (None, x))

        return Reader()
