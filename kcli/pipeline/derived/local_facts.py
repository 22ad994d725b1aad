"""Facts of connections and events in DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

from kcli.tables.duckdb_engine import open_duckdb
from kcli.tables.exchange_views import MACROS

ROWS = 2000  # of a query's answer at a time
# The view `known`: the name that each topic id was first given.
KNOWN = "SELECT topic_id, arg_min(topic, learnt_ns) AS topic FROM topic_names GROUP BY topic_id"


class LocalFacts:
    """Facts of connections and events as DuckDB has them; leave its block when done."""

    def __init__(self, views: Mapping[str, str], spill: str, memory: int, threads: int = 0) -> None:
        """Open DuckDB. views: the SQL of each table. spill: a folder for data beyond memory (MiB). threads: 0: as many
        as there are cores.
        """
        self.connection = open_duckdb(MACROS, memory, spill, **({"threads": threads} if threads else {}))
        for table, sql in views.items():
            self.connection.execute(f"CREATE VIEW {table} AS {sql}")
        self.connection.execute(f"CREATE VIEW known AS {KNOWN}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.connection.close()

    def batches(self, query: str) -> Iterator[Any]:
        """Yield the rows of a query as record batches."""
        yield from self.connection.sql(query).to_arrow_reader(ROWS)

    def rows(self, query: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a query by column."""
        for batch in self.batches(query):
            yield from batch.to_pylist()
