"""DuckDB in this process, as everything that asks it here needs it."""

from __future__ import annotations

import atexit
import gc
import re
from collections.abc import Iterable
from typing import Any, Self

from kcli.address_space import modest
from kcli.temporary import TemporaryFolder

# MiB of memory that DuckDB may take at most; what is more goes to a temporary folder.
QUERY_MEMORY = 512  # for a query of `kcli sql`, for tables that it makes of facts, and for rules over tables
STORE_MEMORY = 320  # for rules over rows that this process holds, too (`HELD` of kcli/diagnose/store.py)
TABLES_MEMORY = 1024  # for the report, and for a task that makes the pipeline's tables
SOURCES = re.compile(r"(?:FROM|JOIN)\s+(\w+)")  # of a query: tables, and functions that make one


def open_duckdb(macros: Iterable[str], memory: int, folder: str, **config: Any) -> Any:
    """Open DuckDB in memory, in UTC and without a progress bar, and return the connection.

    macros: what follows CREATE MACRO. memory: MiB at most; what is more goes to this folder. config: more settings.
    """
    import duckdb

    # Its library counts its objects when the process ends, and complains on stderr about those that were never
    # looked at: let the collector see them then.
    atexit.register(gc.unfreeze)
    connection = duckdb.connect(":memory:", config={**config, **modest(memory), "temp_directory": folder})
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    for macro in macros:
        connection.execute(f"CREATE MACRO {macro}")
    return connection


def is_interrupt(error: Exception) -> bool:
    """Return whether DuckDB's error means that Ctrl-C came while it was busy."""
    import duckdb

    return isinstance(error, duckdb.InterruptException) or str(error) == "Query interrupted"


class DuckDbSession:
    """DuckDB with a temporary folder for what is more than memory; leave its block when done."""

    def __init__(self, prefix: str, macros: Iterable[str], memory: int, **config: Any) -> None:
        """Open DuckDB as `open_duckdb` does. prefix: of the folder's name."""
        self.folder = TemporaryFolder(prefix)
        self.connection = open_duckdb(macros, memory, self.folder.name, **config)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.connection.close()
        del self.connection
        self.folder.cleanup()

    def execute(self, sql: str, *values: Any) -> Any:
        """Run a statement and return its result. values: of its ?s. Raises KeyboardInterrupt for Ctrl-C while DuckDB is
        busy.
        """
        try:
            return self.connection.execute(sql, values or None)
        except Exception as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            raise
