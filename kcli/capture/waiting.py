"""What TCP streams wait for: segments that came too early, and connections whose time has not come yet.

Both cost O(log n) for each of n, in whatever order they come. kcli/core/held.pxi and timers.pxi are the compiled twins.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from kcli.grammar.network import ACK, FIN

if TYPE_CHECKING:
    from kcli.capture.tcp import Flow, FlowSegment

__all__ = ["SEGMENT_SIZE", "Held", "Timers", "ahead"]

SEGMENT_SIZE = 48  # bytes of memory counted for a waiting segment besides its data


def ahead(a: int, b: int) -> int:
    """a - b for sequence numbers, which wrap."""
    distance = (a - b) & 0xFFFFFFFF
    return distance - (1 << 32) if distance >= 1 << 31 else distance


class Held:
    """Segments that wait in one direction, in order of their bytes. `size`: bytes of memory counted for them.

    Places are told by their distance from the first one that waited, so that they have one order.
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
        heapq.heappush(self.heap, (ahead(s.seq, self.anchor), self.number, s))
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


class Timers:
    """Connections that wait: by the moment at which they have waited long enough, and, once that is over, by the packet
    of the capture since which they wait. A connection's `ticket` tells its entry from those that count no more."""

    def __init__(self) -> None:
        self.pending: list[tuple[int, int, Flow]] = []
        self.ready: list[tuple[int, int, Flow]] = []
        self.tickets = 0

    def push(self, flow: Flow) -> None:
        """Let a flow wait until its `deadline` and for packets since its `mark`."""
        self.tickets += 1
        flow.ticket = self.tickets
        heapq.heappush(self.pending, (flow.deadline, flow.ticket, flow))

    def pull(self, flow: Flow) -> None:
        """Let a flow wait no more."""
        flow.ticket = 0

    def due(self, clock: int, mark: int) -> Flow | None:
        """Take out the first to wait of those whose deadline is over and that wait since packet `mark` or before."""
        while self.pending and (self.pending[0][0] <= clock or is_stale(self.pending[0])):
            _, ticket, flow = heapq.heappop(self.pending)
            if flow.ticket == ticket:
                heapq.heappush(self.ready, (flow.mark, ticket, flow))
        while self.ready and is_stale(self.ready[0]):
            heapq.heappop(self.ready)
        if not self.ready or self.ready[0][0] > mark:
            return None
        flow = heapq.heappop(self.ready)[2]
        flow.ticket = 0
        return flow

    @property
    def alarm(self) -> int | None:
        """When to look again; None: never."""
        return 0 if self.ready else self.pending[0][0] if self.pending else None


def is_stale(entry: tuple[int, int, Flow]) -> bool:
    return entry[2].ticket != entry[1]
