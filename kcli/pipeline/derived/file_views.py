"""The SQL with which DuckDB reads the Parquet files of tables and facts."""

from collections.abc import Sequence
from pathlib import Path

from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.tables import TABLES
from kcli.tables.definition import DUCKDB_TYPES


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
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    read = f"SELECT * FROM read_parquet([{listed}], hive_partitioning = false, union_by_name = true)"
    return f"({empty}) UNION ALL BY NAME {read}"
