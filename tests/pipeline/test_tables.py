"""The tables' columns: one place says what they are, everything else follows."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.pipeline.tables import FACTS, TABLES, arrow_schema, document, spark_columns

PINNED = (
    "exchanges fetch_partitions record_batches fetch_sessions clients down_conversions leader_changes remote_fetches "
    "quorum undecodable lineage"
)


def test_the_tables_are_pinned() -> None:
    assert list(TABLES) == PINNED.split()


@pytest.mark.parametrize("name", [*TABLES, *FACTS])
def test_every_column_has_a_type_in_both_worlds_and_a_text(name: str) -> None:
    table = TABLES.get(name) or FACTS[name]
    assert arrow_schema(name).names == table.names == [column for column, _ in spark_columns(table)]
    assert all(column.text for column in table.columns)
    assert len(set(table.names)) == len(table.names)


def test_dated_tables_begin_with_their_time() -> None:
    assert all(table.names[0] == "timestamp" for table in TABLES.values() if table.dated)


def test_the_docs_are_made_from_the_tables() -> None:
    page = Path(__file__).parents[2] / "docs" / "pipeline-tables.md"
    assert page.read_text() == document(), "write it anew: python -m kcli.pipeline.tables > docs/pipeline-tables.md"
