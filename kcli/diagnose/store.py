"""The tables of facts while captures are read: rows in memory, or in files that queries read where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.tables import TABLES
from kcli.rules.tables import LARGEST, READ, RuleTables, kind_of
from kcli.tables.arrays import batch_of_columns, batch_of_rows
from kcli.tables.definition import Column, schema_of

SMALL = 1 << 22  # bytes of rows: fewer are read faster than a query over them is optimized, or words are numbered
ROWS = 50_000  # of a table that wait to be put in at once
HELD = 1 << 28  # bytes of rows in memory; what is more goes to files, which queries read where they are

MOST_WORDS = 4096  # of a type: DuckDB compares types word by word, again and again
WORD = schema_of([Column("word", "string", "")])
# Tables of topics by name and by id.
OF_TOPICS = ("fetch_partitions", "produce_partitions", "record_batches")
# Tables that nothing but these, which are made of them, is made of.
ONLY_OF = {"calls": ("exchange_facts",)}
# Texts that repeat, by prepared table: DuckDB keeps and compares their numbers, in the order of the texts (ENUM).
NUMBERED = {
    "calls": ("connection", "server", "address", "client_id", "api"),
    "fetched": ("connection", "server", "client_id", "topic"),
    "produced": ("connection", "server", "client_id", "topic"),
    "batches": ("connection", "client_id", "api", "topic"),
}
# Their types, each with the columns of captures' tables that have its words, and SQL for what else may be there.
WORDS = {
    "connection": (("connection",), ""),
    "server": (("server",), ""),
    "address": (("address",), ""),
    "client_id": (("client_id",), ""),
    "api": (("api",), "UNION SELECT concat('API ', api_key) FROM exchange_facts WHERE api IS NULL"),
    "topic": (("topic", "topic_id"), "UNION SELECT topic FROM topic_by_id WHERE topic IS NOT NULL"),
}
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
        self.files: dict[str, list[Path]] = {}  # with rows of each table, in the order that they came
        self.types: set[str] | None = None  # of texts that have numbers; None: it is not known yet

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
        """Write the rows that are held to files: as they are, with each text once a batch."""
        import pyarrow

        for table in [*self.held]:
            batches, files = self.held.pop(table), self.files.setdefault(table, [])
            files.append(Path(self.folder.name) / f"{table}-{len(files)}.arrows")
            with pyarrow.OSFile(str(files[-1]), "wb") as file, pyarrow.ipc.new_stream(file, batches[0].schema) as out:
                for each in batches:
                    out.write_batch(each)
        self.held_bytes = 0

    def batches(self, table: str) -> Iterator[Any]:
        """Yield the rows of a table as record batches."""
        import pyarrow

        for path in self.files.get(table, ()):
            yield from pyarrow.ipc.open_stream(pyarrow.memory_map(str(path)))
        yield from self.held.get(table, ())

    def has(self, table: str) -> bool:
        """Return whether captures gave a row of a table."""
        return table in self.files or any(each.num_rows for each in self.held.get(table, ()))

    def suit(self) -> None:
        """Let DuckDB optimize queries where there are rows enough: else that takes longer than it saves."""
        self.execute(f"SET enable_optimizer = {'false' if self.is_small else 'true'}")

    @property
    def is_small(self) -> bool:
        """Whether there are few rows."""
        return self.held_bytes < SMALL and not self.files

    def stored_as(self, table: str, sql: str) -> str:
        """Return the query of a prepared table: where there are rows enough, with numbers for texts that repeat."""
        if table not in NUMBERED or self.is_small:
            return sql
        if self.types is None:
            self.types = set(self.number_words())
        numbered = ", ".join(f"CAST({name} AS {name}_word) AS {name}" for name in NUMBERED[table] if name in self.types)
        return f"SELECT * REPLACE ({numbered}) FROM ({sql}) AS made" if numbered else sql

    def number_words(self) -> Iterator[str]:
        """Number the texts that repeat, those of each column by themselves, and yield the columns."""
        for name, (columns, more) in WORDS.items():
            found = self.words_in(columns)
            if found is None:
                continue
            words = batch_of_columns([[*found]], WORD)
            self.connection.register("words", words)
            self.provide(more)
            self.execute(f"CREATE TYPE {name}_word AS ENUM (SELECT word FROM words {more} ORDER BY 1)")
            self.connection.unregister("words")
            yield name

    def words_in(self, columns: Sequence[str]) -> set[str] | None:
        """Return the texts in columns of captures' tables, and ""; None: there are more than MOST_WORDS."""
        found: set[str | None] = {""}
        for batch in (each for table in LARGEST for each in self.batches(table)):
            for column in (batch.column(each) for each in columns if each in batch.schema.names):
                found.update(getattr(column, "dictionary", column).to_pylist())
            if len(found) > MOST_WORDS:
                return None
        return {each for each in found if each is not None}

    def may_be_nameless(self) -> bool:
        """Return whether topics are known by their ids alone; see RuleTables."""
        return any(
            table in self.files or any(each.column("topic").null_count for each in self.held.get(table, ()))
            for table in OF_TOPICS
        )

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
        import pyarrow

        given = [*self.batches(table)] or [batch_of_rows([], schema_of(self.columns[table]))]
        self.connection.register(table, pyarrow.Table.from_batches(given))

    def make(self, table: str) -> None:
        """Make a table; see RuleTables. The rows that it alone is made of are not mapped into memory any more."""
        super().make(table)
        for source in ONLY_OF.get(table, ()):
            if source in self.made:
                self.connection.unregister(source)
                self.made.discard(source)

    def forget(self) -> None:
        """Give up what was prepared, for rows that are still to come."""
        for table in self.made:
            if table in READ:
                self.connection.unregister(table)
            else:
                self.execute(f"DROP {kind_of(table)} {table}")
        self.made.clear()
        for name in self.types or ():
            self.execute(f"DROP TYPE {name}_word")
        self.types = None

    def empty(self) -> None:
        """Give up the rows of exchanges and connections, for those that are still to come. Names stay known."""
        for table in OF_TRAFFIC:
            self.held_bytes -= sum(each.nbytes for each in self.held.pop(table, ()))
            for path in self.files.pop(table, ()):
                path.unlink()
