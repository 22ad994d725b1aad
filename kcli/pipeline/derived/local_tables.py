"""The tables that look across connections, made in this process out of the workers' facts, which DuckDB sorts."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

from kcli.capture.audit import Judge
from kcli.pipeline.derived.aggregates import SNAPSHOT_KEYS, WHO_ASKED, client_rows, snapshots
from kcli.pipeline.derived.incremental_tables import Row
from kcli.pipeline.derived.leader_changes import CHANGE_KEYS
from kcli.pipeline.derived.session_table import ORDER, sessions
from kcli.pipeline.fact_tables import FACTS, REPORT_FACTS
from kcli.pipeline.tables import TABLES
from kcli.schemas.catalog import catalog
from kcli.schemas.errors import error_name
from kcli.tables.definition import DUCKDB_TYPES
from kcli.tables.exchange_views import MACROS

ROWS = 2000  # of a query's answer at a time
Ask = Callable[[str], Iterable[Row]]  # the rows of a query over the facts by name, and over `known`

# The view `known`: the name that each topic id was first given.
KNOWN = "SELECT topic_id, arg_min(topic, learnt_ns) AS topic FROM topic_names GROUP BY topic_id"
FETCHES = """
SELECT *, NULL AS event FROM fetch_frames
UNION ALL BY NAME
SELECT regexp_extract(connection, '^(.+?:[0-9]+)-', 1) AS server, connection,
       epoch_us(timestamp) * 1000 AS completed_ns, event
FROM undecodable WHERE event != 'unanswered-at-end' AND connection IS NOT NULL
"""
KEYS = ", ".join(CHANGE_KEYS)
# Rows of `leader_changes` but for the error's name, times in microseconds: a change begins with the first error and
# ends with the next answer without one, as `leader_changes.changes` says. change: good answers before.
CHANGES = f"""
WITH named AS (SELECT outcomes.* REPLACE (coalesce(known.topic, outcomes.topic) AS topic)
               FROM outcomes LEFT JOIN known ON outcomes.topic = known.topic_id),
     troubled AS (SELECT * FROM named WHERE ({KEYS}) IN (SELECT ({KEYS}) FROM named WHERE error != 0)),
     numbered AS (SELECT *, count(*) FILTER (error = 0) OVER (
                      PARTITION BY {KEYS} ORDER BY first_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                  ) AS change FROM troubled),
     made AS (SELECT min(first_ns) FILTER (error != 0) AS lost_ns, {KEYS},
                     arg_min(error, first_ns) FILTER (error != 0) AS error,
                     arg_min(server, first_ns) FILTER (error != 0) AS from_server,
                     (sum(answers) FILTER (error != 0))::BIGINT AS error_answers,
                     arg_min({{'leader': hint_leader, 'server': hint_server}}, first_ns)
                         FILTER (error != 0 AND hint_leader >= 0) AS hint,
                     any_value(server) FILTER (error = 0) AS to_server,
                     any_value(first_ns) FILTER (error = 0) AS found_ns,
                     any_value(first_request_ns) FILTER (error = 0) AS asked_ns
              FROM numbered GROUP BY {KEYS}, change)
SELECT lost_ns // 1000 AS timestamp, {KEYS}, error, from_server, error_answers,
       hint IS NOT NULL AS hint_sent, hint.leader AS hint_leader, hint.server AS hint_server, to_server,
       found_ns // 1000 AS recovered, (found_ns - lost_ns) / 1e6 AS lost_ms,
       CASE WHEN found_ns IS NULL THEN NULL WHEN hint IS NOT NULL THEN 0.0
            ELSE greatest(0.0, (asked_ns - lost_ns) / 1e6) END AS hint_saves_ms
FROM made WHERE lost_ns IS NOT NULL
"""
WHO = ", ".join(WHO_ASKED)
USES = f"""
SELECT {WHO}, api_key, api_version, sum(requests)::BIGINT AS requests, bool_or(free) AS free,
       bool_or(negotiates) AS negotiates
FROM client_uses {{where}} GROUP BY {WHO}, api_key, api_version ORDER BY ALL
"""
CONNECTIONS = f"SELECT {WHO}, count(DISTINCT connection) AS connections FROM client_uses {{where}} GROUP BY {WHO}"
USED = "SELECT DISTINCT api_key, api_version FROM client_uses"
# Whoever used one of these, and who might be the same client.
WHO_USED = """
WHERE (client_id, address) IN (SELECT (client_id, address) FROM client_uses WHERE (api_key, api_version) IN ({pairs}))
"""


def view_of(table: str, folder: str | Path) -> str:
    """Write the SQL of a table's Parquet files below a folder."""
    return view_of_files(table, sorted(map(str, (Path(folder) / table).rglob("*.parquet"))))


def view_of_files(table: str, files: Sequence[str]) -> str:
    """Write the SQL of a table's Parquet files; an older file's missing columns are null, and no file is no row."""
    columns = (TABLES | FACTS | REPORT_FACTS)[table].columns
    empty = "SELECT " + ", ".join(f"NULL::{DUCKDB_TYPES[each.kind]} AS {each.name}" for each in columns) + " LIMIT 0"
    if not files:
        return empty
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    read = f"SELECT * FROM read_parquet([{listed}], hive_partitioning = false, union_by_name = true)"
    return f"({empty}) UNION ALL BY NAME {read}"


class LocalFacts:
    """Facts of connections and events as DuckDB has them; leave its block when done."""

    def __init__(self, views: Mapping[str, str], spill: str, memory: str) -> None:
        """views: the SQL of each table. spill: a folder for what is more than memory."""
        import duckdb

        # Its library complains on stderr about objects that the collector never looked at (see kcli.sql.engine).
        atexit.register(gc.unfreeze)
        config: dict[str, Any] = {"memory_limit": memory, "temp_directory": spill}
        self.connection = duckdb.connect(":memory:", config=config)
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.execute("SET enable_progress_bar = false")
        for macro in MACROS:
            self.connection.execute(f"CREATE MACRO {macro}")
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

    def rows(self, query: str) -> Iterator[Row]:
        """Yield the rows of a query by column."""
        for batch in self.batches(query):
            yield from batch.to_pylist()


def folded(
    ask: Ask, query: str, keys: Sequence[str], order: Sequence[str], make: Callable[[Iterator[Row]], Iterable[Any]]
) -> Iterator[tuple[Any, ...]]:
    """make(rows of one key, in order), for each key: as `incremental_tables.fold` does with Spark."""
    by = ", ".join(f"{name} NULLS FIRST" for name in (*keys, *order))
    for _, rows in groupby(ask(f"SELECT * FROM ({query}) ORDER BY {by}"), key=itemgetter(*keys)):
        yield from make(rows)


def sessions_of(ask: Ask, dialect: str | None) -> Iterator[tuple[Any, ...]]:
    """Rows of `fetch_sessions`."""
    names = {row["topic_id"]: row["topic"] for row in ask("SELECT * FROM known")}
    return folded(ask, FETCHES, ["server"], ORDER, partial(sessions, names=names, dialect=dialect))


def leader_changes(ask: Ask) -> Iterator[tuple[Any, ...]]:
    """Rows of `leader_changes`."""
    for row in ask(CHANGES):
        yield tuple((row | {"error": error_name(row["error"])}).values())


def quorum(ask: Ask) -> Iterator[tuple[Any, ...]]:
    """Rows of `quorum`."""
    return folded(ask, "FROM snapshot_parts", SNAPSHOT_KEYS, ["answered_ns"], snapshots)


def judged_clients(ask: Ask, where: str = "") -> Iterator[tuple[Any, ...]]:
    """Rows of `clients`. where: SQL, of which."""
    found = ask(CONNECTIONS.format(where=where))
    connections = {tuple(row[name] for name in WHO_ASKED): row["connections"] for row in found}
    return client_rows(ask(USES.format(where=where)), connections)


def doubtful_clients(ask: Ask) -> Iterator[tuple[Any, ...]]:
    """The same, of those alone who used a version that the newest release does not take."""
    known = catalog()
    accepts = Judge(known, known.releases[-1]).accepts
    pairs = [(row["api_key"], row["api_version"]) for row in ask(USED)]
    others = ", ".join(f"({key}, {version})" for key, version in pairs if not accepts(key, version))
    return judged_clients(ask, WHO_USED.format(pairs=others)) if others else iter(())
