"""Prepared tables with no more columns than queries read."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from functools import cache

from kcli.rules.prepared import PREPARED
from kcli.tables.duckdb_engine import SOURCES

LEAN = ("fetched", "produced", "batches")  # whose queries name each column


@cache
def columns_of(sql: str) -> dict[str, str]:
    """Return the columns of a query without a WITH, each with its SQL."""
    listed = sql.strip().removeprefix("SELECT ").partition("\nFROM ")[0]
    every = [each.strip() for each in re.split(r",(?![^()]*\))", listed)]
    return {re.split(r"[ .]", each)[-1]: each for each in every}


def with_columns(sql: str, names: Container[str]) -> str:
    """Return a query with those of its columns that are named, or else the first."""
    kept = [each for name, each in columns_of(sql).items() if name in names] or [*columns_of(sql).values()][:1]
    return "SELECT " + ", ".join(kept) + "".join(sql.partition("\nFROM ")[1:])


def needed_of(table: str, queries: Iterable[str]) -> set[str]:
    """Return the columns of a prepared table that queries may read, themselves or by tables that they make."""
    columns = columns_of(PREPARED[table])
    return {name for sql in closed(queries) if table in sources_of(sql) for name in columns.keys() & words_of(sql)}


def closed(queries: Iterable[str]) -> list[str]:
    """Return queries, and those of the prepared tables that they read."""
    found = dict.fromkeys(queries)
    for sql in (every := [*found]):
        for table in sources_of(sql):
            if table in PREPARED and PREPARED[table] not in found:
                found[PREPARED[table]] = None
                every.append(PREPARED[table])
    return every


@cache
def words_of(sql: str) -> frozenset[str]:
    """Return the words of a query."""
    return frozenset(re.findall(r"\w+", sql))


@cache
def sources_of(sql: str) -> tuple[str, ...]:
    """Return the tables that a query reads."""
    return tuple(dict.fromkeys(SOURCES.findall(sql)))
