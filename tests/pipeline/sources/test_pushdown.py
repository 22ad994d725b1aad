"""Filters of Spark's, judged here."""

from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("pyspark")
from pyspark.sql import datasource as spark_filters

from kcli.pipeline.sources.file_source import split

COLUMNS = ("name", "size", "when")
ROWS: list[tuple[Any, ...]] = [("a", 1, 10_000_000), (b"b", 2, 20_000_000), (None, 3, 30_000_000)]


@pytest.mark.parametrize(
    ("filter_", "kept"),
    [
        (spark_filters.EqualTo(("name",), "b"), [1]),
        (spark_filters.In(("size",), (1, 3)), [0, 2]),
        (spark_filters.GreaterThan(("size",), 1), [1, 2]),
        (spark_filters.LessThanOrEqual(("size",), 2), [0, 1]),
        (spark_filters.IsNotNull(("name",)), [0, 1]),
        (spark_filters.GreaterThanOrEqual(("when",), datetime.fromtimestamp(20, UTC)), [1, 2]),
    ],
)
def test_filters_are_judged_on_rows(filter_: Any, kept: list[int]) -> None:
    (test,), rest = split([filter_], COLUMNS)
    assert not list(rest)
    assert [number for number, row in enumerate(ROWS) if test(row)] == kept


def test_what_is_not_understood_is_left_to_spark() -> None:
    unknown = [spark_filters.Not(spark_filters.IsNull(("name",))), spark_filters.EqualTo(("name", "deep"), 1)]
    tests, rest = split(unknown, COLUMNS)
    assert (tests, rest) == ([], unknown)
