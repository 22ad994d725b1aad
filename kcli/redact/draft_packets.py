"""The packets of a draft, and the positions in it of a stream's bytes.

A draft (`kcli.core.capture.draft.Draft`) is a temporary file of redacted packets, so that memory does not grow with the
capture. Packets are written with blank payloads as they come, and filled in when their bytes have been decoded: a
message may become complete long after its first packet. The draft never contains anything that was not redacted.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kcli.core.capture.draft import Draft

MADE = 2  # a kind of packet: made here instead of captured
KEPT = 64  # packets that are kept after they were filled in, as they may come again
LOOKED_AT = 256  # packets from which the bytes of a repeated packet are taken, at most


class DraftPacket(NamedTuple):
    """A packet of a draft. flow: the number of its connection. kind: 0 captured, 1 part of the TCP handshake, or
    MADE.
    """

    ns: int
    link: int
    flow: int
    length: int
    places: tuple[int, int, int]
    kind: int
    data: bytearray


class Extents:
    """The positions in the draft of the bytes that one end of a connection sent. Positions in the stream do not wrap.
    settled: the position up to which all bytes have been filled in or stay blank. Retransmitted bytes get the same
    contents.
    """

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.entries: list[tuple[int, int, int]] = []  # sorted (first byte, size, position in the draft)
        self.longest = self.end = self.settled = 0
        self.pruned = 0

    def add(self, first: int, size: int, place: int) -> None:
        """Record that `size` bytes of the stream, from `first` on, are at the position `place` in the draft."""
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
        """Return the entries that may contain some of these bytes."""
        start = bisect_left(self.entries, (first - self.longest,))
        return self.entries[start : bisect_left(self.entries, (first + size,))]

    def prune(self) -> None:
        """Drop all but the last KEPT entries before `settled`."""
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
        """Write redacted bytes, from `first` on, to all their positions in the draft."""
        for begin, size, place in self.near(first, len(data)):
            self.copy(begin, size, place, first, data)

    def copy(self, begin: int, size: int, place: int, first: int, data: bytes) -> None:
        """Write the part of `data`, which begins at `first`, that lies in the entry of `size` bytes at `begin`."""
        low, high = max(begin, first), min(begin + size, first + len(data))
        if low < high:
            self.draft.fill(place + low - begin, data[low - first : high - first])
