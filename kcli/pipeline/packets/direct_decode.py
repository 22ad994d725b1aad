"""Decodes captures in one task, both stages at once."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from kcli.capture.io.capture_file import CaptureFile
from kcli.capture.io.files import FOREVER, FileCursor, by_time, run_source
from kcli.errors import InputError
from kcli.pipeline.packets.decoding import Decoded, DecodingOptions, Portion, decode
from kcli.pipeline.packets.kept_state import WHOLE, Kept
from kcli.pipeline.packets.ranges import Range, RangeFile
from kcli.pipeline.packets.reading import pass_over
from kcli.pipeline.packets.shuffle import ShuffledRange, problem_text
from kcli.pipeline.storage import StoredFile

COUNTS = ("packets", "others", "cuts", "fragments", "unknown_links", "payload")
counts_of: Callable[[Any], tuple[int, ...]] = attrgetter(*COUNTS)


@dataclass(frozen=True, slots=True)
class DirectDecode:
    """The connections of some files, and those that an earlier run kept. open_file: opens a file by its path."""

    files: tuple[StoredFile, ...]
    kept: Kept = WHOLE
    open_file: Callable[[Any], CaptureFile] = RangeFile

    def decode(self, folder: str, options: DecodingOptions) -> tuple[Decoded, list[ShuffledRange]]:
        """Decode the files. Returns the decoded tables, and the result for each file."""
        found: list[CombinedCaptures] = []

        def reading(engine: Any, new_reader: Callable[[], Any]) -> CombinedCaptures:
            found.append(CombinedCaptures(self.files, engine, new_reader, self.open_file))
            return found[0]

        made = decode(Portion(0, reading, carried=self.kept.read()), folder, options)
        return made, found[0].scattered


class CombinedCaptures:
    """Captures read through one engine as if they were one file, in order of time; each has its own counts."""

    def __init__(
        self,
        files: Sequence[StoredFile],
        engine: Any,
        new_reader: Callable[[], Any],
        open_file: Callable[[Any], CaptureFile] = RangeFile,
    ) -> None:
        self.engine = engine
        self.captures = [file.uri for file in files]
        self.entered: Callable[[int], None] = pass_over
        self.scattered = [ShuffledRange(Range(file.uri, file.size), 0, 0, [], [], None) for file in files]
        self.queue: list[tuple[int, int, FileCursor]] = []
        for number, file in enumerate(files):
            try:
                source = FileCursor(file.uri, number, new_reader, open_file)
                self.queue.append((source.first, number, source))
            except (InputError, OSError) as error:
                self.note(number, error)
        heapq.heapify(self.queue)

    def note(self, number: int, error: InputError | OSError) -> None:
        """Record an error of a file; the other files are still read."""
        made = self.scattered[number]
        why = problem_text(error, made.part.uri)
        made.problem = f"{made.problem}; {why}" if made.problem else why

    @property
    def next_ns(self) -> int:
        """The time (ns) of the next packet; FOREVER after the last one."""
        return min((first for first, _, _ in self.queue if first), default=FOREVER)

    def run(self, until: int = FOREVER) -> None:
        """Read all packets up to a moment (ns)."""
        for number, source, limit in by_time(self.queue, until):
            self.entered(number)
            made, before = self.scattered[number], counts_of(self.engine)
            self.engine.since(made.first_ns, made.last_ns)
            try:
                self.read(number, source, limit)
            except OSError as error:
                self.note(number, error)
            finally:
                self.count(made, before)
        self.engine.since(0, max((each.last_ns for each in self.scattered), default=0))

    def read(self, number: int, source: FileCursor, limit: int) -> None:
        """Read a file up to a moment (ns)."""
        failures: list[InputError] = []
        for after in run_source(source, self.engine, limit, self.scattered[number].events.append, failures, pass_over):
            if after is not None:
                heapq.heappush(self.queue, (after, number, source))
        for error in failures:
            self.note(number, error)

    def count(self, made: ShuffledRange, before: tuple[int, ...]) -> None:
        """Add what the engine counted since `before` to this file's counts: several files take turns, packet by
        packet.
        """
        for name, was, now in zip(COUNTS, before, counts_of(self.engine), strict=True):
            if now != was:
                setattr(made, name, getattr(made, name) + now - was)
        made.tcp = made.packets - made.others - made.cuts - made.fragments - made.unknown_links
        made.first_ns, made.last_ns = self.engine.earliest, self.engine.latest

    def close(self) -> None:
        """Close the files that are still open."""
        for _, _, source in self.queue:
            source.close()
