"""Queries the facts of connections and events with DuckDB."""

from collections.abc import Iterator, Mapping
from typing import Any, Self

from kcli.tables.duckdb_engine import open_duckdb
from kcli.tables.exchange_views import MACROS

ROWS = 2000  # rows of a query's result at a time
# The view `known`: the first name learnt for each topic id.
KNOWN = "SELECT topic_id, arg_min(topic, learnt_ns) AS topic FROM topic_names GROUP BY topic_id"


class LocalFacts:
    """The facts of connections and events in DuckDB; a context manager that closes it."""

    def __init__(self, views: Mapping[str, str], spill: str, memory: int, threads: int = 0) -> None:
        """Open DuckDB. views: the SQL of each table. spill: a folder for data that does not fit in `memory` (MiB).
        threads: 0: one for each core.
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
        """Yield the rows of a query as dicts."""
        for batch in self.batches(query):
            yield from batch.to_pylist()
