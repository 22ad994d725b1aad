"""The tables of facts while captures are read: rows that are held as they are, or in DuckDB."""

from __future__ import annotations

from typing import Any

from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.tables import TABLES
from kcli.rules.tables import READ, RuleTables, kind_of
from kcli.tables.arrays import batch_of_rows
from kcli.tables.definition import DUCKDB_TYPES, schema_of

SMALL = 1 << 22  # bytes of rows: fewer are read faster than a query over them is optimized
ROWS = 50_000  # of a table that wait to be put in at once
HELD = (
    1 << 28
)  # bytes of rows that queries read where they are; what is more goes into DuckDB's tables, which may spill

# Tables of topics by name and by id.
OF_TOPICS = ("fetch_partitions", "produce_partitions", "record_batches")
# Tables that grow with the traffic.
OF_TRAFFIC = (
    "exchange_facts", "fetch_partitions", "produce_partitions", "record_batches", "undecodable", "called", "tcp",
)  # fmt: skip


class FactStore(RuleTables):
    """Takes rows of tables, and answers queries over them; close it when done. UsageError: DuckDB is missing."""

    def __init__(self) -> None:
        super().__init__()
        self.columns = {name: (TABLES | FACTS)[name].columns for name in READ}
        self.rows: dict[str, list[tuple[Any, ...]]] = {}
        self.held: dict[str, list[Any]] = {}
        self.held_bytes = 0
        self.spilled: set[str] = set()

    def put(self, table: str, row: tuple[Any, ...]) -> None:
        """Take a row."""
        rows = self.rows.setdefault(table, [])
        rows.append(row)
        if len(rows) >= ROWS:
            self.store(table)

    def put_batch(self, table: str, batch: Any) -> None:
        """Take a record batch, whose texts may lie in memory that the next one takes."""
        import pyarrow

        self.held.setdefault(table, []).append(batch.copy_to(pyarrow.default_cpu_memory_manager()))
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

    def has(self, table: str) -> bool:
        """Return whether captures gave a row of a table."""
        return table in self.spilled or any(each.num_rows for each in self.held.get(table, ()))

    def suit(self) -> None:
        """Let DuckDB optimize queries where there are rows enough: else that takes longer than it saves."""
        small = self.held_bytes < SMALL and not self.spilled
        self.execute(f"SET enable_optimizer = {'false' if small else 'true'}")

    def may_be_nameless(self) -> bool:
        """Return whether topics are known by their ids alone; see RuleTables."""
        return any(
            table in self.spilled or any(each.column("topic").null_count for each in self.held.get(table, ()))
            for table in OF_TOPICS
        )

    def create(self, table: str) -> None:
        """Make a table without a row."""
        columns = ", ".join(f'"{each.name}" {DUCKDB_TYPES[each.kind]}' for each in self.columns[table])
        self.execute(f"CREATE TABLE {table} ({columns})")

    def register(self, name: str, table: str) -> None:
        """Register the rows that are held of a table under that name, for queries."""
        import pyarrow

        batches = self.held.get(table) or [batch_of_rows([], schema_of(self.columns[table]))]
        self.connection.register(name, pyarrow.Table.from_batches(batches))

    def flush(self) -> None:
        """Put in what waits."""
        for table in [*self.rows]:
            self.store(table)

    def store(self, table: str) -> None:
        """Put the rows that wait into their table."""
        if self.rows[table]:
            self.put_batch(table, batch_of_rows(self.rows[table], schema_of(self.columns[table])))
            self.rows[table] = []

    def load(self, table: str) -> None:
        """Make a table that captures give."""
        if table in self.spilled:
            if table in self.held:
                self.spill(table)
            return
        self.register(table, table)

    def forget(self) -> None:
        """Give up what was prepared, for rows that are still to come."""
        for table in self.made - self.spilled:
            if table in READ:
                self.connection.unregister(table)
            else:
                self.execute(f"DROP {kind_of(table)} {table}")
        self.made.clear()

    def empty(self) -> None:
        """Give up the rows of exchanges and connections, for those that are still to come. Names stay known."""
        for table in OF_TRAFFIC:
            self.held_bytes -= sum(each.nbytes for each in self.held.pop(table, ()))
            if table in self.spilled:
                self.execute(f"DELETE FROM {table}")
