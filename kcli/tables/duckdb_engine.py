"""Opens DuckDB in this process, with the settings that all its users share."""

import atexit
import gc
import re
from collections.abc import Iterable
from typing import Any, Self

from kcli.address_space import modest
from kcli.temporary import TemporaryFolder

# MiB of memory that DuckDB may use at most; the rest spills to a temporary folder.
QUERY_MEMORY = 512  # for a query of `kcli sql`, for tables that it makes of facts, and for rules over tables
STORE_MEMORY = 320  # for rules, while this process holds rows, too (`MOST_BUFFERED` of kcli/diagnose/store.py)
TABLES_MEMORY = 1024  # for the report, and for a task that makes tables of the pipeline
SOURCES = re.compile(r"(?:FROM|JOIN)\s+(\w+)")  # tables, and table functions, in a query


def open_duckdb(macros: Iterable[str], memory: int, folder: str, **config: Any) -> Any:
    """Open DuckDB in memory, in UTC and without a progress bar; return the connection.

    macros: the texts after CREATE MACRO. memory: MiB at most; the rest spills to this folder. config: further settings.
    """
    import duckdb

    # At exit, DuckDB's library counts its objects, and complains on stderr about those that the collector never looked
    # at; so unfreeze them for it.
    atexit.register(gc.unfreeze)
    connection = duckdb.connect(":memory:", config={**config, **modest(memory), "temp_directory": folder})
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    for macro in macros:
        connection.execute(f"CREATE MACRO {macro}")
    return connection


def files_sql(files: Iterable[str]) -> str:
    """Return the SQL that reads Parquet files as a table, with the columns of all of them. Names of folders are no
    columns.
    """
    listed = ", ".join("'" + each.replace("'", "''") + "'" for each in files)
    return f"read_parquet([{listed}], hive_partitioning = false, union_by_name = true)"


def is_interrupt(error: Exception) -> bool:
    """Return whether DuckDB's error means that Ctrl-C interrupted it."""
    import duckdb

    return isinstance(error, duckdb.InterruptException) or str(error) == "Query interrupted"


class DuckDbSession:
    """DuckDB with a temporary folder to which it spills; close it by leaving its `with` block."""

    def __init__(self, prefix: str, macros: Iterable[str], memory: int, **config: Any) -> None:
        """Open DuckDB as `open_duckdb` does. prefix: the start of the folder's name."""
        self.folder = TemporaryFolder(prefix)
        self.connection = open_duckdb(macros, memory, self.folder.name, **config)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.connection.close()
        del self.connection
        self.folder.cleanup()

    def execute(self, sql: str, *values: Any) -> Any:
        """Run a statement and return its result. values: one for each `?`. Raises KeyboardInterrupt if Ctrl-C
        interrupts DuckDB.
        """
        try:
            return self.connection.execute(sql, values or None)
        except Exception as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            raise
