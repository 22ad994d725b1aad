"""The tables of facts in DuckDB, and what rules ask of them."""

from __future__ import annotations

import atexit
import gc
import re
import tempfile
from collections.abc import Iterator
from typing import Any, Self

from kcli.diagnose.facts.definitions import DIAGNOSIS_FACTS
from kcli.diagnose.prepared import PREPARED
from kcli.extras import require
from kcli.pipeline.fact_tables import FACTS, REPORT_FACTS
from kcli.pipeline.tables import TABLES
from kcli.tables.arrays import batch_of_rows
from kcli.tables.definition import DUCKDB_TYPES, schema_of
from kcli.tables.exchange_views import MACROS

MEMORY = "512MiB"  # what is more goes to a temporary folder
ROWS = 50_000  # of a table that wait to be put in at once
HELD = (
    1 << 28
)  # bytes of rows that queries read where they are; what is more goes into DuckDB's tables, which may spill
STORED = (
    "exchange_facts", "fetch_partitions", "produce_partitions", "record_batches", "undecodable", "topic_names",
    "logins",
    *DIAGNOSIS_FACTS,
)  # fmt: skip

# Tables that grow with the traffic.
OF_TRAFFIC = (
    "exchange_facts", "fetch_partitions", "produce_partitions", "record_batches", "undecodable", "called", "tcp",
)  # fmt: skip
KNOWN = {*STORED, *PREPARED}
SOURCES = re.compile(r"\b(?:FROM|JOIN)\s+([a-z_]+)")  # of a query


class FactStore:
    """Takes rows of tables, and answers queries over them; close it when done. UsageError: DuckDB is missing.

    A table is made when a query reads it.
    """

    def __init__(self) -> None:
        require("kcli diagnose", "sql")
        import duckdb

        # Its library complains on stderr about objects that the collector never looked at (see kcli.sql.engine).
        atexit.register(gc.unfreeze)
        self.duckdb = duckdb
        self.folder = tempfile.TemporaryDirectory(prefix="kcli-diagnose-")
        config: dict[str, Any] = {"memory_limit": MEMORY, "temp_directory": self.folder.name, "threads": 1}
        self.connection = duckdb.connect(":memory:", config=config)
        self.execute("SET TimeZone = 'UTC'")
        self.execute("SET enable_progress_bar = false")
        for macro in MACROS:
            self.execute(f"CREATE MACRO {macro}")
        known = TABLES | FACTS | REPORT_FACTS | DIAGNOSIS_FACTS
        self.columns = {name: known[name].columns for name in STORED}
        self.rows: dict[str, list[tuple[Any, ...]]] = {}
        self.held: dict[str, list[Any]] = {}
        self.held_bytes = 0
        self.made: set[str] = set()
        self.spilled: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.connection.close()
        del self.connection
        self.folder.cleanup()

    def put(self, table: str, row: tuple[Any, ...]) -> None:
        """Take a row."""
        rows = self.rows.setdefault(table, [])
        rows.append(row)
        if len(rows) >= ROWS:
            self.store(table)

    def put_batch(self, table: str, batch: Any) -> None:
        """Take a record batch, whose texts may lie in memory that the next one takes."""
        import pyarrow

        copied = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(copied, batch.schema) as stream:
            stream.write_batch(batch)
        self.held.setdefault(table, []).append(pyarrow.ipc.open_stream(copied.getvalue()).read_all())
        self.held_bytes += self.held[table][-1].nbytes
        if self.held_bytes > HELD:
            self.spill_held()

    def spill_held(self) -> None:
        """Move the rows that are held into DuckDB's tables."""
        for table in [*self.held]:
            self.spill(table)

    def spill(self, table: str) -> None:
        """Move the rows of a table into DuckDB's."""
        if table not in self.spilled:
            self.create(table)
            self.spilled.add(table)
        self.register("given", table)
        self.execute(f"INSERT INTO {table} SELECT * FROM given")
        self.connection.unregister("given")
        self.held_bytes -= sum(each.nbytes for each in self.held.pop(table))

    def create(self, table: str) -> None:
        """Make a table without a row."""
        columns = ", ".join(f'"{each.name}" {DUCKDB_TYPES[each.kind]}' for each in self.columns[table])
        self.execute(f"CREATE TABLE {table} ({columns})")

    def register(self, name: str, table: str) -> None:
        """Let queries read the rows that are held of a table under that name."""
        import pyarrow

        self.connection.register(name, pyarrow.concat_tables(self.held[table]))

    def flush(self) -> None:
        """Put in what waits."""
        for table in [*self.rows]:
            self.store(table)

    def store(self, table: str) -> None:
        """Put the rows that wait into their table."""
        if self.rows[table]:
            self.put_batch(table, batch_of_rows(self.rows[table], schema_of(self.columns[table])))
            self.rows[table] = []

    def make(self, table: str) -> None:
        """Have a table that queries may read, and those that it is made of, if it is one of the store's."""
        if table in self.made or table not in KNOWN:
            return
        self.made.add(table)
        if table in PREPARED:
            self.provide(PREPARED[table])
            self.execute(f"CREATE TABLE {table} AS {PREPARED[table]}")
        elif table in self.held:
            if table in self.spilled:
                self.spill(table)
            else:
                self.register(table, table)
        elif table not in self.spilled:
            self.create(table)

    def forget(self) -> None:
        """Give up what was prepared, for rows that are still to come."""
        for table in self.made - self.spilled:
            if table in self.held:
                self.connection.unregister(table)
            else:
                self.execute(f"DROP TABLE {table}")
        self.made.clear()

    def empty(self) -> None:
        """Give up the rows of exchanges and connections, for those that are still to come. Names stay known."""
        for table in OF_TRAFFIC:
            self.held_bytes -= sum(each.nbytes for each in self.held.pop(table, ()))
            if table in self.spilled:
                self.execute(f"DELETE FROM {table}")

    def provide(self, sql: str) -> None:
        """Make the tables that a query reads."""
        for table in SOURCES.findall(sql):
            self.make(table)

    def ask(self, sql: str) -> Iterator[dict[str, Any]]:
        """The rows of a query, by column."""
        self.provide(sql)
        made = self.execute(sql)
        names = [each[0] for each in made.description]
        return (dict(zip(names, row, strict=True)) for row in made.fetchall())

    def execute(self, sql: str) -> Any:
        """Run a statement. KeyboardInterrupt: Ctrl-C while DuckDB was busy."""
        try:
            return self.connection.execute(sql)
        except (self.duckdb.InterruptException, RuntimeError) as error:
            if isinstance(error, self.duckdb.InterruptException) or str(error) == "Query interrupted":
                raise KeyboardInterrupt from None
            raise
