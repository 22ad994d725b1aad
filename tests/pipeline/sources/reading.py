"""What tests of data sources share: rows, as Spark would have them read."""

from typing import Any

import pytest

pytest.importorskip("pyspark")

from kcli.pipeline.sources.file_source import FilteringReader
from kcli.pipeline.sources.table_source import TableSource, sources_of_tables

__all__ = ["SOURCES", "ExchangeSource", "read", "rows_in"]

SOURCES: dict[str, type[TableSource]] = {each.table.name: each for each in sources_of_tables()}
ExchangeSource = SOURCES["exchanges"]


def read(source: Any, *filters: Any) -> list[dict[str, Any]]:
    """All rows, as Spark would have them read."""
    reader = FilteringReader(source, [name for name, _ in source.chosen()])
    assert not list(reader.pushFilters(list(filters)))
    return rows_in(reader, reader.partitions())


def rows_in(reader: Any, parts: Any) -> list[dict[str, Any]]:
    return [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]
