"""`stats --jobs`: counts of several processes, added up.

Each counts the exchanges of its share of the connections, and says in the end what it has. Where a bound for all would
have been met (see MOST_GROUPS), one process counts again, alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from kcli.capture.parallel.shared_reading import SharedReading, TooMuchSharedError
from kcli.capture.parallel.worker import Counts
from kcli.capture.statistics import MOST_CONNECTIONS, MOST_GROUPS, Figures, StatisticsDecoder, TcpFigures

Group = tuple[tuple[Any, ...] | None, Figures]


class Made(NamedTuple):
    """What a process has counted."""

    groups: list[Group]
    tcp: dict[str, TcpFigures]
    counts: Counts


class SharedStatistics(SharedReading, StatisticsDecoder):
    """Statistics that other processes help to make."""

    def __init__(self, paths: Sequence[Any], by: Sequence[str], *, jobs: int, **options: Any) -> None:
        super().__init__(paths, by, jobs=jobs, **options)
        self.added: list[Group] = []
        self.new_decoder = partial(StatisticsDecoder, paths, by, **options)

    def read(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """As `StatisticsDecoder.read`. InputError, too, where another process ended early."""
        try:
            yield from self.read_together(lambda text: None, moved)
        except TooMuchSharedError:
            yield from self.read_alone(moved)

    def result(self) -> Made:
        """What was counted here."""
        return Made([*self.counted(), *self.groups.items()], self.tcp, self.share_counts)

    def counted(self) -> Iterator[Group]:
        """What the core has counted, here and in other processes."""
        yield from super().counted()
        yield from self.added

    def conclude(self, results: Sequence[Made]) -> None:
        """Add what other processes have counted; TooMuchSharedError, and nothing is added, where one would have met a
        bound."""
        all_made = [self.result(), *results]
        groups = [group for made in all_made for group in made.groups]
        connections = {name for made in all_made for name in made.tcp}
        if (
            len({key for key, _ in groups}) > MOST_GROUPS
            or len(connections) > MOST_CONNECTIONS
            or any(None in figures.codes for _, figures in groups)
        ):
            raise TooMuchSharedError
        for made in results:
            self.added += made.groups
            for connection, figures in made.tcp.items():
                known = self.tcp.get(connection)
                self.tcp[connection] = figures if known is None else known.joined(figures)
            self.include(made.counts)

    def read_alone(self, moved: Callable[[int], None]) -> Generator[None, None, None]:
        """Count everything here."""
        decoder = self.new_decoder()
        try:
            yield from decoder.read(moved)
        finally:
            self.engine, self.tally, self.kept, self.bodies = (
                decoder.engine,
                decoder.tally,
                decoder.kept,
                decoder.bodies,
            )
            self.groups, self.counts, self.tcp, self.added = decoder.groups, decoder.counts, decoder.tcp, []
