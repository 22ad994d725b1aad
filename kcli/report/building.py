"""Captures into the pipeline's tables in this process: one pass over the files, rows to Parquet in a folder."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from kcli.capture.filters import ALL, Filter
from kcli.pipeline.rows.row_source import RowSource
from kcli.pipeline.writing import TableWriter

# The tables and facts that the report reads.
USED = frozenset({
    "exchange_facts", "record_batches", "down_conversions", "undecodable", "client_uses", "outcomes", "topic_names",
    "connection_sums",
})  # fmt: skip


class TableBuilder(RowSource):
    """Captures whose rows go to `folder`, as table/[date=.../]name.parquet. options: of DecodeOptions."""

    def __init__(self, paths: Sequence[str], folder: str, chosen: Filter = ALL, **options: Any) -> None:
        self.writer = TableWriter(folder, "report")
        super().__init__(self.put, USED, self.put_columns, paths, chosen=chosen, **options)

    def put(self, table: str, row: tuple[Any, ...]) -> None:
        """Write a row of a table that is used."""
        if table in USED:
            self.writer.put(table, row)

    def put_columns(self, table: str, day: int, batch: Any, nameless: bool) -> None:
        """Write rows that are columns already."""
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
            self.writer.close()
