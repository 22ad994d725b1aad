"""Tables that look across connections, as `kcli sql` makes them: those that a run with Spark writes."""

from pathlib import Path
from typing import Any

import pytest

from kcli.pipeline.context import Options
from kcli.pipeline.local_engine import LocalEngine
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.tables import TABLES
from tests.capture.wires import DATA
from tests.pipeline.derived.test_connection_table import counted
from tests.pipeline.outputs import rows_of
from tests.pipeline.rows.test_noted_exchanges import capture as throttled
from tools.compare_tables import differences


def test_the_tables_are_those_that_spark_makes(spark: Any, samples: Path, tmp_path: Path, output: Path) -> None:
    """Of captures with sessions, old clients, leader changes and answers with a throttle time, read as one; so are
    those of the engine that does without Spark."""
    pytest.importorskip("duckdb")
    captures = [
        samples / "kcat-codecs.pcap", samples / "java44-txn.pcap", DATA / "kraft-boot.pcap.zst",
        throttled(tmp_path / "throttled.pcap"),
    ]  # fmt: skip
    found = differences(spark, [str(path) for path in captures], str(output))
    assert {name: counts for name, counts in found.items() if any(counts[1:])} == {}
    some = ("fetch_sessions", "clients", "connections", "lineage", "leader_changes", "groups")
    assert all(found[name][0] for name in some) and found["throttling"][0] > 500
    local = tmp_path / "local"
    run_pipeline(LocalEngine(), [str(path) for path in captures], Options(str(local)))
    for table in TABLES.keys() - {"lineage"}:
        assert counted(rows_of(local, table)) == counted(rows_of(output, table)), table
