"""The tables about several connections, made by DuckDB in one process: by the local engine, or in tasks of Spark."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kcli.pipeline.context import RunContext
from kcli.pipeline.derived.connection_table import traffic_query
from kcli.pipeline.derived.file_views import view_of_files
from kcli.pipeline.derived.incremental_tables import AsRead, runs_of
from kcli.pipeline.derived.judged_tables import local_path, put_judged
from kcli.pipeline.derived.local_facts import LocalFacts
from kcli.pipeline.derived.local_tables import CHANGES, judged_clients, quorum, sessions_of
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.tables import TABLES
from kcli.pipeline.writing import TableWriter, WrittenFile, as_stored, stored_schema
from kcli.rules.rule_tables import READ as RULES_READ
from kcli.tables.duckdb_engine import TABLES_MEMORY
from kcli.tables.exchange_views import EXCHANGE_VIEWS, exchange_view
from kcli.tables.hourly import HOURLY, hourly_query, hourly_update
from kcli.tables.tcp_parts import whole_connections
from kcli.temporary import TemporaryFolder

READ = tuple(sorted({*FACTS, *RULES_READ, "undecodable"}))
OF_CONNECTIONS = ("connection_sums", "client_uses", "logins", "tcp", "undecodable")
FACT = "exchange_facts"
FRESH = "fresh_exchanges"  # rows added or removed since the last run
SHAPES = {FRESH: FACT}  # by the name of a view, the table whose columns it has
FEW_ROWS = 50_000  # rows of facts for which a second task is worth its start

Files = Callable[[str], list[str]]  # returns the URIs of a table


Put = Callable[[TableWriter, LocalFacts, Mapping[str, str], AsRead], None]


@dataclass(frozen=True, slots=True)
class FactsTask:
    """Some of the tables, made from the facts of all runs. files: URIs by table, for the tables in READ and
    `hours_before`. threads: of DuckDB; 0: one for each core.
    """

    files: Mapping[str, Sequence[str]]
    folder: str
    read: AsRead
    parts: tuple[str, ...]
    threads: int = 0

    def write(self) -> list[WrittenFile]:
        """Write the tables into files below `folder`."""
        writer = TableWriter(self.folder, f"derived-{os.urandom(4).hex()}")
        with TemporaryFolder("kcli-pipeline-") as spill:
            views = {
                table: view_of_files(SHAPES.get(table, table), [local_path(uri, spill) for uri in uris])
                for table, uris in self.files.items()
            }
            with LocalFacts(views, spill, TABLES_MEMORY, self.threads) as facts:
                for part in self.parts:
                    PARTS[part](writer, facts, views, self.read)
        return writer.close()


def facts_tasks(
    files: Files, folder: str, read: AsRead, count: int = 1, hours: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> list[FactsTask]:
    """Return the tasks that make all tables: `count` tasks, but at most one for each part. hours: see `hours_before`;
    if empty, all of `hourly` is made again.
    """
    named = read_files(files) | {table: tuple(uris) for table, uris in hours.items()}
    dealt = [tuple(PARTS)[number::count] for number in range(min(count, len(PARTS)))]
    return [FactsTask(named, folder, read, parts, 1 if count > 1 else 0) for parts in dealt]


def judging_task(files: Files, folder: str, read: AsRead) -> FactsTask:
    """Return the task that makes `findings` and the tables about the contents of requests."""
    return FactsTask(read_files(files), folder, read, ("findings",))


def read_files(files: Files) -> dict[str, Sequence[str]]:
    """Return the files of the tables that the tasks read."""
    return {table: tuple(files(table)) for table in READ}


def hours_before(context: RunContext) -> dict[str, Sequence[str]]:
    """Return the files from which `hourly` is updated: its rows from the last run, and the exchanges added or removed
    since. Empty if all is made again.
    """
    journal = context.journal
    before = journal.passed(HOURLY.name)
    if context.entry.redone or not before:
        return {}
    return {HOURLY.name: before, FRESH: journal.passed(FACT) + context.own_files(FACT)}


def put_sessions(writer: TableWriter, facts: LocalFacts, _views: Mapping[str, str], read: AsRead) -> None:
    """Write `fetch_sessions`."""
    put_rows(writer, "fetch_sessions", sessions_of(facts.rows, facts.batches, read.dialect))


def put_rows(writer: TableWriter, table: str, rows: Iterator[tuple[Any, ...]]) -> None:
    """Write rows of a table."""
    for row in rows:
        writer.put(table, row)


def put_findings(writer: TableWriter, facts: LocalFacts, views: Mapping[str, str], read: AsRead) -> None:
    """Write `findings`, and the tables about the contents of requests. Connections of several runs are merged first,
    which takes as long as reading them.
    """
    [rows] = facts.rows("SELECT count(*) > count(DISTINCT connection) AS parted FROM tcp")
    whole = {"tcp": whole_connections(views["tcp"])} if rows["parted"] else {}
    put_judged(writer, facts, {**views, **whole}, read.sample)


def put_clients(writer: TableWriter, facts: LocalFacts, _views: Mapping[str, str], _read: AsRead) -> None:
    """Write `clients`."""
    put_rows(writer, "clients", judged_clients(facts.rows))


def put_others(writer: TableWriter, facts: LocalFacts, views: Mapping[str, str], _read: AsRead) -> None:
    """Write the tables that are made by a query, or with little more."""
    put_rows(writer, "quorum", quorum(facts.rows))
    hourly = hourly_update(FACT, FRESH, HOURLY.name) if FRESH in views else hourly_query(FACT, file=False)
    for table, query in (*derived_queries(), ("leader_changes", CHANGES), (HOURLY.name, hourly)):
        for batch in facts.batches(query):
            writer.put_batch(table, -1, as_stored(batch, stored_schema(table)))


# Those that take longest first.
PARTS: dict[str, Put] = {
    "findings": put_findings,
    "sessions": put_sessions,
    "others": put_others,
    "clients": put_clients,
}


def derived_queries() -> Iterator[tuple[str, str]]:
    """Yield (table, query) for the tables that a query makes."""
    queries = {"connections": traffic_query(OF_CONNECTIONS).format(**{name: name for name in OF_CONNECTIONS})}
    queries |= {table: exchange_view(table, "noted_exchanges", file=False) for table in EXCHANGE_VIEWS}
    for table, query in queries.items():
        yield table, f"SELECT {', '.join(TABLES[table].names)} FROM ({query}) AS made"


def has_older_runs(files: Files) -> bool:
    """Return whether there are runs of an older kcli, which wrote no facts; only Spark can use their exchanges
    instead.
    """
    return bool(runs_of(files("exchanges")) - runs_of(files("connection_sums")))
