"""`--jobs`: several processes read a capture, each with a share of the connections.

This process reads the files, deals out the TCP segments, and merges the output of all processes, one stretch of the
capture after the other; it has a share, too. If the processes would have to exchange too much, it continues alone.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from kcli.capture.parallel.worker import Share
from kcli.capture.parallel.worker_process import (
    AHEAD,
    LARGE,
    Desk,
    Helper,
    StoppedError,
    WorkerOutput,
    part_of,
    rooms_of,
)
from kcli.errors import InputError

if TYPE_CHECKING:
    from kcli.capture.decoder import CaptureDecoder

ROOM = 1 << 21  # bytes of segments in a stretch, per file
MOST_ROOM = 1 << 26
WINDOW = 8  # stretches between two checks of each process's load


class TooMuchSharedError(Exception):
    """The work can only be done by one process."""


class SharedReading(Share):
    """A capture that several processes read. jobs: the number of processes, including this one."""

    def __init__(self, capture: CaptureDecoder[Any], jobs: int) -> None:
        super().__init__(capture)
        self.jobs = jobs
        self.helpers: list[Helper] = []
        self.texts = rooms_of(LARGE)
        self.own: deque[WorkerOutput] = deque()  # this process's output for the current stretches
        self.dealt = 0  # stretches
        self.spent: list[int] = []  # processor time of each process at the last check
        self.learnt = b""  # topic names that the other processes do not have yet

    def result(self) -> Any:
        """Return the counts of this process."""
        return self.share_counts

    def conclude(self, results: Sequence[Any]) -> None:
        """Add the results of the other processes. Raises TooMuchSharedError."""
        for each in results:
            self.include(each)

    def read_together(
        self,
        write: Callable[[memoryview], Any],
        moved: Callable[[int], None],
        flush: Callable[[], None] | None = None,
    ) -> Generator[None, None, None]:
        """Read the files, and write all lines, which are valid until `flush`; yields after each stretch.

        Raises InputError for damaged files, at the end, and if another process ended early. Raises TooMuchSharedError.
        """
        from kcli.core.capture.line_merger import LineMerger
        from kcli.core.capture.segment_dealer import SegmentDealer

        self.merger, self.dealer, self.flush = LineMerger(write), SegmentDealer(self.jobs), flush
        room = min(ROOM * (2 + len(self.capture.paths)), MOST_ROOM)
        failure = None
        try:
            for _ in range(1, self.jobs):
                self.helpers.append(Helper(self.help_out, room))
            self.take_share(self.jobs, self.dealer)
            self.open_rooms()
            with contextlib.closing(self.stretches(moved)) as stretches:
                try:
                    for _ in stretches:
                        self.pass_on(last=False)
                        yield
                except InputError as error:  # all readable bytes have been read
                    failure = error
            self.pass_on(last=True)
            self.conclude([helper.result(whole=True) for helper in self.helpers])
        except (KeyboardInterrupt, GeneratorExit):
            self.conclude_early()
            raise
        finally:
            for helper in self.helpers:
                helper.stop()
        if failure is not None:
            raise failure

    def open_rooms(self) -> None:
        """Open the buffers of the next stretch: of segments for the other processes, of lines for this one."""
        self.dealer.open([helper.room for helper in self.helpers])
        self.capture.engine.order.open(self.texts[self.dealt % AHEAD])

    def pass_on(self, *, last: bool) -> None:
        """Pass on the dealt segments, and write the output for the oldest stretches, to make room for another one.
        last: this stretch is the last.
        """
        if self.dealer.full or self.capture.engine.order.exceeded:
            raise TooMuchSharedError
        large = self.put_own()
        names, self.learnt = self.learnt, b""
        for helper, size in zip(self.helpers, self.dealer.sizes(), strict=True):
            try:
                helper.deal(size, names, last=last)
            except ValueError:
                raise TooMuchSharedError from None
        self.dealt += 1
        while len(self.own) >= (1 if last or large else AHEAD):
            self.merge()
        self.open_rooms()

    def put_own(self) -> bool:
        """Keep this process's output for the current stretch; return whether it is large."""
        order, spent = self.capture.engine.order, time.process_time_ns()
        sizes = order.close()
        if sizes is None:
            order.take(lambda *part: self.own.append(WorkerOutput._make([*map(copied, part), spent, False])))
            return True
        self.own.append(part_of(self.texts[self.dealt % AHEAD], sizes, spent))
        return False

    def merge(self) -> None:
        """Write the lines of the oldest stretch. Raises TooMuchSharedError."""
        parts = [self.own.popleft(), *(helper.take() for helper in self.helpers)]
        if any(part.exceeded for part in parts):
            raise TooMuchSharedError
        learnt = self.merger.merge([part[:3] for part in parts])
        if self.flush is not None:
            self.flush()
        if learnt is None:
            raise TooMuchSharedError
        self.capture.bodies.names.take_in(learnt)
        self.learnt += learnt
        for helper in self.helpers:
            helper.let_go()
        if self.dealt % WINDOW == 0:
            before, self.spent = self.spent, [part.spent for part in parts]
            self.dealer.balance([after - each for after, each in zip(self.spent, before, strict=False)])

    def conclude_early(self) -> None:
        """Add the counts of the other processes so far."""
        results = []
        for helper in self.helpers:
            with contextlib.suppress(InputError):
                results.append(helper.result(whole=False))
        with contextlib.suppress(TooMuchSharedError):
            self.conclude([result for result in results if result is not None])

    def help_out(self, desk: Desk) -> None:
        """Read the share of a worker; the first process reports errors of the input."""
        self.take_share(self.jobs)
        order = self.capture.engine.order
        with contextlib.suppress(StoppedError):
            for stretch in desk.stretches(order):
                self.capture.bodies.names.take_in(stretch.names)
                self.receive_dealt(stretch.segments, last=stretch.last)
                desk.put(order)
        self.capture.tally.add_steady(self.capture.engine)
        desk.give(self.result())


def copied(data: memoryview) -> memoryview:
    return memoryview(bytes(data))
