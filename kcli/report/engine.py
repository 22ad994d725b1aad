"""DuckDB for the report's questions: over Parquet files in a folder, and the tables that are made from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kcli.pipeline.derived.file_views import view_of, view_of_files
from kcli.pipeline.derived.local_facts import KNOWN
from kcli.pipeline.derived.local_tables import CHANGES, doubtful_clients
from kcli.pipeline.schemas import arrow_schema
from kcli.pipeline.tables import TABLES
from kcli.tables.arrays import batch_of_rows
from kcli.tables.duckdb_engine import DuckDbSession
from kcli.tables.exchange_views import MACROS

MEMORY = 1024  # MiB
ROWS = 10_000  # fetched at once
NAMED = """
SELECT batches.* REPLACE (coalesce(batches.topic, known.topic) AS topic)
FROM record_batches batches LEFT JOIN known USING (topic_id)
"""


class ReportEngine(DuckDbSession):
    """Runs the report's queries over the Parquet files below a folder, or over these.

    A table without files is empty.
    """

    def __init__(self, folder: str | Path, files: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__("kcli-report-", MACROS, MEMORY)
        self.given, self.files = Path(folder), files
        for name in TABLES:
            self.open(name)

    def open(self, name: str) -> None:
        """Open a table's files as a view."""
        files = None if self.files is None else view_of_files(name, self.files.get(name, ()))
        self.execute(f"CREATE VIEW {name} AS {files or view_of(name, self.given)}")

    def derive(self) -> None:
        """Make the tables that look across connections, and name topics by what all messages taught."""
        for name in ("exchange_facts", "client_uses", "outcomes", "topic_names", "connection_sums"):
            self.open(name)
        self.execute(f"CREATE VIEW known AS {KNOWN}")
        self.replace("clients", doubtful_clients(self.dicts))
        self.execute("DROP VIEW leader_changes")
        self.prepare("leader_changes", CHANGES)
        self.execute(f"CREATE TABLE named AS {NAMED}")
        self.execute("DROP VIEW record_batches")
        self.execute("ALTER TABLE named RENAME TO record_batches")

    def replace(self, name: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Replace a view by a table of rows, each in the order of its columns."""
        import pyarrow

        made = pyarrow.Table.from_batches([batch_of_rows([*rows], arrow_schema(name))])
        self.execute(f"DROP VIEW {name}")
        self.connection.register("rows", made)
        self.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
        self.connection.unregister("rows")

    # As kcli.report.asking.Engine

    def define(self, name: str, sql: str) -> None:
        """Define the query as a view of that name, unless there is one."""
        self.execute(f"CREATE VIEW IF NOT EXISTS {name} AS {sql}")

    def prepare(self, name: str, sql: str) -> None:
        """Store the query's rows as a table of that name."""
        self.execute(f"CREATE TABLE {name} AS {sql}")

    def run(self, sql: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """Run a query; return the names of the columns, and the rows."""
        made = self.execute(sql)
        return [each[0] for each in made.description], made.fetchall()

    def dicts(self, sql: str) -> Iterator[dict[str, Any]]:
        """Yield the rows by column."""
        made = self.execute(sql)
        names = [each[0] for each in made.description]
        while rows := made.fetchmany(ROWS):
            yield from (dict(zip(names, row, strict=True)) for row in rows)
