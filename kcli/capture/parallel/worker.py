"""Captures that several processes read: one deals the TCP segments out, and each reads its share of the connections.

What concerns all connections each process counts for itself: the segments, and the capture's clock. Of what they may
hold, each has its part. Topics' names are put in afterwards, where only another process knew them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, NamedTuple

from kcli.capture.counters import Tally
from kcli.capture.decoder import CaptureDecoder

if TYPE_CHECKING:
    from kcli.core.capture.segment_dealer import SegmentDealer


class Counts(NamedTuple):
    """What a process has counted of its connections. passed: exchanges that the filter wanted."""

    tally: Tally
    passed: int
    connections: int
    ignored: int
    duplicate: int
    stray: int


class Share(CaptureDecoder):
    """A share of a capture's connections; the core is built, and there is no condition."""

    def take_share(self, count: int, dealer: SegmentDealer | None = None) -> None:
        """Be one of `count` processes; to be called before anything is read. dealer: of whoever reads the files."""
        self.engine.share(count, dealer)

    def stretches(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """Read the files; yields after each piece of them with packets, which are then to be passed on (the end is
        passed on with the last ones), and ends where this process holds more than its part: one begins again.

        InputError at the end for damaged files.
        """
        done = 0
        with contextlib.closing(super().read(moved)) as pieces:
            for _ in pieces:
                if self.engine.order.exceeded:
                    break
                if self.engine.wire_bytes > done:
                    done = self.engine.wire_bytes
                    yield

    def receive_dealt(self, segments: memoryview, *, last: bool) -> None:
        """Take in what another process has dealt out. last: the capture ends."""
        self.engine.receive_dealt(segments)
        if last:
            self.engine.finish()

    def add_secrets(self, block: bytes) -> None:
        """Take in a part of a key log: what it decrypts may tell secrets of other connections."""
        self.engine.order.exceeded = True
        super().add_secrets(block)

    @property
    def share_counts(self) -> Counts:
        """What was counted, when all was read."""
        engine = self.engine
        return Counts(self.tally, self.passed, engine.connections, engine.ignored, engine.duplicate, engine.stray)

    def include(self, counts: Counts) -> None:
        """Add what another process has counted; nothing more is read."""
        self.tally.include(counts.tally)
        self.kept += counts.passed
        self.engine.add_counts(*counts[2:])
