"""Captures that several processes read: each walks all packets, and reads the bytes of its share of the connections.

What concerns all connections each process counts for itself: the capture's clock, and the packets. Of what they may
hold, each has its part. Topics' names are put in afterwards, where only another process knew them.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from kcli.capture.events import Event
from kcli.capture.exchanges import CaptureDecoder, Item
from kcli.capture.tally import Tally

__all__ = ["Counts", "Share", "ShareDecoder", "buckets_of"]

BUCKETS = 64  # of connections, by the hash of their ends
STRETCH = 1 << 20  # bytes of packets whose lines are put in order together


class Counts(NamedTuple):
    """What a process has counted of its connections. passed: exchanges that the filter wanted."""

    tally: Tally
    passed: int
    connections: int
    ignored: int
    duplicate: int
    stray: int


class Share(CaptureDecoder):
    """A share of a capture's connections; the core is built, and there is no condition.

    process: its number; the first one, 0, also says what is wrong with files. ended: all was read.
    """

    process = 0
    ended = False

    def take_share(self, number: int, count: int) -> None:
        """Be process `number` of `count`; to be called before anything is read."""
        self.process = number
        self.engine.share_lines(buckets_of(number, count), count)

    def read(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """As `CaptureDecoder.read`; it ends where this process holds more than its part: one begins again."""
        try:
            with contextlib.closing(super().read(moved)) as pieces:
                for _ in pieces:
                    yield
                    if self.engine.order.exceeded:
                        break
        finally:
            self.ended = True

    def receive(self, item: Item) -> None:
        """Take what came out as a value."""
        if self.process == 0 or not (isinstance(item, Event) and item.connection is None):
            super().receive(item)

    def add_secrets(self, block: bytes) -> None:
        """Take in a part of a key log: what it decrypts may tell secrets of other connections."""
        self.engine.order.exceeded = True
        super().add_secrets(block)

    @property
    def share_counts(self) -> Counts:
        """What was counted so far."""
        engine, tally = self.engine, copy.deepcopy(self.tally)
        if not self.ended:
            tally.add_steady(engine)
        return Counts(tally, self.passed, engine.connections, engine.ignored, engine.duplicate, engine.stray)

    def include(self, counts: Counts) -> None:
        """Add what another process has counted; nothing more is read."""
        self.tally.include(counts.tally)
        self.kept += counts.passed
        self.engine.add_counts(*counts[2:])


class ShareDecoder(Share):
    """A share as lines."""

    def __init__(self, *paths: Any, **options: Any) -> None:
        """As `CaptureDecoder`, without a condition and without a topic to be filtered."""
        super().__init__(*paths, text=True, **options)

    def stretches(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """Read the files; yields where all processes do. InputError at the end for damaged files."""
        done = 0
        for _ in self.read(moved):
            if self.engine.wire_bytes - done >= STRETCH:
                done = self.engine.wire_bytes
                yield


def buckets_of(number: int, count: int) -> int:
    """The buckets of a process, a bit each: every one is one process's."""
    return sum(1 << bucket for bucket in range(number, BUCKETS, count))
