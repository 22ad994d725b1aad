"""Prepared tables with no more columns than queries read."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from functools import cache

from kcli.rules.prepared import PREPARED
from kcli.tables.duckdb_engine import SOURCES

LEAN = ("fetched", "produced", "batches", "conns")  # whose queries name each column
NO_WORD = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}


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
    return {name for sql in queries for name in read_by(sql).get(table, ())}


@cache
def read_by(sql: str) -> dict[str, set[str]]:
    """Return the columns of LEAN tables that a query may read, itself or by tables that it makes."""
    found: dict[str, set[str]] = {}
    for each in closed(sql):
        for table in {*LEAN} & {*sources_of(each)}:
            found.setdefault(table, set()).update(columns_of(PREPARED[table]).keys() & words_of(each))
    return found


def closed(sql: str) -> list[str]:
    """Return a query, and those of the prepared tables that it reads."""
    every = [sql]
    for each in every:
        every += [PREPARED[name] for name in sources_of(each) if name in PREPARED and PREPARED[name] not in every]
    return every


def in_turn(queries: Iterable[str]) -> list[str]:
    """Sort queries so that few LEAN tables are needed at a time: those of the first, of both, of the second."""

    def place(sql: str) -> tuple[bool, ...]:
        read = read_by(sql)
        return "batches" not in read, "fetched" in read

    return sorted(queries, key=place)


@cache
def words_of(sql: str) -> frozenset[str]:
    """Return the words of a query."""
    return frozenset(sql.translate(NO_WORD).split())


@cache
def sources_of(sql: str) -> tuple[str, ...]:
    """Return the tables that a query reads."""
    return tuple(dict.fromkeys(SOURCES.findall(sql)))
