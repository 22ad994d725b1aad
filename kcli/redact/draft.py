"""Packets of a draft, and where the bytes of a stream stand in it.

A draft (`kcli.core.capture.draft.Draft`) is a temporary file of redacted packets, so that memory does not grow with the
capture: they are written blank as they come, and filled in when their bytes have been decoded. A message may become
whole long after its first packet went by. Nothing is in it that was not redacted.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kcli.core.capture.draft import Draft

MADE = 2  # a kind of packet: made here, not captured
KEPT = 64  # packets that were filled in, but may come again
LOOKED_AT = 256  # packets that a repeated one may have its bytes from


class DraftPacket(NamedTuple):
    """A packet of a draft. flow: its connection's number. kind: MADE; 0 of one captured, 1 of TCP's handshake."""

    ns: int
    link: int
    flow: int
    length: int
    places: tuple[int, int, int]
    kind: int
    data: bytearray


class Extents:
    """The places in the draft of the bytes of one direction of a connection; places in the direction do not wrap.

    settled: bytes before it have been decided upon. Repeated values get the same bytes.
    """

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.entries: list[tuple[int, int, int]] = []  # (first byte, bytes, place in the draft), by the first byte
        self.longest = self.end = self.settled = 0
        self.pruned = 0

    def add(self, first: int, size: int, place: int) -> None:
        """Note that `size` bytes from `first` on stand at a place in the draft."""
        if not size:
            return
        if first < self.end:
            for begin, count, at in self.near(first, size)[-LOOKED_AT:]:
                self.copy(first, size, place, begin, self.draft.read(at, count))
        self.longest, self.end = max(self.longest, size), max(self.end, first + size)
        insort(self.entries, (first, size, place))
        if len(self.entries) > 2 * self.pruned + 2 * KEPT:
            self.prune()

    def near(self, first: int, size: int) -> list[tuple[int, int, int]]:
        """Return the entries that may have some of these bytes."""
        start = bisect_left(self.entries, (first - self.longest,))
        return self.entries[start : bisect_left(self.entries, (first + size,))]

    def prune(self) -> None:
        """Drop old decisions."""
        done = sum(begin + count <= self.settled for begin, count, _ in self.entries)
        spare = max(0, done - KEPT)
        left = []
        for entry in self.entries:
            if spare and entry[0] + entry[1] <= self.settled:
                spare -= 1
            else:
                left.append(entry)
        self.entries, self.pruned = left, len(left)
        self.longest = max((count for _, count, _ in left), default=0)

    def fill(self, first: int, data: bytes) -> None:
        """Write redacted bytes, from `first` on, wherever they stand."""
        for begin, size, place in self.near(first, len(data)):
            self.copy(begin, size, place, first, data)

    def copy(self, begin: int, size: int, place: int, first: int, data: bytes) -> None:
        """Write the part of `data`, which begins at `first`, that lies in an entry of `size` bytes at `begin`."""
        low, high = max(begin, first), min(begin + size, first + len(data))
        if low < high:
            self.draft.fill(place + low - begin, data[low - first : high - first])
