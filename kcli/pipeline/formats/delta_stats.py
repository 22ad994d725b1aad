"""Statistics of a Parquet file as Delta keeps them: readers pass over files by the least and greatest values."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from kcli.jsontext import dumps


def stats_of(metadata: Any, names: Collection[str]) -> str:
    """Return the statistics of columns, as JSON. metadata: pyarrow's FileMetaData."""
    made: dict[str, Any] = {"numRecords": metadata.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    for number in range(metadata.num_columns):
        name = metadata.schema.column(number).path
        parts = [group.column(number).statistics for group in groups if group.num_rows]
        if name in names and parts:
            made["minValues"][name] = value(min(each.min for each in parts))
            made["maxValues"][name] = value(max(each.max for each in parts))
            made["nullCount"][name] = 0
    return dumps(made)


def value(given: Any) -> Any:
    """Return a value as JSON has it."""
    return f"{given:%Y-%m-%dT%H:%M:%S.%f}Z" if isinstance(given, datetime) else given
