"""Records the file of each row of a record batch, while several captures are read as one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kcli.input_names import unicode_name
from kcli.tables.arrays import Among, texts

if TYPE_CHECKING:
    from kcli.tables.core_rows import CoreRows

UNKNOWN = -1  # in place of a file's number
MOST = 1 << 18  # most changes of the file to keep, as captures whose times overlap change every few packets


class FileTimes:
    """The number of the file that was read at a time. Captures are read in order of time."""

    def __init__(self) -> None:
        self.ends: list[int] = []  # ns of the last packet before each change, ascending
        self.numbers = [UNKNOWN]  # the file's number up to each of these times, and after the last

    @property
    def changed(self) -> int:
        """The time (ns) of the last packet before the current file; -1: there is none."""
        return self.ends[-1] if self.ends else -1

    def enter(self, number: int, last_ns: int) -> None:
        """Note that packets after `last_ns` are those of another file."""
        self.ends.append(max(last_ns, self.changed))
        self.numbers.append(number)
        if len(self.ends) > MOST:
            self.ends, self.numbers = self.ends[MOST // 2 :], [UNKNOWN, *self.numbers[MOST // 2 + 1 :]]

    def at(self, ns: int) -> int:
        """Return the number of the file that was read at that time."""
        return self.numbers[bisect_left(self.ends, ns)]


class FileMarks:
    """The rows of the next batch at which the file changes. Files have numbers, from 0.

    An exchange without a response has its row when its connection or the capture ends; its file is the request's.
    """

    def __init__(self) -> None:
        self.marks: list[tuple[int, int]] = [(0, 0)]  # (row, the file's number from there on)
        self.times = FileTimes()

    @property
    def number(self) -> int:
        """The number of the current file."""
        return self.marks[-1][1]

    def at(self, microseconds: int) -> int:
        """Return the number of the file that was read at a time; if it is older than the changes that are kept, or
        nothing was read, the current one. An event that is found at the end of all captures is of the time, and the
        file, of its connection's last packet.
        """
        found = self.times.at(microseconds * 1000) if self.times.ends else UNKNOWN
        return self.number if found == UNKNOWN else found

    def enter(self, number: int, row: int, last_ns: int | None = None) -> None:
        """Note that the rows from `row` on belong to this file. last_ns: see FileTimes; None: no packets were read."""
        if last_ns is not None:
            self.times.enter(number, last_ns)
        if number != self.marks[-1][1]:
            self.marks.append((row, number))

    def column(self, names: Sequence[str], rows: CoreRows) -> Among:
        """Return a column with the file of each row of the batch. names: of the files."""
        numbers = self.numbers(rows)
        missing = numbers == UNKNOWN
        return Among(texts(map(unicode_name, names)), numbers, missing if missing.any() else None)

    def numbers(self, rows: CoreRows) -> Any:
        """Return the number of each row's file, as a numpy.ndarray; UNKNOWN: the row is older than the changes
        that are kept.
        """
        import numpy

        found = self.completed(rows.count)
        if self.times.ends:
            for row in numpy.flatnonzero((rows.response_bytes < 0) & (rows.ts <= self.times.changed)).tolist():
                found[row] = self.times.at(int(rows.ts[row]))
        return found

    def completed(self, count: int) -> Any:
        """Return the number of the file that was read when each row was completed, as a numpy.ndarray."""
        import numpy

        starts, numbers = zip(*self.marks, strict=True)
        return numpy.repeat(numbers, numpy.diff([*starts, count]))

    def restart(self) -> None:
        """Begin a new batch."""
        self.marks = [(0, self.marks[-1][1])]
