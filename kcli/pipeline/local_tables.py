"""The tables that look across connections, made in this process out of the workers' facts, which DuckDB sorts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from kcli.pipeline.aggregates import SNAPSHOT_KEYS, WHO_ASKED, client_rows, snapshots
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.incremental_tables import Row
from kcli.pipeline.leader_changes import CHANGE_KEYS, changes
from kcli.pipeline.session_table import ORDER, sessions
from kcli.pipeline.tables import TABLES

__all__ = ["KNOWN", "Ask", "judged_clients", "leader_changes", "quorum", "sessions_of", "view_of"]

Ask = Callable[[str], Iterable[Row]]  # the rows of a query over the facts by name, and over `known`

SQL_TYPES = {
    "instant": "TIMESTAMPTZ", "string": "VARCHAR", "strings": "VARCHAR[]", "bool": "BOOL", "int8": "TINYINT",
    "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "float64": "DOUBLE", "binary": "BLOB",
}  # fmt: skip
# The view `known`: the name that each topic id was first given.
KNOWN = "SELECT topic_id, arg_min(topic, learnt_ns) AS topic FROM topic_names GROUP BY topic_id"
FETCHES = """
SELECT *, NULL AS event FROM fetch_frames
UNION ALL BY NAME
SELECT regexp_extract(connection, '^(.+?:[0-9]+)-', 1) AS server, connection,
       epoch_us(timestamp) * 1000 AS completed_ns, event
FROM undecodable WHERE event != 'unanswered-at-end' AND connection IS NOT NULL
"""
# Answers of those who had an error, by the topic's name where a message has taught it.
TROUBLED = f"""
WITH named AS (SELECT outcomes.* REPLACE (coalesce(known.topic, outcomes.topic) AS topic)
               FROM outcomes LEFT JOIN known ON outcomes.topic = known.topic_id)
SELECT * FROM named
WHERE ({", ".join(CHANGE_KEYS)}) IN (SELECT ({", ".join(CHANGE_KEYS)}) FROM named WHERE error != 0)
"""
WHO = ", ".join(WHO_ASKED)
USES = f"""
SELECT {WHO}, api_key, api_version, sum(requests)::BIGINT AS requests, bool_or(free) AS free,
       bool_or(negotiates) AS negotiates
FROM client_uses GROUP BY {WHO}, api_key, api_version ORDER BY ALL
"""
CONNECTIONS = f"SELECT {WHO}, count(DISTINCT connection) AS connections FROM client_uses GROUP BY {WHO}"


def view_of(table: str, folder: str | Path) -> str:
    """SQL of a table's Parquet files below a folder; of an empty table where there are none."""
    files = sorted(map(str, (Path(folder) / table).rglob("*.parquet")))
    if files:
        listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
        return f"SELECT * FROM read_parquet([{listed}], hive_partitioning = false)"
    columns = (FACTS.get(table) or TABLES[table]).columns
    return "SELECT " + ", ".join(f"NULL::{SQL_TYPES[each.kind]} AS {each.name}" for each in columns) + " LIMIT 0"


def folded(
    ask: Ask, query: str, keys: Sequence[str], order: Sequence[str], make: Callable[[Iterator[Row]], Iterable[Any]]
) -> Iterator[tuple[Any, ...]]:
    """make(rows of one key, in order), for each key: as `kcli.pipeline.incremental_tables.fold` does with Spark."""
    by = ", ".join(f"{name} NULLS FIRST" for name in (*keys, *order))
    for _, rows in groupby(ask(f"SELECT * FROM ({query}) ORDER BY {by}"), key=itemgetter(*keys)):
        yield from make(rows)


def sessions_of(ask: Ask, dialect: str | None) -> Iterator[tuple[Any, ...]]:
    """Rows of `fetch_sessions`."""
    names = {row["topic_id"]: row["topic"] for row in ask("SELECT * FROM known")}
    return folded(ask, FETCHES, ["server"], ORDER, partial(sessions, names=names, dialect=dialect))


def leader_changes(ask: Ask) -> Iterator[tuple[Any, ...]]:
    """Rows of `leader_changes`."""
    return folded(ask, TROUBLED, CHANGE_KEYS, ["first_ns"], changes)


def quorum(ask: Ask) -> Iterator[tuple[Any, ...]]:
    """Rows of `quorum`."""
    return folded(ask, "FROM snapshot_parts", SNAPSHOT_KEYS, ["answered_ns"], snapshots)


def judged_clients(ask: Ask) -> Iterator[tuple[Any, ...]]:
    """Rows of `clients`."""
    connections = {tuple(row[name] for name in WHO_ASKED): row["connections"] for row in ask(CONNECTIONS)}
    return client_rows(ask(USES), connections)
