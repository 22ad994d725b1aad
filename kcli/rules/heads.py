"""The first parts of a rule's query, which are asked alone. Most rules find nothing; for these, reading and planning
the rest of the query would take most of the time.
"""

import re
from collections.abc import Mapping
from functools import cache

from kcli.tables.duckdb_engine import SOURCES

# A text with an escaped quote in it matches as two texts.
PAREN = re.compile(r"'[^']*'|[()]")
COMMENT = re.compile(r"('[^']*')|--[^\n]*")
NAMED = re.compile(r"\s*(\w+) AS \(")
KEPT = "first_{}"  # the table of the stored rows of a part


@cache
def first_of(sql: str, name: str) -> str:
    """Return a statement that stores the rows of the named query in the WITH.

    Raises KeyError if the WITH has no such query.
    """
    every, _ = parts_of(sql)
    return f"CREATE TABLE {KEPT.format(name)} AS {with_needed(every, every[name])}"


@cache
def rest_of(sql: str, name: str) -> str:
    """Return the query with the stored rows in place of the named query in its WITH."""
    every, last = parts_of(sql)
    return with_needed(every | {name: f"SELECT * FROM {KEPT.format(name)}"}, last)


def with_needed(every: Mapping[str, str], last: str) -> str:
    """Return a query with a WITH of only the queries that it needs. every: the queries to choose from, by name."""
    needed = {"": last}
    for name in reversed([*every]):
        if any(name in SOURCES.findall(each) for each in needed.values()):
            needed[name] = every[name]
    listed = ",\n".join(f"{name} AS ({query})" for name, query in every.items() if name in needed)
    return f"WITH {listed}\n{last}" if listed else last


def parts_of(sql: str) -> tuple[dict[str, str], str]:
    """Return the queries in the WITH of a query, by name, and the final part."""
    sql = COMMENT.sub(lambda found: found[1] or "", sql).strip()
    found: dict[str, str] = {}
    place = len("WITH") if sql.startswith("WITH ") else 0
    while place and (named := NAMED.match(sql, place)):
        end = closing(sql, named.end())
        found[named[1]] = sql[named.end() : end]
        place = end + 1 + sql.startswith(",", end + 1)
    return found, sql[place:].strip()


def closing(sql: str, place: int) -> int:
    """Return the position of the parenthesis that closes the one just before a position."""
    depth = 1
    for each in PAREN.finditer(sql, place):
        depth += {"(": 1, ")": -1}.get(each[0], 0)
        if not depth:
            return each.start()
    raise ValueError(f"a parenthesis that nothing closes: {sql[place : place + 40]}")
