"""Rows of numbers as the core gives them, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Rows:
    """Rows of int64, with their columns as attributes."""

    def __init__(self, columns: Sequence[str], values: Any) -> None:
        """Hold rows. values: int64, a row for each of the columns: these are read one by one, and far more often than
        rows.
        """
        self.columns, self.values = columns, values
        self.count = values.shape[1]

    @classmethod
    def of(cls, taken: dict[str, Any], kind: str) -> Rows:
        """Copy the rows of a kind from `ExchangeRows.take_columns`, one column after the other."""
        import numpy

        from kcli.core.columns.exchange_columns import ROW_COLUMNS

        columns = ROW_COLUMNS[kind]
        rows = numpy.frombuffer(taken[kind], numpy.int64).reshape(-1, len(columns))
        return cls(columns, numpy.array(rows.T, order="C"))

    def __getattr__(self, name: str) -> Any:
        return self.values[self.columns.index(name.rstrip("_"))]

    def where(self, mask: Any) -> Rows:
        """Return the rows that a mask selects."""
        import numpy

        return self if mask.all() else Rows(self.columns, numpy.compress(mask, self.values, axis=1))
