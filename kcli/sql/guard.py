"""Checks the queries of `kcli sql`: one SELECT, or its plan, without access to files, settings or the process.

The checks use DuckDB's tree of the query (json_serialize_sql), so that no spelling of a name evades them. EXPLAIN is
written anew around the checked SELECT, as EXPLAIN ANALYZE runs any statement.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from kcli.errors import UsageError

# White space and comments before a statement to explain. DuckDB's comments nest; a nested one does not match.
BLANK = r"(?:\s|--[^\n]*(?:\n|$)|/\*(?:(?!/\*).)*?\*/)"
OPTIONS = rf"\({BLANK}*(?:ANALYZE|FORMAT{BLANK}+\w+)(?:{BLANK}*,{BLANK}*(?:ANALYZE|FORMAT{BLANK}+\w+))*{BLANK}*\)"
EXPLAIN = re.compile(rf"{BLANK}*EXPLAIN{BLANK}*(?:\bANALYZE\b|{OPTIONS})?", re.IGNORECASE | re.DOTALL)
WORDS = re.compile(r"\b(?:ANALYZE|FORMAT\s+\w+)\b", re.IGNORECASE)
COMMENT = re.compile(r"--[^\n]*(?:\n|$)|/\*.*?\*/", re.DOTALL)

# Functions and views that read settings, files and the process; `query` runs text as a query.
CLOSED = re.compile(r"(duckdb|pragma)_.*|pg_settings|current_setting|which_secret|getenv|getvariable|query")
OPEN = {"duckdb_columns", "duckdb_functions", "duckdb_keywords", "duckdb_tables", "duckdb_types", "duckdb_views"}
OPEN |= {"pragma_table_info"}

SHOW_TABLES = re.compile(r"SHOW\s+TABLES", re.IGNORECASE)
OWN_TABLES = r"SELECT name FROM (SHOW TABLES) WHERE name NOT LIKE '\_%' ESCAPE '\'"  # _: kcli's own views


class QueryError(UsageError):
    """A query that is refused, or that DuckDB can't run. why: without the word `query` in front."""

    def __init__(self, why: str) -> None:
        super().__init__(f"query: {why}")
        self.why = why


def checked(
    connection: Any, query: str, mend: Callable[[str, Any], str] = lambda query, tree: query
) -> tuple[str, str]:
    """Return (the query to run, the SELECT in it, or "" if it has no tree). Raises UsageError for a query that is not
    allowed.

    mend: returns the query to run, from the query and its tree.
    """
    found = EXPLAIN.match(query)
    kind, select = only_statement(connection, query[found.end() :] if found else query)
    if kind == "MULTI":  # it makes a type of the values that it finds, and then asks
        raise QueryError("PIVOT: name the values that become columns: ON api IN ('FETCH', 'PRODUCE')")
    if kind != "SELECT":
        problem = f"EXPLAIN of {kind}: only a SELECT is explained" if found else f"{kind} changes things or settings"
        raise QueryError(f"{problem} (a SELECT expected)")
    select = mend(select, tree_of(connection, select))
    if found is None:
        return (OWN_TABLES if SHOW_TABLES.fullmatch(select) else select), select
    words = ", ".join(dict.fromkeys(WORDS.findall(COMMENT.sub(" ", found[0]))))
    return f"EXPLAIN ({words}) {select}" if words else f"EXPLAIN {select}", ""


def only_statement(connection: Any, query: str) -> tuple[str, str]:
    """Return the type and text of the only statement. Raises UsageError if there is not exactly one."""
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise QueryError(f"{len(statements)} statements (one SELECT expected)")
    return str(statements[0].type).rpartition(".")[2], str(statements[0].query).strip().rstrip(";")


def tree_of(connection: Any, select: str) -> Any:
    """Return DuckDB's tree of a query. Raises UsageError if the query does not parse, reads settings, or runs text."""
    [(text,)] = connection.execute("SELECT json_serialize_sql(?)", [select]).fetchall()
    tree = json.loads(text)
    if tree["error"]:
        raise QueryError(str(tree["error_message"]))
    refuse_names(tree)
    return tree


def refuse_names(tree: Any) -> None:
    """Raise UsageError if a tree names a function or view that is not allowed."""
    names = {*names_in(tree)}
    if "query_table" in names:  # its arguments are names of tables
        names |= {text.rpartition(".")[2].lower() for text in texts_in(tree)}
    for name in sorted(names):
        if name not in OPEN and CLOSED.fullmatch(name):
            raise QueryError(f"{name} is refused: it shows data of this machine, or runs text as a query")


def names_in(tree: Any) -> Iterator[str]:
    """Yield the names of functions and tables in a query's tree."""
    for node in nodes_in(tree):
        if isinstance(node, dict):
            yield from (str(node[key]).lower() for key in ("function_name", "table_name") if node.get(key))


def texts_in(tree: Any) -> Iterator[str]:
    """Yield all texts in a query's tree."""
    return (node for node in nodes_in(tree) if isinstance(node, str))


def nodes_in(tree: Any) -> Iterator[Any]:
    """Yield every value in a query's tree, the tree itself first."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
