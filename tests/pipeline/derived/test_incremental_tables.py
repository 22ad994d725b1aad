"""Tables across connections made by Spark: a key's rows come together, in order, over all files."""

from collections import Counter
from pathlib import Path
from typing import Any

from kcli.pipeline.context import Options, RunEngine
from kcli.pipeline.derived.incremental_tables import RunFiles, fold, runs_of, spark_path
from kcli.pipeline.local_engine import LocalEngine
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.spark_engine import SparkEngine
from tests.pipeline.outputs import assert_decoded, rows_of, unaccounted
from tests.pipeline.test_figures import LOGGED
from tests.pipeline.test_run import rotated


def test_paths_as_spark_names_them() -> None:
    assert spark_path("/a/b") == "file:///a/b"
    assert spark_path("s3://bucket/key?endpoint_override=x") == "s3a://bucket/key"
    assert spark_path("hdfs://h/x") == "hdfs://h/x"


def test_only_published_files_have_a_runs_number() -> None:
    """Names of a run's own files are partly random, and may have eight digits by chance."""
    own = "out/_kcli/runs/00000002-ab/exchanges/date=2026-11-26/0003-12345678-nameless.parquet"
    published = "out/exchanges/date=2026-11-26/00000001-0003-12345678-nameless.parquet"
    assert (runs_of([own]), runs_of([own, published])) == (set(), {"00000001"})


def test_rows_of_a_key_come_in_order(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame(
        [(key, at) for at in range(20, 0, -1) for key in "ab"], "topic_id string, learnt_ns bigint"
    )

    def make(rows: Any) -> Any:
        answer = list(rows)
        yield answer[0]["topic_id"], ",".join(str(row["learnt_ns"]) for row in answer), len(answer)

    gathered = RunFiles(spark, lambda _: [], str(tmp_path / "topic_names"), {})
    written = fold(gathered, lambda _: frame, ["topic_id"], ["learnt_ns"], make, "topic_names")
    assert sum(each.rows for each in written) == 2
    import pyarrow.parquet

    rows = [
        row for each in written for row in pyarrow.parquet.read_table(tmp_path / "topic_names" / each.path).to_pylist()
    ]
    assert {row["topic"] for row in rows} == {",".join(map(str, range(1, 21)))}


def test_a_run_makes_anew_what_it_touches_and_keeps_the_rest(
    spark: Any, samples: Path, tmp_path: Path, output: Path
) -> None:
    """Three runs with Delta tables, each whole; each table across connections is that of the engine without Spark,
    which makes all rows anew."""
    halves = rotated(tmp_path, tmp_path, 2, plain(tmp_path, "leader-change"))
    runs = [
        [halves[0], LOGGED["kraft-boot"]],
        [halves[1], samples / "old-librdkafka-on-3.9.pcap"],
        [LOGGED["kcat-codecs"]],
    ]
    scratch = tmp_path / "scratch"
    said = run_all(SparkEngine(spark, fitting_rows=0), runs, output)
    run_all(LocalEngine(), runs, scratch)
    for table in ("fetch_sessions", "leader_changes", "quorum", "clients", "connections", "groups"):
        assert counted(output, table) == counted(scratch, table), table
        assert counted(output, table)
    kept = {table: names(output, table, "kept-") for table in ("fetch_sessions", "leader_changes", "quorum")}
    assert all(kept.values())
    again = [path for path in names(output, "fetch_sessions", "") if path not in kept["fetch_sessions"]]
    assert "127.0.0.1:21000" in {row["server"] for row in rows_in(again)}  # of the last run
    assert "127.0.0.1:21402" in {row["server"] for row in rows_in(kept["fetch_sessions"])}

    assert_decoded(output, [tmp_path / "leader-change.pcap", *runs[0][1:], *runs[1][1:], *runs[2]])
    assert unaccounted(output) == 0
    assert ("decoding", 2, 2) in said
    sessions, clients = rows_of(output, "fetch_sessions"), rows_of(output, "clients")
    refused = {(row["api"], row["api_version"]) for row in clients if row["verdict"] == "refused"}
    assert {("Fetch", 0), ("Fetch", 1), ("Produce", 0)} <= refused
    fetches = [row for row in rows_of(output, "exchanges") if row["api_key"] == 1]
    assert sum(row["fetches"] for row in sessions) == len(fetches)


def run_all(engine: RunEngine, runs: list[list[Path]], output: Path) -> list[tuple[str, int, int]]:
    """Run each after the other; return what they reported."""
    said: list[tuple[str, int, int]] = []
    for paths in runs:
        options = Options(str(output), shares=2, table_format="delta")
        run_pipeline(engine, [str(path) for path in paths], options, lambda *given: said.append(given))
    return said


def plain(folder: Path, name: str) -> str:
    import zstandard

    path = folder / f"{name}.pcap"
    path.write_bytes(zstandard.ZstdDecompressor().decompressobj().decompress(LOGGED[name].read_bytes()))
    return path.name


def names(output: Path, table: str, part: str) -> list[Path]:
    return [path for path in (output / table).glob("*.parquet") if part in path.name]


def rows_in(paths: list[Path]) -> list[dict[str, Any]]:
    import pyarrow.parquet

    return [row for path in paths for row in pyarrow.parquet.read_table(path).to_pylist()]


def counted(output: Path, table: str) -> Counter[str]:
    return Counter(str(sorted(row.items())) for row in rows_of(output, table))
