"""Captures into the pipeline's tables in this process: one pass over the files, rows to Parquet in a folder."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from kcli.capture.arrays import batch_of_columns
from kcli.capture.filters import ALL, Filter
from kcli.core import COMPILED
from kcli.pipeline.row_source import RowSource
from kcli.pipeline.writing import ROWS, TableWriter, stored_schema

__all__ = ["USED", "TableBuilder"]

# The tables and facts that the report reads.
USED = frozenset({
    "exchange_facts", "record_batches", "down_conversions", "undecodable", "client_uses", "outcomes", "topic_names",
    "tcp_connections",
})  # fmt: skip


class TableBuilder(RowSource):
    """Captures whose rows go to `folder`, as table/[date=.../]name.parquet. options: as for `CaptureDecoder`."""

    def __init__(self, paths: Sequence[str], folder: str, chosen: Filter = ALL, **options: Any) -> None:
        self.writer = TableWriter(folder, "report")
        self.ended: tuple[list[Any], ...] = ([], [], [])  # columns of `tcp_connections`
        columns = self.put_columns if COMPILED else None
        super().__init__(self.put, USED, columns, paths, chosen=chosen, **options)

    def put(self, table: str, row: tuple[Any, ...]) -> None:
        """Write a row of a table that is used."""
        if table in USED:
            self.writer.put(table, row)

    def connection_ended(self, connection: str, round_trip: int, retransmissions: int) -> None:
        """Write what TCP says of a connection. round_trip: ns, -1: not known."""
        for column, value in zip(
            self.ended, (connection, round_trip / 1e6 if round_trip >= 0 else None, retransmissions), strict=True
        ):
            column.append(value)
        if len(self.ended[0]) >= ROWS:
            self.write_ended()

    def write_ended(self) -> None:
        """Write what TCP said of connections since this was last done."""
        if self.ended[0]:
            batch = batch_of_columns(self.ended, stored_schema("tcp_connections"))
            self.writer.put_batch("tcp_connections", -1, batch)
            self.ended = [], [], []

    def put_columns(self, table: str, day: int, batch: Any, nameless: bool) -> None:
        """The same for rows that are columns already."""
        if table in USED:
            self.writer.put_batch(table, day, batch, nameless)

    @property
    def built(self) -> bool:
        """Whether there are rows of exchanges or events."""
        return bool(self.rows.exchanges or self.rows.events)

    def read(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """Read the files piece by piece, and finish the tables. InputError at the end for damaged files."""
        try:
            yield from super().read(moved)
        finally:
            self.flush(last=True)
            self.rows.finish()
            self.write_ended()
            self.writer.close()
