"""TCP streams: both directions of each connection as bytes in order, with gaps marked. The rules, in prose:

- A direction starts at its SYN, at what the other end's SYN acknowledges, or, of a connection that was under way, at
  the lowest byte among its first packets (START_PACKETS of them, or a quarter of a second).
- Bytes are passed on once and in order. A segment waits for the bytes before it, and for the bytes of the other
  direction that it acknowledges: so a request comes before its response, however the capture mixed them up.
- What was acknowledged was received. If it is still not here LOSS_PACKETS packets of the connection or a second later,
  the capture lacks it: a gap. What nobody acknowledged will be sent again; half a minute is waited for it, and two
  seconds where only one direction was captured. No time is long enough before CALM_PACKETS more packets of the capture
  came, since those that are out of order may have any distance in time.
- A connection ends when both directions have, a second after a reset, or when it was silent for a quarter of an hour.
  It is remembered for a while, so that late repetitions are known. Another SYN, or bytes far from those before, begin a
  new one.
- What waits is counted in bytes of memory (`held`), and so is each connection; the layer above has what waits given up
  where it is too much.
- The clock is the capture's; a leap of more than an hour is not believed before a second packet confirms it.

kcli/core/tcp.pyx is the compiled twin.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kcli.capture.waiting import Held, Timers, ahead
from kcli.grammar.network import ACK, FIN, RST, SYN

__all__ = ["CUT", "GAP", "GIVEN_UP", "JUMP", "Flow", "FlowSegment", "Side", "Streams"]

START_PACKETS = 8
CALM_PACKETS = 64
LOSS_PACKETS = 32
FARTHEST = 1 << 28  # bytes between two sequence numbers of one stream
NEAR = 1 << 16
HELD_LIMIT = 1 << 26  # bytes that wait in one direction
BELOW = 8  # packets that acknowledge less than one before them did: that one was damaged
FLOW_SIZE = 1024  # bytes of memory counted for a connection, besides what it holds
DONE_LIMIT = 4096  # closed connections that are remembered
SECOND = 1_000_000_000
NEVER = (1 << 64) - 1

# Why bytes are missing.
GAP, CUT, JUMP, GIVEN_UP = "gap", "cut", "jump", "given up"

End = tuple[int, bytes, int]  # version, address, port


class FlowSegment(NamedTuple):
    """ns: when; sender: which end (0 or 1 of the flow); length: payload on the wire, of which `data` is here."""

    ns: int
    sender: int
    seq: int
    ack: int
    flags: int
    data: bytes
    length: int


@dataclass(slots=True)
class Side:
    seen: bool = False
    known: bool = False  # `next` is
    syn: bool = False
    closed: bool = False
    first: int = 0
    next: int = 0
    acked: int | None = None
    below: int = 0  # packets in a row that acknowledge less
    held: Held = field(default_factory=Held)


@dataclass(slots=True, eq=False)
class Flow:
    """A connection. ends: in a fixed order, that of address, then port."""

    ends: tuple[End, End]
    sides: tuple[Side, Side] = field(default_factory=lambda: (Side(), Side()))
    last: int = 0
    since: int = 0
    deadline: int = 0
    mark: int = 0
    ticket: int = 0
    packets: int = 0
    client: int | None = None
    waiting: bool = False
    reset: bool = False
    done: bool = False
    talk: Any = None
    weight: int = 0  # bytes of memory that `talk` holds, as counted last


class Streams:
    """What the layer above overrides: deliver, lost, ended."""

    def __init__(self) -> None:
        self.table: dict[tuple[End, End], Flow] = {}
        self.flows: OrderedDict[int, Flow] = OrderedDict()  # every one that is not forgotten, oldest first
        self.timers = Timers()
        self.held = 0  # bytes of memory that connections hold
        self.relieving = False
        self.finished: deque[Flow] = deque()
        self.clock = self.sweep = self.leap = 0
        self.alarm = NEVER
        self.segments = self.payload = self.duplicate = self.stray = 0

    def deliver(self, flow: Flow, d: int, ns: int, data: bytes) -> None: ...
    def lost(self, flow: Flow, d: int, ns: int, count: int, why: str) -> None: ...
    def ended(self, flow: Flow, ns: int) -> None: ...

    # Segments

    def segment(self, ends: tuple[End, End], s: FlowSegment) -> None:
        self.segments += 1
        self.payload += len(s.data)
        self.tell_time(s.ns)
        flow = self.table.get(ends) or self.add(ends)
        if s.flags & SYN or flow.done:
            flow = self.open(flow, s)
            if flow.done:
                self.stray += len(s.data)
                return
            if s.flags & SYN:
                s = s._replace(seq=(s.seq + 1) & 0xFFFFFFFF)
        flow.last = s.ns
        side, other = flow.sides[s.sender], flow.sides[1 - s.sender]
        side.seen = True
        s = self.acknowledge(other, s)
        if s.length or s.flags & (FIN | RST):
            self.accept(flow, s)
        if flow.waiting:
            self.patience(flow)
        elif other.known and is_ahead(other) and not flow.done:
            self.wait(flow, SECOND)

    def acknowledge(self, other: Side, s: FlowSegment) -> FlowSegment:
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

    def tell_time(self, ns: int) -> None:
        if ns <= self.clock:
            return
        hour = 3600 * SECOND
        if ns > self.clock + hour and self.clock and not self.leap <= ns < self.leap + hour:
            self.leap = ns
            return
        self.clock = ns
        if ns >= self.alarm:
            self.expire()
        if ns >= self.sweep:
            self.sweep_idle()

    def accept(self, flow: Flow, s: FlowSegment) -> None:
        side = flow.sides[s.sender]
        if side.known:
            distance = ahead(s.seq, side.next)
            if distance < -FARTHEST and s.length:
                self.lost(flow, s.sender, s.ns, 0, JUMP)
                side.next = s.seq
            if s.flags & RST and not 0 <= distance < NEAR:
                side.closed = flow.reset = True  # resets often come without a sequence number that fits
                self.stray += len(s.data)
                self.follow_end(flow, s)
                return
            if self.ready(flow, s):
                self.pass_on(flow, s)
                if flow.waiting:
                    self.drain(flow)
                self.follow_end(flow, s)
                return
        elif not s.length:
            if s.flags & RST:
                self.follow_end(flow, s)
            return
        self.hold(flow, s)

    def ready(self, flow: Flow, s: FlowSegment) -> bool:
        """Whether all that comes before this segment, in both directions, has been passed on."""
        other = flow.sides[1 - s.sender]
        if ahead(s.seq, flow.sides[s.sender].next) > 0:
            return False
        if not s.flags & ACK or not other.known or other.acked is None:
            return True
        return ahead(s.ack, other.next) <= 0 or ahead(other.acked, s.ack) < 0

    def pass_on(self, flow: Flow, s: FlowSegment) -> None:
        """The bytes of a segment that are new, to the layer above."""
        side = flow.sides[s.sender]
        old = (side.next - s.seq) & 0xFFFFFFFF
        fresh = max(0, s.length - old)
        data = s.data[old:] if fresh else b""
        self.duplicate += len(s.data) - len(data)
        side.next = (side.next + fresh) & 0xFFFFFFFF
        if data:
            self.deliver(flow, s.sender, s.ns, data)
        if fresh > len(data):
            self.lost(flow, s.sender, s.ns, fresh - len(data), CUT)
        if s.flags & FIN and not side.closed and (s.seq + s.length) & 0xFFFFFFFF == side.next:
            side.next = (side.next + 1) & 0xFFFFFFFF
            side.closed = True
        if s.flags & RST:
            side.closed = flow.reset = True

    def follow_end(self, flow: Flow, s: FlowSegment) -> None:
        if s.flags & RST and not flow.sides[s.sender].known:
            flow.sides[s.sender].closed = flow.reset = True
        if all(side.closed for side in flow.sides) and not self.blocked(flow):
            self.close(flow, s.ns)
        elif flow.reset and not flow.waiting:
            self.wait(flow, SECOND)

    def hold(self, flow: Flow, s: FlowSegment) -> None:
        side = flow.sides[s.sender]
        if side.held.covers(s):
            self.duplicate += len(s.data)
            return
        self.held += side.held.put(s)
        if not flow.waiting:
            self.wait(flow, SECOND if side.known else SECOND // 4)
        if side.held.size > HELD_LIMIT:
            self.resolve(flow, True)

    def drain(self, flow: Flow) -> None:
        """Pass on what waited and now has all before it."""
        again = True
        while again:
            again = False
            for side in flow.sides:
                while side.known and side.held and self.ready(flow, side.held.first):
                    self.held -= side.held.size
                    s = side.held.take()
                    self.held += side.held.size
                    self.pass_on(flow, s)
                    again = True

    # Waiting

    def blocked(self, flow: Flow) -> bool:
        return any(side.held or (side.known and is_ahead(side)) for side in flow.sides)

    def wait(self, flow: Flow, delay: int) -> None:
        flow.since, flow.mark, flow.packets = self.clock, self.segments, 0
        flow.deadline = self.clock + delay
        self.alarm = min(self.alarm, flow.deadline)
        flow.waiting = True
        self.timers.push(flow)

    def unwait(self, flow: Flow) -> None:
        flow.waiting = False
        self.timers.pull(flow)

    def patience(self, flow: Flow) -> None:
        flow.packets += 1
        if flow.packets == START_PACKETS:
            self.begin(flow)
        if flow.packets % LOSS_PACKETS == 0:
            self.resolve(flow, False)
        if not self.blocked(flow):
            if all(side.closed for side in flow.sides):
                self.close(flow, flow.last)
            elif not flow.reset:
                self.unwait(flow)

    def begin(self, flow: Flow) -> None:
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
        side = flow.sides[d]
        if not side.known:
            return False
        acked = side.acked if is_ahead(side) else None
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
        self.lost(flow, d, flow.last, ahead(end, side.next), GIVEN_UP if self.relieving else GAP)
        side.next = end
        return True

    def expire(self) -> None:
        while (flow := self.timers.due(self.clock, self.segments - CALM_PACKETS)) is not None:
            self.lose_patience(flow, self.clock - flow.since)
        alarm = self.timers.alarm
        self.alarm = NEVER if alarm is None else alarm

    def lose_patience(self, flow: Flow, waited: int) -> None:
        self.begin(flow)
        if waited >= SECOND:
            alone = not all(side.seen for side in flow.sides)
            self.resolve(flow, waited >= 30 * SECOND or (waited >= 2 * SECOND and alone))
        flow.deadline = self.clock + SECOND
        if not flow.reset and self.blocked(flow):
            self.timers.push(flow)
        elif flow.reset or all(side.closed for side in flow.sides):
            self.close(flow, flow.last)
        else:
            self.unwait(flow)

    def give_up(self, flow: Flow) -> None:
        """Pass on what waits, with all that is missing lost: too much is held."""
        self.relieving = True
        self.resolve(flow, True)
        self.relieving = False
        if flow.waiting and not flow.reset and not self.blocked(flow):
            self.unwait(flow)

    # Connections

    def add(self, ends: tuple[End, End]) -> Flow:
        flow = Flow(ends)
        self.table[ends] = flow
        self.flows[id(flow)] = flow
        self.held += FLOW_SIZE
        return flow

    def open(self, flow: Flow, s: FlowSegment) -> Flow:
        """What a SYN says, and whether it, or bytes far from those before, begin another connection."""
        start = (s.seq + 1) & 0xFFFFFFFF
        if self.is_another(flow, s, start):
            if not flow.done:
                self.close(flow, flow.last)
            flow = self.add(flow.ends)
        if not s.flags & SYN or flow.done:
            return flow
        side, other = flow.sides[s.sender], flow.sides[1 - s.sender]
        flow.client = 1 - s.sender if s.flags & ACK else s.sender
        if not side.known:
            side.known = side.syn = True
            side.first = side.next = start
        if s.flags & ACK and not other.known:
            other.known = other.syn = True
            other.first = other.next = s.ack
        if flow.waiting:
            self.drain(flow)
        return flow

    def is_another(self, flow: Flow, s: FlowSegment, start: int) -> bool:
        side = flow.sides[s.sender]
        if s.flags & SYN:
            distance = ahead(side.first, start)
            differs = side.known and distance != 0 and (side.syn or not 0 <= distance < NEAR)
            return differs or (flow.done and not (side.known and distance == 0))
        distance = ahead(s.seq, side.next)
        return s.length > 0 and self.clock > flow.last + SECOND and not -NEAR < distance < NEAR

    def close(self, flow: Flow, ns: int) -> None:
        self.end(flow, ns)
        self.forget_done()

    def end(self, flow: Flow, ns: int) -> None:
        """Close a connection, which is still remembered for a while."""
        self.unwait(flow)
        flow.done = True
        self.resolve(flow, True)
        self.ended(flow, ns)
        for side in flow.sides:
            self.held -= side.held.size
            side.held.clear()
        self.held -= FLOW_SIZE
        flow.since = self.clock
        self.finished.append(flow)

    def forget_done(self) -> None:
        while self.finished and (len(self.finished) > DONE_LIMIT or self.finished[0].since + 30 * SECOND < self.clock):
            flow = self.finished.popleft()
            self.flows.pop(id(flow), None)
            if self.table.get(flow.ends) is flow:
                del self.table[flow.ends]

    def sweep_idle(self) -> None:
        self.sweep = self.clock + 60 * SECOND
        for flow in self.alive():
            if flow.last + 900 * SECOND < self.clock:
                self.end(flow, flow.last)
        self.forget_done()

    def alive(self) -> Iterator[Flow]:
        for flow in list(self.flows.values()):
            if not flow.done:
                yield flow

    def close_all(self) -> None:
        for flow in self.alive():
            self.unwait(flow)
            flow.done = True
            self.resolve(flow, True)
            self.ended(flow, flow.last if flow.reset else self.clock)


def is_ahead(side: Side) -> bool:
    """Whether bytes were acknowledged that were not passed on."""
    return side.acked is not None and ahead(side.acked, side.next) > 0
