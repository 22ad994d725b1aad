"""Bytes of TCP connections in order: segments are passed on, held until it is their turn, or given up as lost.

The rules are in `tests.oracle.tcp.streams`, which decides how long a connection waits and when it ends.
"""

from typing import Protocol

from kcli.grammar.files.network import ACK, FIN, RST, SYN
from tests.oracle.tcp.flows import Flow, Side
from tests.oracle.tcp.out_of_order import FlowSegment

FARTHEST = 1 << 28  # bytes between two sequence numbers of one stream
NEAR = 1 << 16  # ... within which a reset is believed, and behind which another connection may begin
BELOW = 8  # packets that acknowledge less than one before them did: that one was damaged

# Why bytes are missing.
GAP, CUT, JUMP, GIVEN_UP = "gap", "cut", "jump", "given up"


class StreamHandler(Protocol):
    """The layer above TCP. d: the direction, by its sender, 0 or 1. ns: the time."""

    def deliver(self, flow: Flow, d: int, ns: int, data: bytes) -> None:
        """The next bytes of a direction."""

    def lost(self, flow: Flow, d: int, ns: int, count: int, why: str) -> None:
        """Bytes that the capture lacks. count: how many, 0 when that is unknown. why: GAP, CUT, JUMP or GIVEN_UP."""

    def ended(self, flow: Flow, ns: int) -> None:
        """The connection is over."""


class Reassembly:
    """Passes the bytes of connections on to a handler, in order and once.

    held: bytes of memory that waiting segments take; duplicate: payload bytes that came again; stray: of no connection
    relieving: what is missing is given up because too much is held
    """

    def __init__(self, handler: StreamHandler) -> None:
        self.handler = handler
        self.held = self.duplicate = self.stray = 0
        self.relieving = False

    def take(self, flow: Flow, s: FlowSegment) -> bool:
        """Note what a segment acknowledges, and pass its bytes on, or hold them for later: then True."""
        side, other = flow.sides[s.sender], flow.sides[1 - s.sender]
        s = acknowledged(other, s)
        if flow.syn is not None and s.flags & ACK:
            end_handshake(flow, s)
        if not s.length and not s.flags & (RST if not side.known else FIN | RST):
            return False
        if not side.known:
            if not s.length:
                side.closed = flow.reset = True
                return False
            return self.hold(flow, s)
        distance = ahead(s.seq, side.next)
        if distance < -FARTHEST and s.length:
            self.handler.lost(flow, s.sender, s.ns, 0, JUMP)
            side.next = s.seq
        if s.flags & RST and not 0 <= distance < NEAR:
            side.closed = flow.reset = True  # resets often come without a sequence number that fits
            self.stray += len(s.data)
            return False
        if not self.is_ready(flow, s):
            return self.hold(flow, s)
        self.pass_on(flow, s)
        if flow.waiting:
            self.drain(flow)
        return False

    def is_ready(self, flow: Flow, s: FlowSegment) -> bool:
        """Whether all that comes before this segment, in both directions, has been passed on."""
        other = flow.sides[1 - s.sender]
        if ahead(s.seq, flow.sides[s.sender].next) > 0:
            return False
        if not s.flags & ACK or not other.known or other.acked is None:
            return True
        return ahead(s.ack, other.next) <= 0 or ahead(other.acked, s.ack) < 0

    def pass_on(self, flow: Flow, s: FlowSegment) -> None:
        """The bytes of a segment that are new, to the handler."""
        side = flow.sides[s.sender]
        old = (side.next - s.seq) & 0xFFFFFFFF
        fresh = max(0, s.length - old)
        data = s.data[old:] if fresh else b""
        self.duplicate += len(s.data) - len(data)
        is_alive_probe = s.length == old == 1
        side.retransmitted += s.length > 0 and old > 0 and not is_alive_probe
        side.next = (side.next + fresh) & 0xFFFFFFFF
        if data:
            self.handler.deliver(flow, s.sender, s.ns, data)
        if fresh > len(data):
            self.handler.lost(flow, s.sender, s.ns, fresh - len(data), CUT)
        if s.flags & FIN and not side.closed and (s.seq + s.length) & 0xFFFFFFFF == side.next:
            side.next = (side.next + 1) & 0xFFFFFFFF
            side.closed = True
        if s.flags & RST:
            side.closed = flow.reset = True

    def hold(self, flow: Flow, s: FlowSegment) -> bool:
        """Keep a segment for later; False: one that waits has all its bytes."""
        side = flow.sides[s.sender]
        if side.held.covers(s):
            self.duplicate += len(s.data)
            side.retransmitted += s.length > 0
            return False
        self.held += side.held.put(s)
        return True

    def drain(self, flow: Flow) -> None:
        """Pass on what waited and now has all before it."""
        again = True
        while again:
            again = False
            for side in flow.sides:
                while side.known and side.held and self.is_ready(flow, side.held.first):
                    self.held -= side.held.size
                    s = side.held.take()
                    self.held += side.held.size
                    self.pass_on(flow, s)
                    again = True

    def begin(self, flow: Flow) -> None:
        """Let each direction whose start was not seen begin with the lowest byte that waits."""
        for side in flow.sides:
            if not side.known and side.held:
                side.known = True
                side.first = side.next = side.held.first.seq
        self.drain(flow)

    def resolve(self, flow: Flow, force: bool) -> None:
        """Pass over what was acknowledged and never seen; with `force`, over all that is missing."""
        if force:
            self.begin(flow)
        while self.pass_hole(flow, 0, force) or self.pass_hole(flow, 1, force) or (force and self.pass_first(flow)):
            self.drain(flow)

    def pass_first(self, flow: Flow) -> bool:
        """Pass on a segment that waits for the other direction, which waits for it: a damaged header did that."""
        for side in flow.sides:
            if side.held and side.known:
                side.held.forget_ack()
                return True
        return False

    def pass_hole(self, flow: Flow, d: int, force: bool) -> bool:
        """Report the bytes missing in front of one direction as lost; False: nothing is to be passed over there."""
        side = flow.sides[d]
        if not side.known:
            return False
        acked = side.acked if lacks_acked(side) else None
        if side.held:
            end = side.held.first.seq
            if ahead(end, side.next) <= 0:
                return False  # waits for the other direction
            if not force and (acked is None or ahead(acked, end) < 0):
                if acked is None:
                    return False
                end = acked
        elif acked is not None:
            end = acked
            if ahead(end, side.next) == 1:  # one alone is a FIN that was not seen
                side.next, side.closed = end, True
                return True
        else:
            return False
        why = GIVEN_UP if self.relieving else GAP
        self.handler.lost(flow, d, flow.last, ahead(end, side.next), why)
        side.next = end
        return True

    def forget(self, flow: Flow) -> None:
        """Drop what a connection still holds."""
        for side in flow.sides:
            self.held -= side.held.size
            side.held.clear()


def is_blocked(flow: Flow) -> bool:
    """Whether bytes of a connection are held back, or were acknowledged and never seen."""
    return any(side.held or (side.known and lacks_acked(side)) for side in flow.sides)


def lacks_acked(side: Side) -> bool:
    """Whether bytes of a direction were acknowledged that were not passed on."""
    return side.acked is not None and ahead(side.acked, side.next) > 0


def ahead(a: int, b: int) -> int:
    """a - b for sequence numbers, which wrap."""
    distance = (a - b) & 0xFFFFFFFF
    return distance - (1 << 32) if distance >= 1 << 31 else distance


def acknowledged(other: Side, s: FlowSegment) -> FlowSegment:
    """Note how far a segment acknowledges the other direction; the segment, without a number that can't be right."""
    if not s.flags & ACK:
        return s
    if other.known and ahead(s.ack, other.next) > FARTHEST:
        return s._replace(flags=s.flags & ~ACK)  # no window is that wide: a damaged packet
    if other.acked is not None and ahead(s.ack, other.acked) < 0:
        other.below += 1
        if other.below < BELOW:
            return s
    other.acked, other.below = s.ack, 0
    return s


def end_handshake(flow: Flow, s: FlowSegment) -> None:
    """The client's first acknowledgement of the server's SYN makes the round trip whole, wherever it was captured."""
    client, server = flow.sides[s.sender], flow.sides[1 - s.sender]
    is_last = server.syn and s.ack == server.first and s.seq == client.first
    if flow.syn is not None and s.sender == flow.client and not s.flags & SYN and is_last:
        flow.round_trip, flow.syn = max(0, s.ns - flow.syn), None
