"""The tables of one process, and the pipeline's: one word, one type, one meaning."""

import pytest

from kcli.pipeline.tables import TABLES
from kcli.tables.captured import CAPTURED, EVENT_COLUMNS, PARQUET_COLUMNS
from kcli.tables.exchanges import EXCHANGE_COLUMNS

COLUMNS = [(table.name, column) for table in (*CAPTURED.values(), *TABLES.values()) for column in table.columns]
# Words that say two things, in tables that are older than the rule: docs/how-to/sql.md names them.
OLD = {"timestamp", "data", "bytes"}


@pytest.mark.parametrize("name", CAPTURED)
def test_each_row_knows_its_file_and_each_column_says_something(name: str) -> None:
    table = CAPTURED[name]
    assert table.name == name and "file" in table.names and len(set(table.names)) == len(table.names)
    assert all(len(column.text) > 5 for column in table.columns)


def test_one_word_has_one_type() -> None:
    kinds: dict[str, set[str]] = {}
    for _, column in COLUMNS:
        kinds.setdefault(column.name, set()).add(column.kind)
    assert {name for name, found in kinds.items() if len(found) > 1} <= OLD


def test_times_and_sizes_have_their_unit_in_the_name() -> None:
    numbers = [each for table in CAPTURED.values() for each in table.columns if " since 1970" in each.text]
    assert len(numbers) >= 2 and all(column.name.endswith(("_ms", "_ns")) for column in numbers)
    assert not {column.name for table in CAPTURED.values() for column in table.columns} & {"latency", "size"}


def test_the_pipeline_and_parquet_files_have_the_same_columns() -> None:
    pipeline = TABLES["exchanges"].columns
    assert set(pipeline) < set(EXCHANGE_COLUMNS)
    assert [each for each in EXCHANGE_COLUMNS if each in pipeline] == list(pipeline)
    assert set(PARQUET_COLUMNS) < {*EXCHANGE_COLUMNS, *EVENT_COLUMNS}
