"""The tables that look across connections, by DuckDB in one task or in several."""

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("duckdb")

from kcli.pipeline.context import Options
from kcli.pipeline.derived.facts_task import PARTS, facts_tasks
from kcli.pipeline.derived.incremental_tables import AsRead
from kcli.pipeline.journal import Journal
from kcli.pipeline.local_engine import LocalEngine
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.tables import TABLES
from tests.pipeline.outputs import rows_of


def test_several_tasks_make_the_tables_of_one(samples: Path, tmp_path: Path, output: Path) -> None:
    names = [samples / "kcat-codecs.pcap", samples / "java44-consume-classic.pcap"]
    run_pipeline(LocalEngine(), [str(name) for name in names], Options(str(output), table_format="parquet"))
    tasks = facts_tasks(Journal(str(output)).permanent, str(tmp_path / "again"), AsRead(), 8)
    assert [task.parts for task in tasks] == [(part,) for part in PARTS]
    made = [[each.table for each in task.write()] for task in tasks]
    assert Counter(table for tables in made for table in tables).most_common(1)[0][1] == 1
    for table in ("fetch_sessions", "clients", "connections", "findings", "hourly", "members", "throttling"):
        assert Counter(map(str, rows_of(tmp_path / "again", table))) == Counter(map(str, rows_of(output, table))), table
    assert {table for tables in made for table in tables} <= TABLES.keys()


def test_each_task_has_some_of_the_parts() -> None:
    tasks = facts_tasks(lambda table: [f"{table}.parquet"], "out", AsRead(), 2)
    assert sorted(part for task in tasks for part in task.parts) == sorted(PARTS)
    assert all(task.files["tcp"] == ("tcp.parquet",) for task in tasks)
