"""Filters that Spark pushes to a data source, evaluated on a row before it becomes Arrow."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "EqualTo": operator.eq,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
}


class ColumnComparison:
    """A comparison of one column with a value. It is never true for null, as in SQL."""

    def __init__(self, index: int, compare: Callable[[Any, Any], bool], value: Any) -> None:
        self.index, self.compare, self.value = index, compare, value

    def __call__(self, row: tuple[Any, ...]) -> bool:
        found = row[self.index]
        found = found.decode() if isinstance(found, bytes) and isinstance(self.value, str) else found
        return found is not None and self.compare(found, self.value)

    def of_column(self, column: Any, kind: Any) -> Any:
        """Return the comparison as a condition (pyarrow.compute.Expression) of a column of this Arrow type."""
        import pyarrow

        if self.compare is is_there:
            return column.is_valid()
        if self.compare is is_member:
            return column.isin(pyarrow.array(self.value, kind))
        return self.compare(column, pyarrow.scalar(self.value, kind))


def is_member(found: Any, values: Sequence[Any]) -> bool:
    return found in values


def is_there(found: Any, _nothing: Any) -> bool:
    return found is not None


def split(filters: Iterable[Any], columns: Sequence[str]) -> tuple[list[ColumnComparison], list[Any]]:
    """Return (filters to evaluate here, filters for Spark)."""
    tests: list[ColumnComparison] = []
    rest: list[Any] = []
    for each in filters:
        test = test_of(each, columns)
        if test is None:
            rest.append(each)
        else:
            tests.append(test)
    return tests, rest


def test_of(each: Any, columns: Sequence[str]) -> ColumnComparison | None:
    name = type(each).__name__
    path: tuple[str, ...] = getattr(each, "attribute", ())
    if len(path) != 1 or path[0] not in columns:
        return None
    index = columns.index(path[0])
    if name in COMPARISONS:
        return ColumnComparison(index, COMPARISONS[name], plain(each.value))
    if name == "In":
        return ColumnComparison(index, is_member, tuple(plain(value) for value in each.value))
    return ColumnComparison(index, is_there, None) if name == "IsNotNull" else None


def plain(value: Any) -> Any:
    """Return a time as in the rows, in microseconds since 1970; other values unchanged."""
    if isinstance(value, datetime):
        return round(value.timestamp() * 1_000_000)
    return value
