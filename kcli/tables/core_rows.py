"""Rows of numbers from the core, read by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class CoreRows:
    """Rows of int64 whose columns are attributes; each column is copied when it is first read."""

    def __init__(self, columns: Sequence[str], values: Any, mask: Any = None) -> None:
        """Hold rows. values: int64, shape (rows, columns). mask: selects rows; None for all."""
        self.columns, self.values, self.mask = columns, values, mask
        self.count = len(values) if mask is None else int(mask.sum())

    @classmethod
    def of(cls, taken: dict[str, Any], kind: str) -> CoreRows:
        """Return the rows of a kind. taken: from `ExchangeRows.take_columns`."""
        import numpy

        from kcli.core.columns.exchange_columns import ROW_COLUMNS

        columns = ROW_COLUMNS[kind]
        return cls(columns, numpy.frombuffer(taken[kind], numpy.int64).reshape(-1, len(columns)))

    def __getattr__(self, name: str) -> Any:
        column = self.column(name)
        made = self.__dict__[name] = column.copy() if self.mask is None else column
        return made

    def column(self, name: str) -> Any:
        """Return a column for a caller that copies it to another type. It is a view of the values if all rows are
        selected.
        """
        column = self.values[:, self.columns.index(name.rstrip("_"))]
        return column if self.mask is None else column[self.mask]

    def where(self, mask: Any) -> CoreRows:
        """Return the rows that a mask selects."""
        if mask.all():
            return self
        whole = mask
        if self.mask is not None:
            whole = self.mask.copy()
            whole[whole] = mask
        return CoreRows(self.columns, self.values, whole)
