"""The engine for a laptop: this process runs the tasks, and DuckDB makes the tables that look across connections."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kcli.errors import UsageError
from kcli.extras import require
from kcli.pipeline.context import RunContext
from kcli.pipeline.derived.connection_table import traffic_query
from kcli.pipeline.derived.file_views import view_of_files
from kcli.pipeline.derived.incremental_tables import runs_of
from kcli.pipeline.derived.judged_tables import put_judged
from kcli.pipeline.derived.local_facts import LocalFacts
from kcli.pipeline.derived.local_tables import (
    judged_clients,
    leader_changes,
    quorum,
    sessions_of,
)
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.storage import Place
from kcli.pipeline.tables import TABLES
from kcli.pipeline.writing import TableWriter, Written, as_stored, stored_schema
from kcli.rules.tables import READ as RULES_READ
from kcli.tables.exchange_views import EXCHANGE_VIEWS, exchange_view

MEMORY = 1024  # MiB for sorting; what is more goes to a temporary folder
READ = tuple({*FACTS, *RULES_READ, "undecodable"})
OF_CONNECTIONS = ("connection_sums", "client_uses", "logins", "tcp", "undecodable")


class LocalEngine:
    """See `kcli.pipeline.context.Engine`. One task runs at a time."""

    cores = 1
    local = True

    def __init__(self) -> None:
        """Check that DuckDB is there. Raises UsageError if it is missing."""
        require("kcli pipeline run --engine local", "report")

    def hand_out(self, tasks: Sequence[Any], work: Callable[[Any], Any], done: Callable[[int], None]) -> list[Any]:
        """Run the tasks one after the other."""
        made = []
        for number, task in enumerate(tasks, start=1):
            made.append(work(task))
            done(number)
        return made

    def derive(self, context: RunContext, names: Mapping[str, str]) -> list[Written]:
        """Make all rows anew, out of the facts of all runs."""
        refuse_older(context)
        views = {table: view_of_files(table, [Place(uri).path for uri in context.files(table)]) for table in READ}
        writer = TableWriter(context.folder, "local")
        with (
            tempfile.TemporaryDirectory(prefix="kcli-pipeline-") as spill,
            LocalFacts(views, spill, MEMORY) as facts,
        ):
            for table, rows in derived_rows(facts, context.options.dialect):
                for row in rows:
                    writer.put(table, row)
            for table, query in derived_queries():
                for batch in facts.batches(query):
                    writer.put_batch(table, -1, as_stored(batch, stored_schema(table)))
            put_judged(writer, facts, views)
        return writer.close()


def check_output(output: str) -> None:
    """Raise UsageError if DuckDB does not read what is written there."""
    if Place(output).remote:
        raise UsageError(f"{output}: --engine local writes to a folder of this machine (use --engine spark)")


def refuse_older(context: RunContext) -> None:
    """Raise UsageError for a run by an older kcli, which left no facts; only Spark makes do with its exchanges."""
    if runs_of(context.files("exchanges")) - runs_of(context.files("connection_sums")):
        raise UsageError(f"{context.options.output}: holds runs of an older kcli (use --engine spark)")


def derived_rows(facts: LocalFacts, dialect: str | None) -> Iterator[tuple[str, Iterator[tuple[Any, ...]]]]:
    """Yield the tables whose rows are followed one by one."""
    yield "fetch_sessions", sessions_of(facts.rows, dialect)
    yield "leader_changes", leader_changes(facts.rows)
    yield "quorum", quorum(facts.rows)
    yield "clients", judged_clients(facts.rows)


def derived_queries() -> Iterator[tuple[str, str]]:
    """Yield the tables that a query makes."""
    queries = {"connections": traffic_query(OF_CONNECTIONS).format(**{name: name for name in OF_CONNECTIONS})}
    queries |= {table: exchange_view(table, "noted_exchanges", file=False) for table in EXCHANGE_VIEWS}
    for table, query in queries.items():
        yield table, f"SELECT {', '.join(TABLES[table].names)} FROM ({query}) AS made"
