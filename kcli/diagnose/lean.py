"""Prepared tables with only the columns that queries read."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from functools import cache

from kcli.rules.prepared import PREPARED
from kcli.tables.duckdb_engine import SOURCES

LEAN = ("fetched", "produced", "batches", "conns")  # tables whose queries name each column
NO_WORD = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}


@cache
def columns_of(sql: str) -> dict[str, str]:
    """Return the columns of a query without a WITH: name -> SQL."""
    listed = sql.strip().removeprefix("SELECT ").partition("\nFROM ")[0]
    every: list[str] = []
    for piece in listed.split(","):
        if every and every[-1].count("(") > every[-1].count(")"):
            every[-1] += f",{piece}"
        else:
            every.append(piece.strip())
    return {re.split(r"[ .]", each)[-1]: each for each in every}


def with_columns(sql: str, names: Container[str]) -> str:
    """Return a query with only the named columns, or with its first column if none is named."""
    kept = [each for name, each in columns_of(sql).items() if name in names] or [*columns_of(sql).values()][:1]
    return "SELECT " + ", ".join(kept) + "".join(sql.partition("\nFROM ")[1:])


def needed_of(table: str, queries: Iterable[str]) -> set[str]:
    """Return the columns of a prepared table that queries may read, directly or through other prepared tables."""
    return {name for sql in queries for name in read_by(sql).get(table, ())}


@cache
def read_by(sql: str) -> dict[str, set[str]]:
    """Return the columns of LEAN tables that a query may read, directly or through other prepared tables."""
    found: dict[str, set[str]] = {}
    for each in closed(sql):
        for table in {*LEAN} & {*sources_of(each)}:
            found.setdefault(table, set()).update(columns_of(PREPARED[table]).keys() & words_of(each))
    return found


def closed(sql: str) -> list[str]:
    """Return a query, and the queries of all prepared tables that it rests on."""
    every = [sql]
    for each in every:
        every += [PREPARED[name] for name in sources_of(each) if name in PREPARED and PREPARED[name] not in every]
    return every


def in_turn(queries: Iterable[str]) -> list[str]:
    """Sort queries so that few LEAN tables exist at a time: first the readers of `batches`, last those of `fetched`."""

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
