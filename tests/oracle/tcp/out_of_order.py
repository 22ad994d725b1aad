"""TCP segments that came before the bytes in front of them, in order of their bytes.

Each costs O(log n) among n, in whatever order they come. kcli/core/capture/held_segments.pxi is the compiled twin.
"""

import heapq
from typing import NamedTuple

from kcli.grammar.files.network import ACK, FIN

SEGMENT_SIZE = 48  # bytes of memory counted for a waiting segment besides its data


class FlowSegment(NamedTuple):
    """A TCP segment. ns: when; sender: which end (0 or 1); length: payload on the wire; data: what is here."""

    ns: int
    sender: int
    seq: int
    ack: int
    flags: int
    data: bytes
    length: int


class Held:
    """Segments that wait in one direction, in order of their bytes. `size`: bytes of memory counted for them.

    Places are distances from the first one that waited, so that they have one order.
    """

    __slots__ = ("anchor", "heap", "latest", "number", "size")

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, FlowSegment]] = []
        self.latest: dict[int, tuple[int, FlowSegment]] = {}  # sequence number -> the last that begins there
        self.anchor = self.number = self.size = 0

    def __bool__(self) -> bool:
        return bool(self.heap)

    @property
    def first(self) -> FlowSegment:
        """The first of them; IndexError where there is none."""
        return self.heap[0][2]

    def covers(self, s: FlowSegment) -> bool:
        """Whether the last one that begins at the same byte has all that this one has."""
        there = self.latest.get(s.seq)
        if there is None or s.flags & FIN:
            return False
        return there[1].length >= s.length and len(there[1].data) >= len(s.data)

    def put(self, s: FlowSegment) -> int:
        """Keep a segment, behind all that begin at the same byte; bytes of memory counted for it."""
        if not self.heap:
            self.anchor = s.seq
        self.number += 1
        place = (s.seq - self.anchor + (1 << 31)) & 0xFFFFFFFF  # sequence numbers wrap
        heapq.heappush(self.heap, (place, self.number, s))
        self.latest[s.seq] = self.number, s
        self.size += SEGMENT_SIZE + len(s.data)
        return SEGMENT_SIZE + len(s.data)

    def take(self) -> FlowSegment:
        """The first segment, out of the others."""
        _, number, s = heapq.heappop(self.heap)
        if self.latest[s.seq][0] == number:
            del self.latest[s.seq]
        self.size -= SEGMENT_SIZE + len(s.data)
        return s

    def forget_ack(self) -> None:
        """The first segment no longer waits for the other direction."""
        place, number, s = self.heap[0]
        s = s._replace(flags=s.flags & ~ACK)
        self.heap[0] = place, number, s
        if self.latest[s.seq][0] == number:
            self.latest[s.seq] = number, s

    def clear(self) -> None:
        """Forget all of them."""
        self.heap.clear()
        self.latest.clear()
        self.size = 0
