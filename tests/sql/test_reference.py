"""The page of all tables."""

from pathlib import Path

from kcli.pipeline import tables as pipeline
from kcli.sql.definitions import TABLES
from kcli.sql.reference import document
from kcli.tables.captured import PARQUET_COLUMNS


def test_the_page_is_made_from_the_tables() -> None:
    page = Path(__file__).parents[2] / "docs/reference/tables.md"
    assert page.read_text() == document(), "write it anew: make tables"


def test_every_table_is_on_it_with_where_its_columns_are() -> None:
    text = document()
    assert {*TABLES} >= {*pipeline.TABLES} and all(f"\n## {name}\n" in text for name in TABLES)
    assert {each.name for each in PARQUET_COLUMNS} <= {*TABLES["exchanges"].names, *TABLES["events"].names}
    assert "| `file` | string |  | the capture with its last packet; unanswered: with its request |  |\n" in text
    run = next(line for line in text.splitlines() if line.startswith("| `run` | int64? |"))
    assert run.endswith(" | `kcli sql`, `decode pcap --format parquet` |")
    assert "| `latency_ms` | float64? | ms | from the request's last packet to the response's |  |\n" in text
