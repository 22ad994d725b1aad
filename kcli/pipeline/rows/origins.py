"""The columns that tell where rows come from: the capture, its host and cluster, and the run that read it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kcli.capture.io.file_marks import UNKNOWN, FileMarks
from kcli.errors import UsageError
from kcli.pipeline.storage import split_query
from kcli.tables.arrays import integers, numbered, strings
from kcli.tables.core_rows import CoreRows

GROUPS = ("cluster", "host")  # groups of the pattern, in the order of the columns


def origin_pattern(text: str | None) -> re.Pattern[str] | None:
    """Compile the pattern that finds host and cluster in the path of a capture. Raises UsageError if it is not
    valid.
    """
    if text is None:
        return None
    try:
        made = re.compile(text)
    except re.error as error:
        raise UsageError(f"--origin {text}: {error} (a regular expression expected)") from None
    if made.groupindex.keys().isdisjoint(GROUPS):
        raise UsageError(f"--origin {text}: it has no group named host or cluster, as in '(?P<host>[^/]+)/[^/]+$'")
    return made


def named_in(uri: str, pattern: re.Pattern[str] | None) -> tuple[str | None, str | None]:
    """Return the cluster and the host that a capture's path names."""
    found = None if pattern is None else pattern.search(split_query(uri)[0])
    groups = {} if found is None else found.groupdict()
    return groups.get("cluster"), groups.get("host")


class Origins:
    """Knows the capture of each row when several captures are read as one. run: the number of the run, if there is one.
    pattern: see `origin_pattern`. kept: connections of an earlier run, as "server-client", and the times (ns) of
    their last packets in it: requests up to then are of its captures.
    """

    def __init__(self, run: int | None, pattern: str | None = None) -> None:
        self.run, self.pattern = run, origin_pattern(pattern)
        self.marks = FileMarks()
        self.of_files: list[tuple[list[str | None], Any]] = []
        self.kept: Mapping[str, int] = {}

    def begin(self, captures: Sequence[str]) -> None:
        """Take the URIs of the captures, in the order of their numbers."""
        import numpy

        found: list[tuple[str | None, ...]] = [(*named_in(uri, self.pattern), uri) for uri in captures]
        self.values = found or [(None,) * 3]
        for values in zip(*self.values, strict=True):  # a dictionary has each value once
            places: dict[str | None, int] = {}
            of_file = numpy.array([places.setdefault(value, len(places)) for value in values])
            self.of_files.append(([*places], of_file))

    def row(self) -> tuple[Any, ...]:
        """Return the values for a row of the current capture, in the order of the columns."""
        return (*self.values[self.marks.number], self.run)

    def event(self, microseconds: int) -> tuple[Any, ...]:
        """Return these values for an event at that time."""
        return (*self.values[self.marks.at(microseconds)], self.run)

    def arrays(self, rows: CoreRows, links: tuple[Any, Any]) -> list[Any]:
        """Return the columns for the next rows of exchanges. links: their connections, see `strings`."""
        import numpy

        count, numbers = rows.count, self.marks.completed(rows.count)
        *places, (names, of_file) = self.of_files
        texts = [numbered(values, at[numbers]).dictionary() for values, at in places]
        files = self.marks.numbers(rows)
        if self.kept:
            unanswered = numpy.flatnonzero(rows.response_bytes < 0)
            ends = numpy.array([self.kept.get(each, -1) for each in strings(links).to_pylist()])
            files[unanswered[rows.ts[unanswered] <= ends[rows.link[unanswered]]]] = UNKNOWN
        of_file = numpy.append(of_file, len(names))  # a file of an earlier run: UNKNOWN takes the last of them
        texts.append(numbered([*names, None], of_file[files]).dictionary())
        known = self.run is not None
        runs = integers(numpy.full(count, self.run if known else 0), "int64", numpy.full(count, not known))
        return [*texts, runs]
