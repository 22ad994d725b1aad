"""`stats --jobs`: counts of several processes, added up.

The processes are forks of this one: each counts the exchanges of its share of the connections, and hands over what it
has at the end. Where a bound for all would have been met (see `Share`, MOST_GROUPS), this one counts again, alone.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from kcli.capture.shares import Counts, Share
from kcli.capture.statistics import MOST_CONNECTIONS, MOST_GROUPS, Figures, StatisticsDecoder, TcpFigures
from kcli.cli.processes import fork_to, read_packed, stop, write_packed
from kcli.errors import InputError

__all__ = ["SharedStatistics"]

Group = tuple[tuple[Any, ...] | None, Figures]


class Made(NamedTuple):
    """What a process has counted. exceeded: it held more than its part; log: the names of topics that it learnt."""

    groups: list[Group]
    tcp: dict[str, TcpFigures]
    counts: Counts
    exceeded: bool
    log: bytes


class SharedStatistics(Share, StatisticsDecoder):
    """Statistics that other processes help to make. jobs: how many there are, with this one."""

    def __init__(self, paths: Sequence[Any], by: Sequence[str], *, jobs: int, **options: Any) -> None:
        super().__init__(paths, by, **options)
        self.jobs = jobs
        self.added: list[Group] = []
        self.new_decoder = partial(StatisticsDecoder, paths, by, **options)

    def read(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """As `StatisticsDecoder.read`. InputError, too, where another process ended early."""
        helpers = [Helper(self, number) for number in range(1, self.jobs)]
        failure = None
        complete = whole = False
        try:
            self.take_share(0, self.jobs)
            try:
                yield from super().read(moved)
            except InputError as error:
                failure = error
            complete = True
        finally:
            whole = self.add([helper.finish(complete) for helper in helpers])
        if not whole:
            yield from self.read_alone(moved)
        elif failure is not None:
            raise failure

    def help(self, number: int, pipe: int) -> None:
        """Count that process's share; what is wrong with the input, the first process says."""
        stopped: list[int] = []
        signal.signal(signal.SIGUSR1, lambda number, _: stopped.append(number))
        self.take_share(number, self.jobs)
        with contextlib.suppress(InputError), contextlib.closing(super().read()) as pieces:
            for _ in pieces:
                if stopped:
                    break
        write_packed(pipe, pickle.dumps(self.made()))

    def made(self) -> Made:
        """What was counted here."""
        logs: list[bytes] = []
        self.engine.order.take(lambda _text, _marks, log: logs.append(bytes(log)))
        return Made(
            [*self.counted(), *self.groups.items()], self.tcp, self.share_counts, self.engine.order.exceeded, logs[0]
        )

    def counted(self) -> Iterator[Group]:
        """What the core has counted, here and in other processes."""
        yield from super().counted()
        yield from self.added

    def add(self, others: Sequence[Made]) -> bool:
        """Add what other processes have counted; False, and nothing is added, where one would have met a bound."""
        all_made = [self.made(), *others]
        groups = [group for made in all_made for group in made.groups]
        connections = {name for made in all_made for name in made.tcp}
        if (
            any(made.exceeded for made in all_made)
            or len({key for key, _ in groups}) > MOST_GROUPS
            or len(connections) > MOST_CONNECTIONS
            or any(None in figures.codes for _, figures in groups)
            or are_renamed(b"".join(made.log for made in all_made))
        ):
            return False
        for made in others:
            self.added += made.groups
            for connection, figures in made.tcp.items():
                known = self.tcp.get(connection)
                self.tcp[connection] = figures if known is None else known.joined(figures)
            self.bodies.names.take_in(made.log)
            self.include(made.counts)
        return True

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


def are_renamed(log: bytes) -> bool:
    """Whether a topic has more than one name."""
    known: dict[bytes, bytes] = {}
    at = 0
    while at < len(log):
        end = at + 20 + int.from_bytes(log[at + 16 : at + 20], sys.byteorder)
        if known.setdefault(log[at : at + 16], log[at + 20 : end]) != log[at + 20 : end]:
            return True
        at = end
    return False


class Helper:
    """Another process, which counts its share."""

    def __init__(self, source: SharedStatistics, number: int) -> None:
        self.pipe, pipe = os.pipe()
        self.pid = fork_to(lambda: source.help(number, pipe), [self.pipe])
        os.close(pipe)

    def finish(self, complete: bool) -> Made:
        """What it has counted; complete: of all there is, else so far. InputError: it has ended."""
        try:
            if not complete:
                os.kill(self.pid, signal.SIGUSR1)
            return cast(Made, pickle.loads(read_packed(self.pipe)))
        except BrokenPipeError:
            raise InputError("--jobs: a process ended too early") from None
        finally:
            stop(self.pid)
            os.close(self.pipe)
