"""Records the file of each row of a record batch, while several captures are read as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcli.tables.arrays import Among, texts


class FileMarks:
    """The rows of the next batch at which the file changes. Files have numbers, from 0."""

    def __init__(self) -> None:
        self.marks: list[tuple[int, int]] = [(0, 0)]  # (row, the file's number from there on)

    @property
    def number(self) -> int:
        """The number of the current file."""
        return self.marks[-1][1]

    def enter(self, number: int, row: int) -> None:
        """Note that the rows from `row` on belong to this file."""
        if number != self.marks[-1][1]:
            self.marks.append((row, number))

    def column(self, names: Sequence[str], count: int) -> Among:
        """Return a column with the file of each row of the batch. names: of the files."""
        return Among(texts(names), self.numbers(count))

    def numbers(self, count: int) -> Any:
        """Return the number of each row's file, as a numpy.ndarray."""
        import numpy

        starts, numbers = (numpy.array(each) for each in zip(*self.marks, strict=True))
        return numbers[numpy.searchsorted(starts, numpy.arange(count), side="right") - 1]

    def restart(self) -> None:
        """Begin a new batch."""
        self.marks = [(0, self.marks[-1][1])]
