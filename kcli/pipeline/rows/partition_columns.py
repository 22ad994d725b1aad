"""Converts the core's columns of partitions into record batches of the tables about partitions."""

from collections.abc import Container, Iterator, Mapping
from typing import Any

from kcli.capture.tables.partition_tables import PARTITION_TABLES, Exchanges
from kcli.pipeline.rows.exchange_columns import Dated, ExchangeColumns, apart
from kcli.tables.arrays import rows_at


class PartitionColumns:
    """The partitions of the exchanges in `columns`."""

    def __init__(self, columns: ExchangeColumns, chosen: Mapping[str, Container[str]] | None = None) -> None:
        """Take exchanges. chosen: the columns wanted, by table; tables not in it get all their columns."""
        self.columns, self.chosen = columns, chosen or {}
        self.exchanges = Exchanges(columns.taken, columns.leading_columns, columns.rows.version)

    def batches(self, wanted: Container[str], *, by_day: bool = True) -> Iterator[Dated]:
        """Yield the batches of each wanted table that has rows, by day or in one batch. wanted: names of tables."""
        for table, index, batch in self.tables(wanted):
            if by_day:
                yield from apart(table, batch, self.columns.days[index], self.columns.nameless[index])
            else:
                yield table, -1, batch, False

    def tables(self, wanted: Container[str]) -> Iterator[tuple[str, Any, Any]]:
        """Yield (table, for each row the number of its exchange, record batch) for each wanted table that has rows."""
        import pyarrow

        for name, table in PARTITION_TABLES.items():
            if name in wanted and (rows := table.rows(self.exchanges)).count:
                if name in self.chosen:
                    table = table.of(self.chosen[name])
                    yield name, rows.row, pyarrow.record_batch(table.arrays(rows, self.exchanges), names=table.names)
                    continue
                arrays = table.arrays(rows, self.exchanges)
                origin = [rows_at(each, rows.row) for each in self.columns.origin]
                yield name, rows.row, pyarrow.record_batch([*arrays, *origin], schema=self.columns.schema(name))
