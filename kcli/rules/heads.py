"""The first part of a rule's query, which is asked alone: to read and plan the rest of it, too, costs most of the time
of a rule that finds nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from kcli.tables.duckdb_engine import SOURCES

# A text with a quote in it is two here.
PAREN = re.compile(r"'[^']*'|[()]")
COMMENT = re.compile(r"('[^']*')|--[^\n]*")
NAMED = re.compile(r"\s*(\w+) AS \(")


@cache
def head_of(sql: str, names: Sequence[str]) -> str:
    """Return a query of one row, whose `found` says whether any of these queries in the WITH of another has a row.
    KeyError: there is none of that name.
    """
    every = with_of(sql)
    needed = {name: every[name] for name in names}
    for name in reversed(every):
        if any(name in SOURCES.findall(each) for each in needed.values()):
            needed[name] = every[name]
    listed = ",\n".join(f"{name} AS ({query})" for name, query in every.items() if name in needed)
    rows = " UNION ALL ".join(f"SELECT 1 AS one FROM {name}" for name in names)
    return f"WITH {listed}\nSELECT count(*) > 0 AS found FROM ({rows}) AS given"


def with_of(sql: str) -> dict[str, str]:
    """Return the queries in the WITH of a query, by name."""
    sql = COMMENT.sub(lambda found: found[1] or "", sql).strip()
    found: dict[str, str] = {}
    place = len("WITH") if sql.startswith("WITH ") else len(sql)
    while named := NAMED.match(sql, place):
        end = closing(sql, named.end())
        found[named[1]] = sql[named.end() : end]
        place = end + 2 if sql.startswith(",", end + 1) else len(sql)
    return found


def closing(sql: str, place: int) -> int:
    """Return where the parenthesis closes that opens just before a place."""
    depth = 1
    for each in PAREN.finditer(sql, place):
        depth += {"(": 1, ")": -1}.get(each[0], 0)
        if not depth:
            return each.start()
    raise ValueError(f"a parenthesis that nothing closes: {sql[place : place + 40]}")
