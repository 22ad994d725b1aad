"""The SQL with which DuckDB reads the Parquet files of tables and facts."""

from collections.abc import Sequence
from pathlib import Path

from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.tables import TABLES
from kcli.tables.definition import DUCKDB_TYPES
from kcli.tables.duckdb_engine import files_sql


def view_of(table: str, folder: str | Path) -> str:
    """Return the SQL that reads a table's Parquet files below a folder."""
    return view_of_files(table, sorted(map(str, (Path(folder) / table).rglob("*.parquet"))))


def view_of_files(table: str, files: Sequence[str]) -> str:
    """Return the SQL that reads a table's Parquet files. Columns that older files lack are null; if there are no files,
    there are no rows.
    """
    columns = (TABLES | FACTS)[table].columns
    empty = "SELECT " + ", ".join(f"NULL::{DUCKDB_TYPES[each.kind]} AS {each.name}" for each in columns) + " LIMIT 0"
    if not files:
        return empty
    return f"({empty}) UNION ALL BY NAME SELECT * FROM {files_sql(files)}"
