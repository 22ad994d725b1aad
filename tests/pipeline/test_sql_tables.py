"""Tables that look across connections, as `kcli sql` makes them: those that a run with Spark writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.capture.wires import DATA
from tools.compare_tables import differences


def test_the_tables_are_those_that_spark_makes(spark: Any, samples: Path, output: Path) -> None:
    """Of captures with sessions, old clients and leader changes, read as one."""
    pytest.importorskip("duckdb")
    captures = [samples / "kcat-codecs.pcap", samples / "java44-txn.pcap", DATA / "kraft-boot.pcap.zst"]
    found = differences(spark, [str(path) for path in captures], str(output))
    assert {name: counts for name, counts in found.items() if any(counts[1:])} == {}
    assert all(found[name][0] for name in ("fetch_sessions", "clients", "connections", "lineage", "leader_changes"))
