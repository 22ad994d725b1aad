"""`stats --jobs`: the sum of counts from several processes.

Each process counts the exchanges of its share of the connections and reports its counts at the end. If the sum would
exceed a bound (see MOST_GROUPS), one process counts again, alone.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.parallel.shared_reading import SharedReading, TooMuchSharedError
from kcli.capture.parallel.worker import Counts
from kcli.capture.statistics import MOST_CONNECTIONS, MOST_GROUPS, Figures, LinkTcp, StatisticsSink, joined

Group = tuple[tuple[Any, ...] | None, Figures]


class Made(NamedTuple):
    """The counts of a process."""

    groups: list[Group]
    tcp: dict[str, LinkTcp]
    counts: Counts


class SharedStatistics(SharedReading):
    """Statistics counted by several processes."""

    capture: CaptureDecoder[StatisticsSink]

    def read(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """Read the files, as `CaptureDecoder.read` does. Also raises InputError if another process ended early."""
        if "file" in self.capture.sink.by:  # a worker process does not know the file of its connections
            yield from self.capture.read(moved)
            return
        try:
            yield from self.read_together(lambda text: None, moved)
        except TooMuchSharedError:
            self.capture.begin()
            yield from self.capture.read(moved)

    def result(self) -> Made:
        """Return the counts of this process."""
        sink = self.capture.sink
        return Made([*sink.counted(), *sink.groups.items()], sink.tcp, self.share_counts)

    def conclude(self, results: Sequence[Made]) -> None:
        """Add the counts of other processes.

        Raises TooMuchSharedError if the sum would exceed a bound; then nothing was added.
        """
        all_made = [self.result(), *results]
        groups = [group for made in all_made for group in made.groups]
        connections = {name for made in all_made for name in made.tcp}
        if (
            len({key for key, _ in groups}) > MOST_GROUPS
            or len(connections) > MOST_CONNECTIONS
            or any(None in figures.codes for _, figures in groups)
        ):
            raise TooMuchSharedError
        sink = self.capture.sink
        for made in results:
            sink.added += made.groups
            for connection, tcp in made.tcp.items():
                known = sink.tcp.get(connection)
                sink.tcp[connection] = tcp if known is None else joined((known, tcp))
            self.include(made.counts)
