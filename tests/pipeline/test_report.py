"""The report's answers, against figures counted another way."""

from pathlib import Path
from typing import Any

import pytest

from kcli.errors import InputError
from kcli.pipeline.report import SparkTables, open_tables
from kcli.report.asking import ask_fleet
from kcli.report.fleet import ask_here
from tests.pipeline.outputs import rows_of, run_here


def test_every_question_is_answered(samples: Path, output: Path) -> None:
    """By DuckDB; Spark's answers are the same (tests/pipeline/test_queries.py)."""
    name = samples / "old-librdkafka-on-3.9.pcap"
    run_here([name], output)
    answers = {
        each.question.name: [dict(zip(each.columns, row, strict=True)) for row in each.rows]
        for each in ask_here(str(output))
    }
    exchanges = rows_of(output, "exchanges")
    assert {row["api"]: row["exchanges"] for row in answers["apis"]} == {
        api: sum(row["api"] == api for row in exchanges) for api in {row["api"] for row in exchanges}
    }
    conversions = rows_of(output, "down_conversions")
    assert sum(row["converted_bytes"] for row in answers["conversions"]) == sum(
        r["converted_bytes"] for r in conversions
    )
    held: dict[Any, int] = {}
    for row in conversions:
        key = row["client_id"], row["api_version"], row["connection"], row["correlation_id"]
        held[key] = held.get(key, 0) + row["eager_bytes"]
    assert max(row["eager_bytes"] for row in answers["conversions"]) == max(held.values())
    assert sum(row["exchanges"] for row in answers["traffic"]) == len(exchanges)
    (lineage,) = answers["lineage"]
    assert (lineage["unaccounted"], lineage["tcp_packets"], lineage["exchanges"]) == (
        0, lineage["decoded_packets"], len(exchanges),
    )  # fmt: skip
    assert sum(row["times"] for row in answers["lost"]) == len(rows_of(output, "undecodable"))
    assert answers["quorum"] == answers["refused"] == []


def test_the_page_says_the_same_by_spark_and_duckdb(spark: Any, samples: Path, output: Path) -> None:
    from kcli.report.engine import ReportEngine

    names = ("old-librdkafka-on-3.9.pcap", "java44-consume-classic.pcap", "java44-txn.pcap")
    run_here([samples / name for name in names], output)
    assert open_tables(spark, str(output)) == 1
    with SparkTables(spark) as fleet, ReportEngine(output) as here:
        ours, theirs = ask_fleet(here), ask_fleet(fleet)
    assert (ours.first_ns, ours.last_ns, ours.step) == (theirs.first_ns, theirs.last_ns, theirs.step)
    for name, asked in ours.by_name.items():
        assert (asked.columns, asked.rows) == (theirs.by_name[name].columns, theirs.by_name[name].rows), name
    filled = {name for name, asked in ours.by_name.items() if asked.rows}
    assert filled >= {"errors", "clients", "topics", "sessions", "groups", "compression", "conversions"}


def test_a_folder_without_tables_is_one_line(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no tables of `kcli pipeline run` in it"):
        open_tables(spark, str(tmp_path))
