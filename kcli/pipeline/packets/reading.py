"""Reads shuffled packets through an engine: all files of a share or a window as one, in order of time."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kcli.capture.io.capture_file import CaptureFile
from kcli.capture.io.files import FOREVER, by_time, run_source
from kcli.errors import InputError
from kcli.pipeline.packets.shuffle_files import Slice

START = -1  # a time before all packets


class Reading:
    """The packets of slices that come after a time (ns), read through an engine."""

    def __init__(self, engine: Any, new_reader: Callable[[], Any], slices: Sequence[Slice], after: int = START) -> None:
        self.engine = engine
        self.captures = [each.capture for each in slices]
        self.entered: Callable[[int], None] = pass_over
        sources = [SliceSource(each, after, new_reader) for each in slices]
        firsts = [(source.look(), number, source) for number, source in enumerate(sources)]
        self.queue = [(first, number, source) for first, number, source in firsts if first is not None]
        heapq.heapify(self.queue)

    @property
    def next_ns(self) -> int:
        """The time of the next packet; FOREVER after the last one."""
        return self.queue[0][0] if self.queue else FOREVER

    def run(self, until: int) -> None:
        """Read all packets up to a time. Raises InputError if staged files are damaged or missing."""
        for _ in self.pieces(until):
            pass

    def pieces(self, until: int = FOREVER) -> Iterator[None]:
        """Read the packets in pieces; yield after each."""
        for number, source, limit in by_time(self.queue, until):
            self.entered(number)
            failures: list[InputError] = []
            for after in run_source(source, self.engine, limit, pass_over, failures, pass_over):  # type: ignore[arg-type]
                if after is not None:
                    heapq.heappush(self.queue, (after, number, source))
                yield
            if failures:
                raise failures[0]

    def close(self) -> None:
        """Close the files that are still open."""
        for _, _, source in self.queue:
            source.close()


def pass_over(_: Any) -> None:
    """Ignore an event, an exchange or a count."""
    return


class SliceSource:
    """A slice in the form that `run_source` needs, from its first packet after a time on. It is open only while it is
    read.
    """

    def __init__(self, part: Slice, after: int, new_reader: Callable[[], Any]) -> None:
        self.path, self.part, self.after, self.new_reader = part.uri, part, after, new_reader
        self.file: CaptureFile | None = None
        self.reader: Any = None

    def look(self) -> int | None:
        """Return the time (ns) of the first packet; None if there is none."""
        try:
            return self.begin()[1]
        finally:
            self.close()

    def opened(self) -> CaptureFile:
        return self.file if self.file is not None else self.begin()[0]

    def begin(self) -> tuple[CaptureFile, int | None]:
        self.file, self.reader = file, reader = self.part.open(self.new_reader)
        while True:
            used, first = reader.skip(file.data, self.after)
            file.use(used)
            if reader.problem is not None:
                raise InputError(reader.problem, file=self.path)
            if first is not None or not file.fill():
                return file, first

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None
