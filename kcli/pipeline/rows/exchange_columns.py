"""Converts the core's columns for Parquet: the rows of `exchanges`."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy

from kcli.pipeline.rows.origins import Origins
from kcli.pipeline.tables import TABLES
from kcli.pipeline.writing import stored_schema, written_schema
from kcli.tables.arrays import integers
from kcli.tables.exchanges import LEADING_COLUMNS, ExchangeArrays, arrays_of, names_of

DAY_NS = 86_400_000_000_000

Dated = tuple[str, int, Any, bool]  # table, day since 1970, record batch, whether its topics lack names


class ExchangeColumns:
    """The columns of `ExchangeRows.take_columns` as Arrow arrays. name_of: returns the name of an API by its number.
    fields: the fields of messages for which `ExchangeRows` was asked.
    """

    def __init__(
        self,
        taken: dict[str, Any],
        name_of: Callable[[int], str | None],
        fields: Sequence[str] = (),
        origins: Origins | None = None,
    ) -> None:
        """Keep the columns. origins: makes the columns of ORIGIN; None: the tables lack them."""
        self.taken, self.origins = taken, origins
        self.made = ExchangeArrays(taken, name_of, None, fields)
        self.rows = self.made.rows
        self.found: dict[str, Any] = {}  # the columns made so far
        self.days = self.rows.ts // DAY_NS
        self.nameless = numpy.zeros(self.rows.count, bool)  # rows with a topic id whose name is unknown
        self.nameless[numpy.frombuffer(taken["nameless"], numpy.int32)] = True

    def batches(self) -> Iterator[Dated]:
        """Yield the batches of `exchanges`."""
        yield from apart("exchanges", self.batch, self.days, self.nameless)

    @cached_property
    def batch(self) -> Any:
        """All rows in one batch."""
        import pyarrow

        arrays = self.arrays(*TABLES["exchanges"].names)
        return pyarrow.record_batch([*arrays, *self.origin], schema=self.schema("exchanges"))

    @cached_property
    def origin(self) -> list[Any]:
        """The columns that say where the rows come from."""
        return [] if self.origins is None else self.origins.arrays(self.rows, self.taken["links"])

    def schema(self, table: str) -> Any:
        """Return the schema of a table of exchanges or of their parts."""
        return stored_schema(table) if self.origins is None else written_schema(table)

    @cached_property
    def leading_columns(self) -> list[Any]:
        """The columns that all tables of exchanges begin with."""
        return self.arrays(*names_of(LEADING_COLUMNS))

    def arrays(self, *names: str) -> list[Any]:
        """Return columns of `exchanges` by name. Several tables have the same ones, which are made once."""
        missing = [name for name in names if name not in self.found]
        self.found.update(zip(missing, arrays_of(self.made, missing, stored_schema("exchanges")), strict=True))
        return [self.found[name] for name in names]


def apart(table: str, batch: Any, days: Any, nameless: Any) -> Iterator[Dated]:
    """Yield the rows of a batch in one batch for each day; rows that lack topic names are in separate batches."""

    kinds = days * 2 + nameless
    if kinds.min() == kinds.max():
        yield table, int(days[0]), batch, bool(nameless[0])
        return
    for kind in numpy.unique(kinds).tolist():
        yield table, kind >> 1, batch.filter(integers(kinds == kind, "bool")), bool(kind & 1)
