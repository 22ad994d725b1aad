"""Rows of files that take turns."""

from types import SimpleNamespace
from typing import Any, cast

import numpy
import pytest

from kcli.capture.io import file_marks
from kcli.capture.io.file_marks import UNKNOWN, FileMarks, FileTimes


def rows(*asked: int) -> Any:
    """Return rows of exchanges without a response by the times of their requests; below 0: they have one."""
    ts = numpy.array(asked)
    return cast(Any, SimpleNamespace(count=len(asked), ts=abs(ts), response_bytes=numpy.where(ts < 0, 40, -1)))


def test_each_row_has_the_file_that_was_read_when_it_came() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    marks = FileMarks()
    for number, row in ((0, 0), (1, 2), (0, 2), (1, 3)):
        marks.enter(number, row)
    assert marks.number == 1 and marks.numbers(rows(*range(4))).tolist() == [0, 0, 0, 1]
    assert marks.column(["a", "b"], rows(*range(5))).array(pyarrow.string()).to_pylist() == ["a", "a", "a", "b", "b"]
    marks.restart()
    few = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    found = marks.column(["a", "b"], rows(1, 2)).array(few)
    assert (found.type, found.to_pylist()) == (few, ["b", "b"])


def test_an_exchange_without_a_response_is_of_the_file_with_its_request() -> None:
    """Also where an earlier batch told of that file; what is older than all of them is of none of them."""
    pyarrow = pytest.importorskip("pyarrow")
    marks = FileMarks()
    marks.enter(0, 0, 10)
    marks.enter(1, 0, 20)
    marks.enter(2, 0, 20)  # the file before has no packet
    marks.enter(0, 0, 30)
    marks.restart()
    asked = rows(11, 20, 21, -21, 30, 31, 10)
    assert marks.numbers(asked).tolist() == [0, 0, 2, 0, 2, 0, UNKNOWN]
    found = marks.column(["a", "b", "c"], asked).array(pyarrow.string())
    assert found.to_pylist() == ["a", "a", "c", "a", "c", "a", None]


def test_of_very_many_turns_the_latest_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_marks, "MOST", 8)
    times = FileTimes()
    for turn in range(100):
        times.enter(turn % 2, 10 * turn)
        assert len(times.ends) <= 8 and len(times.numbers) == len(times.ends) + 1
    assert [times.at(ns) for ns in (995, 985, 975, 965)] == [1, 0, 1, 0] and times.at(5) == UNKNOWN
