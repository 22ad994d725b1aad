"""Reads a share of a capture's connections in one of several processes; one process deals out the TCP segments.

Each process has its own counts of segments, its own clock of the capture, and a part of the memory limit. Topic names
that only another process knows are filled in afterwards.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, NamedTuple

from kcli.capture.counters import Tally

if TYPE_CHECKING:
    from kcli.capture.decoder import CaptureDecoder
    from kcli.core.capture.segment_dealer import SegmentDealer


class Counts(NamedTuple):
    """The counts of a process for its connections. passed: exchanges that passed the filter."""

    tally: Tally
    passed: int
    connections: int
    ignored: int
    duplicate: int
    stray: int


class Share:
    """A share of the connections of a capture without a condition."""

    def __init__(self, capture: CaptureDecoder[Any]) -> None:
        self.capture = capture
        capture.handover.secrets_met = self.exceed

    def take_share(self, count: int, dealer: SegmentDealer | None = None) -> None:
        """Take the share of one of `count` processes, before anything is read. dealer: the segment dealer of the
        process that reads the files.
        """
        self.capture.engine.share(count, dealer)

    def stretches(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """Read the files, and yield after each piece with packets, which the caller has to pass on (the end is passed
        on with the last ones). Stop if this process exceeds its part of the memory; then one process begins again.
        Raises InputError at the end for damaged files.
        """
        done, engine = 0, self.capture.engine
        with contextlib.closing(self.capture.pieces(moved)) as pieces:
            for _ in pieces:
                if engine.order.exceeded:
                    break
                if engine.wire_bytes > done:
                    done = engine.wire_bytes
                    yield

    def receive_dealt(self, segments: memoryview, *, last: bool) -> None:
        """Read segments dealt out by another process. last: the capture ends."""
        self.capture.engine.receive_dealt(segments)
        if last:
            self.capture.engine.finish()

    def exceed(self) -> None:
        """Make a single process begin again, as data decrypted with a part of a key log may contain secrets of other
        connections.
        """
        self.capture.engine.order.exceeded = True

    @property
    def share_counts(self) -> Counts:
        """The counts, once everything has been read."""
        engine, capture = self.capture.engine, self.capture
        return Counts(capture.tally, capture.passed, engine.connections, engine.ignored, engine.duplicate, engine.stray)

    def include(self, counts: Counts) -> None:
        """Add the counts of another process, after reading."""
        self.capture.tally.include(counts.tally)
        self.capture.sink.kept += counts.passed
        self.capture.engine.add_counts(*counts[2:])
