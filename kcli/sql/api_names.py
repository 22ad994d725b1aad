"""API names in SQL: values compared with the column `api` may be in any spelling that options accept."""

from collections.abc import Iterator
from typing import Any

from kcli.errors import UsageError
from kcli.schemas.catalog import catalog
from kcli.sql.guard import nodes_in

COLUMN = "api"
COMPARED = ("COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM")
AMONG = ("COMPARE_IN", "COMPARE_NOT_IN")
LIKE = ("~~", "!~~")


def name_of(api: str, dialect: str | None = None) -> str:
    """Return an API's name as in the column: 'FETCH' for 'Fetch' and '1'.

    Raises UsageError if there is no such API.
    """
    known = catalog(dialect)
    found = known.api(known.api_key(api))
    return api if found is None else found.log_name


def literals(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield the literals, names and keys, that a query compares with the column or an alias of it. tree: the
    query's.
    """
    names = {COLUMN} | {
        str(node["alias"])
        for node in nodes_in(tree)
        if isinstance(node, dict) and node.get("alias") and column_of(node) == COLUMN
    }
    for node in nodes_in(tree):
        sides = compared(node) if isinstance(node, dict) else []
        if any(column_of(side) in names for side in sides):
            yield from (side for side in sides if is_literal(side))


def patterns(tree: Any) -> Iterator[str]:
    """Yield the LIKE patterns that a query compares with the column. tree: the query's."""
    for node in nodes_in(tree):
        if isinstance(node, dict) and node.get("function_name") in LIKE:
            sides = [each["expression"] for each in node.get("arguments", [])]
            if any(column_of(side) == COLUMN for side in sides):
                yield from (str(side["literal"]["text"]) for side in sides if is_literal(side))


def column_of(node: dict[str, Any]) -> str:
    """Return the name of the column in an expression; "" if it is no column."""
    return str((node.get("column_names") or [""])[-1]).lower()


def is_literal(node: dict[str, Any]) -> bool:
    """Return whether an expression is a literal: a text or an integer."""
    return (node.get("literal") or {}).get("kind") in ("STRING", "INTEGER")


def compared(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the operands of a comparison; [] for another expression."""
    if node.get("type") in COMPARED:
        return [node["left"], node["right"]]
    return list(node["children"]) if node.get("type") in AMONG else []


def with_names(query: str, tree: Any, dialect: str | None) -> tuple[str, list[str]]:
    """Return a query with its API names as in the column, and a note for each name that no API has."""
    text, notes = query.encode(), list[str]()
    places: dict[int, tuple[int, bytes]] = {}
    for each in literals(tree):
        written = str(each["literal"]["text"])
        try:
            meant = name_of(written, dialect)
        except UsageError as error:
            notes.append(str(error))
            continue
        if meant != written:
            places[each["query_location"]] = each["query_location_length"], f"'{meant}'".encode()
    for place, (length, named) in sorted(places.items(), reverse=True):
        text = text[:place] + named + text[place + length :]
    notes += [
        f"{COLUMN} LIKE '{each}': names here are like ADD_PARTITIONS_TO_TXN"
        for each in patterns(tree)
        if each != each.upper()
    ]
    return text.decode(), notes
