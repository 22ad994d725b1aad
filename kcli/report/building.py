"""Captures into the pipeline's tables in this process: one pass over the files, rows to Parquet in a folder."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from kcli.core import COMPILED
from kcli.pipeline.decoding import RowSource
from kcli.pipeline.writing import TableWriter

__all__ = ["USED", "TableBuilder"]

# The tables and facts that the report reads.
USED = frozenset({
    "exchanges", "record_batches", "down_conversions", "undecodable", "client_uses", "outcomes", "topic_names",
})  # fmt: skip


class TableBuilder(RowSource):
    """Captures whose rows go to `folder`, as table/[date=.../]name.parquet. options: as for `CaptureDecoder`."""

    def __init__(self, paths: Sequence[str], folder: str, **options: Any) -> None:
        self.writer = TableWriter(folder, "report")
        super().__init__(self.put, USED, self.put_columns if COMPILED else None, paths, **options)

    def put(self, table: str, row: tuple[Any, ...]) -> None:
        """Write a row of a table that is used."""
        if table in USED:
            self.writer.put(table, row)

    def put_columns(self, table: str, day: int, batch: Any, nameless: bool) -> None:
        """The same for rows that are columns already."""
        if table in USED:
            self.writer.put_batch(table, day, batch, nameless)

    def read(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """Read the files piece by piece, and finish the tables. InputError at the end for damaged files."""
        try:
            yield from super().read(moved)
        finally:
            self.flush(last=True)
            self.rows.finish()
            self.writer.close()
