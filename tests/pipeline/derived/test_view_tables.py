"""The tables `throttling` and `groups` over all runs, out of what each has noted."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")

import pyarrow.parquet

from kcli.pipeline.context import Options
from kcli.pipeline.derived.incremental_tables import RunFiles
from kcli.pipeline.derived.view_tables import make_view
from kcli.pipeline.local_engine import LocalEngine
from kcli.pipeline.run import run_pipeline
from kcli.sql.given_tables import open_engine
from kcli.sql.inputs import sort_inputs
from kcli.tables.exchange_views import EXCHANGE_VIEWS
from tests.pipeline.derived.test_connection_table import counted
from tests.pipeline.outputs import rows_of
from tests.pipeline.rows.test_noted_exchanges import capture
from tests.pipeline.test_figures import LOGGED
from tests.pipeline.test_run import rotated
from tools.compare_tables import sql_rows


def asked(table: str, *paths: Path) -> Any:
    """What `kcli sql` answers for captures, or folders of the pipeline."""
    with open_engine(sort_inputs([str(path) for path in paths]), {}) as engine:
        return counted(list(sql_rows(engine, table)))


def test_runs_make_the_tables_and_sql_reads_them(spark: Any, tmp_path: Path, output: Path) -> None:
    """Two runs, with packets of the same connections in both; and exchanges of runs by an older kcli alone."""
    halves = rotated(tmp_path, tmp_path, 2, capture(tmp_path / "made.pcap").name)
    runs = [[halves[0]], [halves[1], LOGGED["java44-consume-classic"]]]
    for paths in runs:
        run_pipeline(LocalEngine(), [str(path) for path in paths], Options(str(output), shares=2))
    files = [str(path) for path in (output / "exchanges").rglob("*.parquet")]
    older = RunFiles(spark, lambda table: files if table == "exchanges" else [], str(tmp_path / "new"), {})
    for table in EXCHANGE_VIEWS:
        answer = asked(table, *runs[0], *runs[1])
        assert counted(rows_of(output, table)) == answer
        assert asked(table, output) == answer
        parts = [pyarrow.parquet.read_table(tmp_path / "new" / each.path) for each in make_view(older, table)]
        assert counted([row for part in parts for row in part.to_pylist()]) == answer
        assert answer.total() > (500 if table == "throttling" else 3)
