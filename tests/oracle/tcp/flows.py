"""TCP connections as they are tracked, and those that wait: until when, and since which packet.

A timer costs O(log n) among n. kcli/core/capture/streams.pxd and timers.pxi are the compiled twins.
"""

import heapq
from dataclasses import dataclass, field
from typing import Any

from tests.oracle.tcp.out_of_order import Held

End = tuple[int, bytes, int]  # version, address, port


@dataclass(slots=True)
class Side:
    """One direction. first, next: sequence numbers, of its first byte and of the next byte to pass on.

    seen: packets of it were; known: `next` is; syn: its beginning was seen; closed: its end
    acked: how far the other end has acknowledged it; below: packets in a row that acknowledge less
    retransmitted: segments with bytes that had come before
    held: segments that wait for bytes before them
    """

    seen: bool = False
    known: bool = False
    syn: bool = False
    closed: bool = False
    first: int = 0
    next: int = 0
    acked: int | None = None
    below: int = 0
    retransmitted: int = 0
    held: Held = field(default_factory=Held)


@dataclass(slots=True, eq=False)
class Flow:
    """A connection. Times in ns.

    ends: in a fixed order, that of address, then port; client: which of them it is; talk: what reads its bytes
    syn: the client's last SYN, until its handshake is over; round_trip: from there to the acknowledgement of the answer
    last: its last packet. While `waiting`: since when, until when (`deadline`), since which packet of the capture
        (`mark`), by which entry of `Timers` (`ticket`), and how many of its own `packets` have come meanwhile
    reset: by RST; done: over. weight: bytes of memory that `talk` holds, as counted last
    """

    ends: tuple[End, End]
    sides: tuple[Side, Side] = field(default_factory=lambda: (Side(), Side()))
    last: int = 0
    since: int = 0
    deadline: int = 0
    mark: int = 0
    ticket: int = 0
    packets: int = 0
    client: int | None = None
    syn: int | None = None
    round_trip: int | None = None
    waiting: bool = False
    reset: bool = False
    done: bool = False
    talk: Any = None
    weight: int = 0

    @property
    def is_closed(self) -> bool:
        """Whether both directions have ended."""
        return all(side.closed for side in self.sides)


class Timers:
    """Connections that wait: by the moment at which they have waited long enough, and, once that is over, by the packet
    of the capture since which they wait. A connection's `ticket` names its one valid entry."""

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
