"""Statistics of a Parquet file as Delta keeps them: readers pass over files by the least and greatest values."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from kcli.calendar import EPOCH, moment_text
from kcli.jsontext import dumps


def stats_of(metadata: Any, names: Collection[str]) -> str:
    """Return the statistics of columns, as JSON. metadata: pyarrow's FileMetaData."""
    made: dict[str, Any] = {"numRecords": metadata.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    for number in range(metadata.num_columns):
        column = metadata.schema.column(number)
        name, is_time = column.path, column.logical_type.type == "TIMESTAMP"
        parts = [group.column(number).statistics for group in groups if group.num_rows]
        if name in names and parts:
            made["minValues"][name] = value(min(each.min_raw for each in parts), is_time)
            made["maxValues"][name] = value(max(each.max_raw for each in parts), is_time)
            made["nullCount"][name] = 0
    return dumps(made)


def value(given: Any, is_time: bool) -> Any:
    """Return a value as JSON has it, out of Parquet's: pyarrow's own makes times with pandas, which it imports for it.

    is_time: it is microseconds since 1970.
    """
    if is_time:
        return f"{moment_text(EPOCH + timedelta(microseconds=given))}Z"
    return given.decode() if isinstance(given, bytes) else given
