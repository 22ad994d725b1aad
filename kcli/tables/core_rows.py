"""Rows of numbers from the core, read by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

ROWS = 1024  # rows that are turned at once: they stay in the processor's cache


def turned(rows: Any) -> list[Any]:
    """Return int64 numbers of shape (rows, columns) by column, each an array of its own. To copy one whole column after
    the other would read the memory of all rows each time.
    """
    import numpy

    columns = [numpy.empty(len(rows), numpy.int64) for _ in range(rows.shape[1])]
    for first in range(0, len(rows), ROWS):
        for column, values in zip(columns, rows[first : first + ROWS].T, strict=True):
            column[first : first + ROWS] = values
    return columns


class CoreRows:
    """Rows of int64 whose columns are attributes."""

    def __init__(self, columns: Sequence[str], values: Sequence[Any], mask: Any = None) -> None:
        """Hold rows. values: arrays of int64, by column. mask: selects rows; None for all."""
        self.columns, self.values, self.mask = columns, values, mask
        self.count = len(values[0]) if mask is None else int(mask.sum())

    @classmethod
    def of(cls, taken: dict[str, Any], kind: str) -> CoreRows:
        """Return the rows of a kind. taken: from `ExchangeRows.take_columns`."""
        import numpy

        from kcli.core.columns.exchange_columns import ROW_COLUMNS

        columns = ROW_COLUMNS[kind]
        return cls(columns, turned(numpy.frombuffer(taken[kind], numpy.int64).reshape(-1, len(columns))))

    def __getattr__(self, name: str) -> Any:
        column = self.values[self.columns.index(name.rstrip("_"))]
        made = self.__dict__[name] = column if self.mask is None else column[self.mask]
        return made

    def where(self, mask: Any) -> CoreRows:
        """Return the rows that a mask selects."""
        if mask.all():
            return self
        whole = mask
        if self.mask is not None:
            whole = self.mask.copy()
            whole[whole] = mask
        return CoreRows(self.columns, self.values, whole)
