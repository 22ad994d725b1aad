"""TCP streams out of segments: the oracle of kcli.core.capture.streams, whose rules they are."""

from collections import OrderedDict, deque
from collections.abc import Iterator

from kcli.grammar.files.network import ACK, RST, SYN
from tests.oracle.tcp.flows import End, Flow, Side, Timers
from tests.oracle.tcp.out_of_order import FlowSegment
from tests.oracle.tcp.reassembly import NEAR, Reassembly, StreamHandler, ahead, is_blocked, lacks_acked

START_PACKETS = 12
CALM_PACKETS = 64
LOSS_PACKETS = 32
FIT = 1 << 24  # bytes between numbers of one connection
HELD_LIMIT = 1 << 26  # bytes that wait in one direction
FLOW_SIZE = 1024  # bytes of memory counted for a connection, besides what it holds
DONE_LIMIT = 1 << 15  # closed connections that are remembered
SECOND = 1_000_000_000
REMEMBERED = 30 * SECOND  # ... for so long
NEVER = (1 << 64) - 1


class Streams:
    """Tracks TCP connections, and hands their bytes to a handler in order.

    clock: time of the capture (ns); segments: how many were fed; payload: their bytes
    """

    def __init__(self, handler: StreamHandler) -> None:
        self.handler = handler
        self.bytes = Reassembly(handler)
        self.table: dict[tuple[End, End], Flow] = {}
        self.flows: OrderedDict[int, Flow] = OrderedDict()  # every one that is not forgotten, oldest first
        self.timers = Timers()
        self.finished: deque[Flow] = deque()
        self.open_size = 0  # bytes of memory counted for open connections
        self.clock = self.sweep = self.leap = 0
        self.alarm = NEVER
        self.segments = self.payload = 0

    @property
    def held(self) -> int:
        """Bytes of memory that connections hold here."""
        return self.open_size + self.bytes.held

    # Segments

    def feed(self, ends: tuple[End, End], s: FlowSegment) -> None:
        """Take in the next segment of the capture. ends: as in `Flow`."""
        self.segments += 1
        self.payload += len(s.data)
        self.advance_clock(s.ns)
        flow = self.table.get(ends) or self.add(ends)
        if s.flags & SYN or flow.done or any(side.closed for side in flow.sides):
            if flow.done and flow.since + REMEMBERED < self.clock:
                self.forget_done()
                flow = self.add(ends)
            flow = self.open(flow, s)
            if flow.done:
                self.bytes.stray += len(s.data)
                return
            if s.flags & SYN:
                s = s._replace(seq=(s.seq + 1) & 0xFFFFFFFF)
        flow.last = s.ns
        side, other = flow.sides[s.sender], flow.sides[1 - s.sender]
        side.seen = True
        if not side.known and side.syn and s.length:
            side.known, side.next = True, side.first
        elif not other.syn and not other.known and side.syn and s.seq == side.first and s.flags & (ACK | RST) == ACK:
            self.infer_start(flow, other, s.ack)
        if self.bytes.take(flow, s):
            self.await_rest(flow, side)
        elif side.closed:
            self.follow_end(flow, s.ns)
        if flow.waiting:
            self.count_patience(flow)
        elif other.known and lacks_acked(other) and not flow.done:
            self.wait(flow, SECOND)

    def advance_clock(self, ns: int) -> None:
        """Let the capture's time go on to that of a packet; see what is due by then."""
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

    def await_rest(self, flow: Flow, side: Side) -> None:
        """Let a connection wait for what belongs before a segment that is held."""
        if not flow.waiting:
            self.wait(flow, SECOND if side.known else SECOND // 4)
        if side.held.size > HELD_LIMIT:
            self.bytes.resolve(flow, True)

    def follow_end(self, flow: Flow, ns: int) -> None:
        """Close a connection that both ends have closed; wait for the rest of one that was reset."""
        if flow.is_closed and not is_blocked(flow):
            self.close(flow, ns)
        elif flow.reset and not flow.waiting:
            self.wait(flow, SECOND)

    # Waiting

    def wait(self, flow: Flow, delay: int) -> None:
        """Let a connection wait for so long (ns)."""
        flow.since, flow.mark, flow.packets = self.clock, self.segments, 0
        flow.deadline = self.clock + delay
        self.alarm = min(self.alarm, flow.deadline)
        flow.waiting = True
        self.timers.push(flow)

    def unwait(self, flow: Flow) -> None:
        """Let a connection wait no more."""
        flow.waiting = False
        self.timers.pull(flow)

    def count_patience(self, flow: Flow) -> None:
        """Another packet of a connection that waits: enough of them mean that what is missing was lost."""
        flow.packets += 1
        if flow.packets == START_PACKETS:
            self.bytes.begin(flow)
        if flow.packets % LOSS_PACKETS == 0:
            self.bytes.resolve(flow, False)
        if not is_blocked(flow):
            if flow.is_closed:
                self.close(flow, flow.last)
            elif not flow.reset:
                self.unwait(flow)

    def expire(self) -> None:
        """Look after the connections that have waited long enough."""
        while (flow := self.timers.due(self.clock, self.segments - CALM_PACKETS)) is not None:
            self.lose_patience(flow, self.clock - flow.since)
        alarm = self.timers.alarm
        self.alarm = NEVER if alarm is None else alarm

    def lose_patience(self, flow: Flow, waited: int) -> None:
        """Decide on a connection that has waited for so long (ns)."""
        self.bytes.begin(flow)
        if waited >= SECOND:
            alone = not all(side.seen for side in flow.sides)
            self.bytes.resolve(flow, waited >= 30 * SECOND or (waited >= 2 * SECOND and alone))
        flow.deadline = self.clock + SECOND
        if not flow.reset and is_blocked(flow):
            self.timers.push(flow)
        elif flow.reset or flow.is_closed:
            self.close(flow, flow.last)
        else:
            self.unwait(flow)

    def give_up(self, flow: Flow) -> None:
        """Pass on what waits, with all that is missing lost: too much is held."""
        self.bytes.relieving = True
        self.bytes.resolve(flow, True)
        self.bytes.relieving = False
        if flow.waiting and not flow.reset and not is_blocked(flow):
            self.unwait(flow)

    # Connections

    def add(self, ends: tuple[End, End]) -> Flow:
        """A new connection between these ends."""
        flow = Flow(ends)
        self.table[ends] = flow
        self.flows[id(flow)] = flow
        self.open_size += FLOW_SIZE
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
        if not s.flags & ACK and flow.round_trip is None:
            flow.syn = s.ns
        if not side.known:
            side.known = True
            side.first = side.next = start
        side.syn = side.syn or side.first == start
        if s.flags & ACK and not other.known:
            other.known = other.syn = True
            other.first = other.next = s.ack
        elif not other.known and not other.syn and side.held:
            first = side.held.first
            if first.seq == start and first.flags & ACK:
                self.infer_start(flow, other, first.ack)
        if flow.waiting:
            self.bytes.drain(flow)
        return flow

    def infer_start(self, flow: Flow, side: Side, seq: int) -> None:
        """An end that has sent no byte yet acknowledges the other one's SYN, which may come later or not at all."""
        side.first = side.held.first.seq if side.held and ahead(side.held.first.seq, seq) < 0 else seq
        side.syn = True
        if side.held:  # else it is known when its first bytes come: until then nobody waits for them
            side.known, side.next = True, side.first
            self.bytes.drain(flow)

    def is_another(self, flow: Flow, s: FlowSegment, start: int) -> bool:
        """Whether a segment is of another connection between the same ends. start: the byte behind its SYN."""
        side = flow.sides[s.sender]
        if s.flags & SYN:
            distance = ahead(side.first, start)
            differs = side.known and distance != 0 and (side.syn or not 0 <= distance < NEAR)
            return differs or (flow.done and not (side.known and distance == 0))
        if not s.length:
            return False
        distance = ahead(s.seq, side.next)
        if flow.done and not flow.reset and not flow.is_closed:  # no end was seen: given up, or silent for long
            return not side.known or distance + s.length > 0
        if flow.done and self.clock > flow.last + SECOND and not -NEAR < distance < NEAR:
            return not is_behind_start(flow, s)
        return is_behind_end(flow, s)

    def close(self, flow: Flow, ns: int) -> None:
        """Close a connection at a time (ns)."""
        self.end(flow, ns)
        self.forget_done()

    def end(self, flow: Flow, ns: int) -> None:
        """Close a connection, which is still remembered for a while."""
        self.unwait(flow)
        flow.done = True
        self.bytes.resolve(flow, True)
        self.handler.ended(flow, ns)
        self.bytes.forget(flow)
        self.open_size -= FLOW_SIZE
        flow.since = self.clock
        self.finished.append(flow)

    def forget_done(self) -> None:
        """Forget connections that were closed half a minute ago, or that are too many."""
        while self.finished and (len(self.finished) > DONE_LIMIT or self.finished[0].since + REMEMBERED < self.clock):
            flow = self.finished.popleft()
            self.flows.pop(id(flow), None)
            if self.table.get(flow.ends) is flow:
                del self.table[flow.ends]

    def sweep_idle(self) -> None:
        """Close connections that were silent for a quarter of an hour."""
        self.sweep = self.clock + 60 * SECOND
        for flow in self.alive():
            if flow.last + 900 * SECOND < self.clock:
                self.end(flow, flow.last)
        self.forget_done()

    def alive(self) -> Iterator[Flow]:
        """The connections that are open, oldest first."""
        for flow in list(self.flows.values()):
            if not flow.done:
                yield flow

    def close_all(self) -> None:
        """The capture ends."""
        for flow in self.alive():
            self.unwait(flow)
            flow.done = True
            self.bytes.resolve(flow, True)
            self.handler.ended(flow, flow.last if flow.reset else self.clock)


def is_behind_start(flow: Flow, s: FlowSegment) -> bool:
    """Whether both numbers of a segment are among those that a connection sent."""
    side, other = flow.sides[s.sender], flow.sides[1 - s.sender]
    if not (s.flags & ACK and side.known and other.known):
        return False
    pairs = ((s.seq, side.first), (side.next, s.seq), (s.ack, other.first), (other.next, s.ack))
    return all(ahead(one, two) >= 0 for one, two in pairs)


def is_behind_end(flow: Flow, s: FlowSegment) -> bool:
    """Whether both numbers of a segment are behind what a connection sent; after a reset, bytes may come late."""
    side, other = flow.sides[s.sender], flow.sides[1 - s.sender]
    if not (s.flags & ACK and side.known and other.known):
        return False
    most = NEAR if flow.reset else 0
    return not any(-FIT < distance <= most for distance in (ahead(s.seq, side.next), ahead(s.ack, other.next)))
