"""DuckDB for the report's questions: over Parquet files in a folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kcli.pipeline.derived.file_views import view_of, view_of_files
from kcli.pipeline.tables import TABLES
from kcli.tables.duckdb_engine import TABLES_MEMORY, DuckDbSession
from kcli.tables.exchange_views import MACROS


class ReportEngine(DuckDbSession):
    """Runs the report's queries over the Parquet files below a folder. files: only these, by table.

    A table without files is empty.
    """

    def __init__(self, folder: str | Path, files: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__("kcli-report-", MACROS, TABLES_MEMORY)
        for name in TABLES:
            found = view_of(name, folder) if files is None else view_of_files(name, files.get(name, ()))
            self.define(name, found)

    # As kcli.report.asking.FleetEngine

    def define(self, name: str, sql: str) -> None:
        """Define the query as a view of that name."""
        self.execute(f"CREATE VIEW {name} AS {sql}")

    def prepare(self, name: str, sql: str) -> None:
        """Store the query's rows as a table of that name."""
        self.execute(f"CREATE TABLE {name} AS {sql}")

    def run(self, sql: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """Run a query; return the names of the columns, and the rows."""
        made = self.execute(sql)
        return [each[0] for each in made.description], made.fetchall()
