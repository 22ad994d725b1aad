"""Runs DuckDB in isolation: one query at a time over `Scan`s, without access to other files, the network, or its own
settings.
"""

import atexit
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import TIMEOUT_MAX
from types import MappingProxyType
from typing import Any, Self

from kcli.address_space import MemoryBound, is_shortage, left
from kcli.capture.io.capture_file import StandardInput
from kcli.counting import few_of
from kcli.errors import InputError
from kcli.extras import require
from kcli.sql.guard import QueryError, checked
from kcli.sql.scans import Scan
from kcli.tables.duckdb_engine import QUERY_MEMORY, SOURCES, is_interrupt, open_duckdb
from kcli.tables.exchange_views import JSON_MACRO, MICROS_MACRO, MOMENT_MACRO, PAIR_MACRO
from kcli.temporary import TemporaryFolder

SPILL = "16GiB"  # most bytes in the temporary folder
# Most GiB of memory that this process takes during a query. DuckDB does not count all of it: of lists and texts that
# functions make, only those that it keeps.
UNCOUNTED = 1.25
BOUND = MemoryBound(int(UNCOUNTED * 2**30))
ROWS = 10_000  # rows in a record batch of the result
MOST_NAMED = 6  # most tables that a note names
SAFE: dict[str, Any] = {
    "enable_external_access": "false", "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
    "python_enable_replacements": "false", "python_scan_all_frames": "false", "allow_community_extensions": "false",
    "max_temp_directory_size": SPILL,
}  # fmt: skip
TABLE = '"{}"'
REFUSED = ("bad allocation", "Allocation failure")  # in DuckDB's error if the system refuses memory


class Answer:
    """The rows of a result as record batches. schema: a pyarrow.Schema."""

    def __init__(self, schema: Any, batches: Iterator[Any]) -> None:
        self.schema, self.rest = schema, batches

    def __iter__(self) -> Iterator[Any]:
        return self.rest

    def read_all(self) -> Any:
        """Read all rows as a pyarrow.Table."""
        import pyarrow

        return pyarrow.Table.from_batches(list(self.rest), self.schema)


class Engine:
    """Answers queries over tables by name; close it when done.

    views: name -> SQL of a table made from others. at_close: called by `close`. dialect: for API names. notes: the
    notes on the last query.
    """

    def __init__(
        self,
        scans: Iterable[Scan],
        views: Mapping[str, str] | None = None,
        at_close: Callable[[], None] = lambda: None,
        seconds: float | None = None,
        dialect: str | None = None,
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Open DuckDB. seconds: the most that a query may take; None: no limit. settings: further settings of DuckDB.
        Raises UsageError if DuckDB is missing.
        """
        require("kcli sql", "sql")
        import duckdb

        self.duckdb, self.at_close, self.dialect = duckdb, at_close, dialect
        self.notes: list[str] = []
        self.seconds = None if seconds is None else min(seconds, TIMEOUT_MAX)
        self.left = self.seconds
        self.scans = {scan.name: scan for scan in scans}
        self.views = dict(views or {})
        # The tables that no query has named so far, by their names in lower case, as DuckDB ignores case.
        self.undefined = {name.lower(): name for name in (*self.scans, *self.views)}
        self.folder = TemporaryFolder("kcli-sql-")
        with self.clear_errors():
            macros = (JSON_MACRO, MICROS_MACRO, MOMENT_MACRO, PAIR_MACRO)
            self.connection = open_duckdb(macros, QUERY_MEMORY, self.folder.name, **{**settings, **SAFE})
        self.connection.execute("SET lock_configuration = true")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close DuckDB, remove its folder, and call `at_close`."""
        self.connection.close()
        del self.connection
        self.folder.cleanup()
        self.at_close()

    @contextmanager
    def answer(self, query: str) -> Iterator[Answer]:
        """Run a query. The inputs are read while the caller reads the answer.

        Raises UsageError for a wrong query, and InputError if it needs too much memory; at the end, InputError for
        faults of the inputs.
        """
        for scan in self.scans.values():
            scan.failures.clear()
            scan.reads = 0
        self.left = self.seconds
        StandardInput.given_up.clear()
        with self.clear_errors():
            query, select = checked(self.connection, query, self.mended)
            named = list(self.named(select or query))
            self.define(named)
            self.notes += self.lacking(named)
            self.choose_columns(select)
            atexit.unregister(StandardInput.given_up.set)
            # It has to run before the exit functions of DuckDB and Arrow, which wait for the thread.
            atexit.register(StandardInput.given_up.set)
            with ThreadPoolExecutor(1, "kcli-sql") as pool:
                reader = self.waited(pool.submit(self.reader_of, query))
                yield Answer(reader.schema, self.batches(pool, reader))
        self.raise_failures(InputError)

    def mended(self, query: str, tree: Any) -> str:
        """Return a query with API names as in the tables."""
        from kcli.sql.api_names import with_names

        query, self.notes = with_names(query, tree, self.dialect)
        return query

    def reader_of(self, query: str) -> Any:
        """Return the pyarrow.RecordBatchReader of a query's rows. Raises UsageError for a statement without rows."""
        relation = self.connection.sql(query)
        if relation is None:
            raise QueryError("it returns no rows (a SELECT expected)")
        return relation.to_arrow_reader(ROWS)

    def batches(self, pool: ThreadPoolExecutor, reader: Any) -> Iterator[Any]:
        """Yield the reader's batches, which the pool's thread reads."""
        while (batch := self.waited(pool.submit(next_batch, reader))) is not None:
            yield batch

    def waited(self, future: Future[Any]) -> Any:
        """Return the result of work in another thread. Meanwhile this thread can handle Ctrl-C, even if DuckDB is busy.

        Raises InputError if the query takes too long. Only DuckDB's time counts, not that of the caller between
        batches.
        """
        started = time.monotonic()
        try:
            return future.result(self.left)
        except TimeoutError:
            if future.done():
                raise  # a TimeoutError of the work itself
            self.stop(future)
            raise InputError(f"the query takes longer than {self.seconds:g} s (--timeout)") from None
        except KeyboardInterrupt:
            self.stop(future)
            raise
        finally:
            if self.left is not None:
                self.left = max(0.0, self.left - (time.monotonic() - started))

    def stop(self, future: Future[Any]) -> None:
        """Interrupt DuckDB and wait until it stops; its thread stops waiting for standard input."""
        StandardInput.given_up.set()
        self.connection.interrupt()
        future.exception()

    def raise_failures(self, kind: type[BaseException]) -> None:
        """Raise the first failure of a scan that has this type."""
        failures = [each for scan in self.scans.values() for each in scan.failures if isinstance(each, kind)]
        if failures:
            raise failures[0]

    @contextmanager
    def clear_errors(self) -> Iterator[None]:
        """Turn DuckDB's errors into kcli's, of one line; errors of a scan are raised unchanged. Memory is bounded."""
        try:
            with BOUND:
                yield
        except (self.duckdb.Error, OSError, ValueError, RuntimeError, MemoryError) as error:
            for scan in self.scans.values():
                for each in scan.failures:
                    if not isinstance(each, InputError):
                        raise each from None
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            raise self.plain(error) from None

    def plain(self, error: Exception) -> Exception:
        """Return kcli's error, of one line, for an error of DuckDB; any other error unchanged."""
        text = first_part(str(error))
        own: Any = self.duckdb.OutOfMemoryException if left() is None else ()
        if isinstance(error, own) and any(each in text for each in REFUSED):
            return InputError(f"a list or text of the query needs more than {UNCOUNTED} GiB of memory: {text}")
        if isinstance(error, (self.duckdb.IOException, own)):
            return InputError(f"the query needs more than {QUERY_MEMORY} MiB of memory and {SPILL} on disk: {text}")
        if is_shortage(error):
            return InputError(f"the query needs more memory than this process may have: {text or 'none is left'}")
        if isinstance(error, self.duckdb.Error):
            return QueryError(text)
        # Arrow wraps what DuckDB says while rows are made.
        return QueryError(text) if "Error" in text else error

    def named(self, query: str) -> Iterable[str]:
        """Return the tables that a query names. Return all tables if it names none or an unknown one, as DuckDB then
        lists the known ones.
        """
        try:
            found = {name.lower() for name in self.connection.get_table_names(query)}
        except self.duckdb.Error:
            found = set()
        every = {name.lower() for name in (*self.scans, *self.views)}
        return found if found and found <= every else every

    def lacking(self, named: Sequence[str]) -> list[str]:
        """Return notes on the named tables that no input has; [] if all tables are named."""
        tables = {name.lower(): name for name in (*self.scans, *self.views)}
        absent = [] if len(named) == len(tables) else [tables[each] for each in named if not self.holds(tables[each])]
        if not absent:
            return []
        held = [name for name in tables.values() if self.holds(name) and not name.startswith("_")]
        held_text = f" (they have {few_of(held, MOST_NAMED)})" if held else ""
        return [f"{name}: a table of which the inputs have nothing{held_text}" for name in absent]

    def holds(self, table: str) -> bool:
        """Return whether an input has rows of a table, or of a table that it is made from."""
        if sql := self.views.get(table):
            # DuckDB does not list the tables of a FROM clause without SELECT, so the SQL's text is searched.
            return any(self.holds(each) for each in SOURCES.findall(sql) if each in self.scans or each in self.views)
        return bool(self.scans[table].sources)

    def define(self, names: Iterable[str]) -> None:
        """Define these tables in DuckDB, and the tables that they are made from."""
        for name in names:
            table = self.undefined.pop(name.lower(), None)
            if table is None:
                continue
            if sql := self.views.get(table):
                self.define(self.connection.get_table_names(sql))
            else:
                sql = self.registered(self.scans[table])
            self.connection.execute(f"CREATE VIEW {quoted(table)} AS {sql}")

    def registered(self, scan: Scan) -> str:
        """Register a scan in DuckDB; return a SELECT that gives its columns their own names."""
        self.connection.register(f"_{scan.name}", scan)
        columns = ", ".join(f"{quoted(f'{scan.name}.{each}')} AS {quoted(each)}" for each in scan.schema.names)
        return f"SELECT {columns} FROM {quoted(f'_{scan.name}')}"

    def choose_columns(self, query: str) -> None:
        """Choose the columns that each scan reads, by the plan of the query; all columns if it has no plan."""
        for scan in self.scans.values():
            scan.wanted = frozenset(scan.schema.names)
        if not query:
            return
        try:
            rows = self.connection.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchall()
        except self.duckdb.ParserException:
            return  # DESCRIBE and SHOW have no plan; a wrong query fails later, with its own error
        read: dict[str, set[str]] = {}
        for name in scanned_columns(json.loads(rows[0][1])):
            table, _, column = name.partition(".")
            read.setdefault(table, set()).add(column)
        for name, scan in self.scans.items():
            scan.wanted = frozenset(read.get(name, ()))


def next_batch(reader: Any) -> Any:
    """Return the next batch, None at the end, as a future does not pass on StopIteration."""
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None


def scanned_columns(nodes: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the columns that the scans in a plan read."""
    for node in nodes:
        if "ARROW_SCAN" in node["name"]:
            found = node.get("extra_info", {}).get("Projections", [])
            yield from [found] if isinstance(found, str) else found
        yield from scanned_columns(node.get("children", []))


def quoted(name: str) -> str:
    """Quote an identifier in SQL."""
    return '"' + name.replace('"', '""') + '"'


def first_part(text: str) -> str:
    """Return DuckDB's message with its suggestion, on one line, without the excerpt of the query, or its settings."""
    text = text.partition("\n\nLINE ")[0].partition("\nPossible solutions:")[0]
    return " ".join(text.split())
