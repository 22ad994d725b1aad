"""A table as a stream: columns as the table has them, errors where they belong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kcli.errors import InputError, UsageError
from kcli.sql.scans import Scan

pyarrow = pytest.importorskip("pyarrow")
SCHEMA = pyarrow.schema([("a", pyarrow.int64()), ("b", pyarrow.string())])


def source(*batches: Any, error: InputError | None = None) -> Any:
    def made(_wanted: frozenset[str]) -> Iterator[Any]:
        yield from batches
        if error is not None:
            raise error

    return made


def rows(scan: Scan) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pyarrow.RecordBatchReader.from_stream(scan).read_all().to_pylist()
    return found


def test_each_reading_begins_anew_and_columns_are_fitted() -> None:
    one = pyarrow.record_batch({"b": pyarrow.array(["x"]).dictionary_encode(), "c": [1]})
    two = pyarrow.record_batch({"a": pyarrow.array([7], pyarrow.int8())})
    scan = Scan("t", SCHEMA, [source(one), source(two)])
    for _ in range(2):
        assert rows(scan) == [{"t.a": None, "t.b": "x"}, {"t.a": 7, "t.b": None}]
    scan.wanted = frozenset({"a"})
    assert rows(scan) == [{"t.a": None, "t.b": None}, {"t.a": 7, "t.b": None}]


def test_what_is_wrong_with_one_input_ends_it_alone() -> None:
    good = pyarrow.record_batch({"a": [1]})
    scan = Scan("t", SCHEMA, [source(good, error=InputError("bad")), source(good)])
    assert len(rows(scan)) == 2 and [str(each) for each in scan.failures] == ["bad"]
    odd = pyarrow.record_batch({"a": ["text"]})
    scan = Scan("t", SCHEMA, [source(odd), source(good)])
    assert len(rows(scan)) == 1
    assert "a column of string where int64 is expected" in str(scan.failures[0])


def test_standard_input_is_read_once() -> None:
    scan = Scan("t", SCHEMA, [source()], once=True)
    assert rows(scan) == []
    with pytest.raises(Exception, match="standard input can be read once"):
        rows(scan)
    assert isinstance(scan.failures[0], UsageError)
