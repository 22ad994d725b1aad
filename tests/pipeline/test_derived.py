"""Tables across connections made by Spark: a key's rows come together, in order, over all files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kcli.pipeline.derived import Gathered, fold, spark_path
from kcli.pipeline.run import Options, run_pipeline
from tests.pipeline.outputs import assert_decoded, rows_of, unaccounted


def test_paths_as_spark_names_them() -> None:
    assert spark_path("/a/b") == "file:///a/b"
    assert spark_path("s3://bucket/key?endpoint_override=x") == "s3a://bucket/key"
    assert spark_path("hdfs://h/x") == "hdfs://h/x"


def test_rows_of_a_key_come_in_order(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame(
        [(key, at) for at in range(20, 0, -1) for key in "ab"], "topic_id string, learnt_ns bigint"
    )

    def make(rows: Any) -> Any:
        told = list(rows)
        yield told[0]["topic_id"], ",".join(str(row["learnt_ns"]) for row in told), len(told)

    gathered = Gathered(spark, lambda _: [], str(tmp_path / "topic_names"), {})
    written = fold(gathered, frame, ["topic_id"], ["learnt_ns"], make, "topic_names")
    assert sum(each.rows for each in written) == 2
    import pyarrow.parquet

    rows = [
        row for each in written for row in pyarrow.parquet.read_table(tmp_path / "topic_names" / each.path).to_pylist()
    ]
    assert {row["topic"] for row in rows} == {",".join(map(str, range(1, 21)))}


def test_a_run_on_spark_is_whole(spark: Any, samples: Path, output: Path) -> None:
    """All tables, two runs; the second replaces those that are made anew."""
    names = ["java44-consume-classic.pcap", "old-librdkafka-on-3.9.pcap"]
    told: list[tuple[str, int, int]] = []
    for name in names:
        run_pipeline(spark, [str(samples / name)], Options(str(output), shares=2), lambda *args: told.append(args))
    assert_decoded(output, [samples / name for name in names])
    assert unaccounted(output) == 0
    assert ("decoding", 2, 2) in told
    sessions, clients = rows_of(output, "fetch_sessions"), rows_of(output, "clients")
    assert {row["client_id"] for row in clients} >= {"rdkafka"}
    refused = {(row["api"], row["api_version"]) for row in clients if row["verdict"] == "refused"}
    assert {("Fetch", 0), ("Fetch", 1), ("Produce", 0)} <= refused
    fetches = [row for row in rows_of(output, "exchanges") if row["api_key"] == 1]
    assert sum(row["fetches"] for row in sessions) == len(fetches)
    assert len({row["server"] for row in sessions}) == 2
