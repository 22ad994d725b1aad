"""Rows of files that take turns."""

from __future__ import annotations

import pytest

from kcli.capture.io.file_marks import FileMarks


def test_each_row_has_the_file_that_was_read_when_it_came() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    marks = FileMarks()
    for number, row in ((0, 0), (1, 2), (0, 2), (1, 3)):
        marks.enter(number, row)
    assert marks.number == 1 and marks.numbers(4).tolist() == [0, 0, 0, 1]
    assert marks.column(["a", "b"], 5).array(pyarrow.string()).to_pylist() == ["a", "a", "a", "b", "b"]
    marks.restart()
    few = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    found = marks.column(["a", "b"], 2).array(few)
    assert (found.type, found.to_pylist()) == (few, ["b", "b"])
