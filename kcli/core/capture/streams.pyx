"""TCP streams from segments, without a Python object for a segment.

- A direction starts at its SYN, at the byte that the other end acknowledges in its SYN or in its first packet after
  that, or, in a connection that began before the capture, at the lowest byte in its first packets (START_PACKETS of
  them, or a quarter of a second).
- Connections of the same two ends are told apart by the path of their packets (VLANs, tunnels, interfaces), unless
  their sequence numbers fit: see `Flows.of_path`.
- Bytes are passed on once and in order. A segment waits for the bytes before it, and for the bytes of the other
  direction that it acknowledges, so a request is before its response, however the capture mixed them up.
- Acknowledged bytes were received. If they are still missing LOSS_PACKETS packets of the connection or a second later,
  the capture lacks them: a gap. Bytes that were not acknowledged will be retransmitted; they are awaited for half a
  minute, or two seconds if only one direction was captured. No time is long enough before CALM_PACKETS more packets of
  the capture, as packets out of order may have any distance in time.
- A connection ends when both directions have ended, a second after a reset, or after a quarter of an hour of silence.
  It is remembered for a while, to recognize late repetitions, as those of another tap whose clock is slow. Another SYN,
  bytes far from those before, or bytes beyond the end that acknowledge others beyond it, begin a new connection.
- Held data is counted in bytes of memory (`held`), and so is each connection; the layer above lets connections drop
  data when it is too much.
- The clock is the capture's; a leap of more than an hour only counts when a second packet confirms it.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy

import os
from operator import itemgetter

from kcli.core.capture.line_order cimport OVERDUE, RECEIVED, SILENT, place
from kcli.core.capture.packets cimport KC_ACK, KC_FIN, KC_RST, KC_SYN, Ends, Segment, place_ends

cdef enum:
    START_PACKETS = 12           # searched for the first byte of a connection that began before the capture
    CALM_PACKETS = 64            # of the capture; before them no time is long enough
    LOSS_PACKETS = 32            # packets after which acknowledged, missing bytes count as lost
    BELOW = 8
    FARTHEST = 1 << 28           # bytes between two sequence numbers of one stream
    NEAR = 1 << 16
    HELD_LIMIT = 1 << 26         # bytes held in one direction
    DONE_LIMIT = 1 << 15         # closed connections to remember
    FLOW_SIZE = 1024             # bytes of memory counted for a connection, besides its held data

cdef uint64_t SECOND = 1000000000
cdef uint64_t REMEMBERED = 30 * SECOND     # ... and for how long
cdef uint64_t NEVER = <uint64_t>-1

include "stream_handler.pxi"
include "held_segments.pxi"
include "timers.pxi"
include "flow_table.pxi"
include "stream_reassembly.pxi"
include "streams_state.pxi"
include "streams_memory.pxi"


cdef class Streams:
    """Tracks TCP connections, and passes their bytes to a handler in order.

    segments: received segments; payload: their bytes. memory: bytes that connections may hold.
    """

    def __cinit__(self, StreamHandler handler not None, uint64_t memory):
        self.flows, self.reassembly, self.memory = Flows(), Reassembly(handler), memory
        self.alarm, self.most_done = NEVER, DONE_LIMIT
        self.overdue.by_mark = True

    def __dealloc__(self):
        free(self.timers.flows)
        free(self.overdue.flows)

    # Segments

    cdef int receive(self, Segment* s) except -1:
        """Take the next segment of the capture."""
        cdef Flow* flow
        cdef Side* side
        cdef Side* other
        self.segments += 1
        self.payload += s.captured
        self.advance_clock(s.ts)
        flow = self.flows.find(s)
        if s.flags & KC_SYN or flow.done or flow.side[0].closed or flow.side[1].closed:
            if flow.done and flow.since + REMEMBERED < self.clock:
                self.forget_done()
                flow = self.flows.find(s)
            flow = self.open(flow, s)
        self.reassembly.next.belongs(flow, s)
        if flow.done:
            self.reassembly.stray += s.captured
            return 0
        if not flow.born:
            flow.born = self.segments
        flow.last = s.ts
        side = &flow.side[s.sender]
        other = &flow.side[1 - s.sender]
        side.seen = True
        if not side.known and side.syn and s.length:
            side.known, side.next = True, side.first
        elif (
            not other.syn
            and not other.known
            and side.syn
            and s.seq == side.first
            and s.flags & (KC_ACK | KC_RST) == KC_ACK
        ):
            self.infer_start(flow, other, s.ack)
        if self.reassembly.receive(flow, s):
            self.await_rest(flow, side)
        elif side.closed:
            self.follow_end(flow, s.ts)
        if flow.waiting:
            self.count_patience(flow)
        elif other.known and other.answered and ahead(other.acked, other.next) > 0 and not flow.done:
            self.wait(flow, SECOND)
        return relieve(self) if self.held() > self.memory else 0

    cdef int twin_of(self, Segment* s) noexcept:
        """Return the number of the connection of the latest segment, among those with the same ends."""
        cdef Flow* flow = self.flows.recent
        return flow.twin if flow != NULL and memcmp(&flow.ends, &s.ends, sizeof(Ends)) == 0 else 0

    cdef int pass_over(self, uint64_t ts) except -1:
        """Count the next segment of the capture, which belongs to another process's connection."""
        self.segments += 1
        return self.advance_clock(ts)

    cdef int advance_clock(self, uint64_t ts) except -1:
        """Advance the capture's clock; a leap of over an hour counts only when a second packet confirms it."""
        if ts <= self.clock:
            return 0
        if ts > self.clock + 3600 * SECOND and self.clock and not (self.leap <= ts < self.leap + 3600 * SECOND):
            self.leap = ts
            return 0
        self.clock = ts
        if ts >= self.alarm:
            self.expire()
        if ts >= self.sweep:
            self.sweep_idle()
        return 0

    cdef int await_rest(self, Flow* flow, Side* side) except -1:
        """Wait for the bytes before a held segment, or skip them if too many bytes are held."""
        if not flow.waiting:
            self.wait(flow, SECOND if side.known else SECOND // 4)
        if side.held_bytes > HELD_LIMIT:
            self.reassembly.resolve(flow, True, LOSS_GAP)
        return 0

    cdef int follow_end(self, Flow* flow, uint64_t ts) except -1:
        """Close a connection when both ends have closed; after a reset, wait a second for the other end's last
        bytes.
        """
        if flow.side[0].closed and flow.side[1].closed and not blocked(flow):
            return self.close(flow, ts)
        if flow.reset and not flow.waiting:
            self.wait(flow, SECOND)
        return 0

    # Waiting connections

    cdef int wait(self, Flow* flow, uint64_t delay) except -1:
        flow.since = self.clock
        flow.mark = self.segments
        flow.packets = 0
        flow.deadline = self.clock + delay
        self.alarm = min(self.alarm, flow.deadline)
        flow.waiting = True
        pull_timer(flow)
        return push_timer(&self.timers, flow)

    cdef void unwait(self, Flow* flow) noexcept:
        pull_timer(flow)
        flow.waiting = False

    cdef int count_patience(self, Flow* flow) except -1:
        """Count a packet of a waiting connection; after enough of them skip the missing bytes, and stop waiting when
        none are missing.
        """
        flow.packets += 1
        if flow.packets == START_PACKETS:
            self.reassembly.begin(flow)
        if flow.packets % LOSS_PACKETS == 0:
            self.reassembly.resolve(flow, False, LOSS_GAP)
        if not blocked(flow):
            if flow.side[0].closed and flow.side[1].closed:
                return self.close(flow, flow.last)
            if not flow.reset:
                self.unwait(flow)
        return 0

    cdef int expire(self) except -1:
        cdef Flow* flow
        while self.timers.count and self.timers.flows[0].deadline <= self.clock:
            flow = self.timers.flows[0]
            pull_timer(flow)
            push_timer(&self.overdue, flow)
        while self.overdue.count and self.segments - self.overdue.flows[0].mark >= CALM_PACKETS:
            flow = self.overdue.flows[0]
            place(self.order, self.segments, OVERDUE, flow.mark)
            pull_timer(flow)
            self.lose_patience(flow, self.clock - flow.since)
        place(self.order, self.segments, RECEIVED)
        self.alarm = 0 if self.overdue.count else self.timers.flows[0].deadline if self.timers.count else NEVER
        return 0

    cdef int lose_patience(self, Flow* flow, uint64_t waited) except -1:
        cdef bint alone = not (flow.side[0].seen and flow.side[1].seen)
        self.reassembly.begin(flow)
        if waited >= SECOND:
            self.reassembly.resolve(flow, waited >= 30 * SECOND or (waited >= 2 * SECOND and alone), LOSS_GAP)
        flow.deadline = self.clock + SECOND
        if not flow.reset and blocked(flow):
            return push_timer(&self.timers, flow)
        if flow.reset or (flow.side[0].closed and flow.side[1].closed):
            return self.close(flow, flow.last)
        self.unwait(flow)
        return 0

    # Connections

    cdef Flow* open(self, Flow* flow, Segment* s) except NULL:
        """Process a SYN, and open another connection of the same ends if it, or bytes far from those before, begin
        one.
        """
        cdef int d = s.sender
        cdef Side* side = &flow.side[d]
        cdef Side* other
        cdef bint syn = s.flags & KC_SYN
        cdef uint32_t start = s.seq + 1
        cdef int32_t distance
        cdef bint another
        cdef int twin
        if syn:
            distance = ahead(side.first, start)
            another = side.known and distance != 0 and (side.syn or not 0 <= distance < NEAR)
            if flow.done and not (side.known and distance == 0):
                another = True
        else:
            distance = ahead(s.seq, side.next)
            if flow.done and not flow.reset and not (side.closed and flow.side[1 - d].closed):    # no end was captured
                another = not side.known or distance + <int64_t>s.length > 0
            else:
                another = flow.done and self.clock > flow.last + SECOND and not -NEAR < distance < NEAR
                another = another and not is_behind_start(flow, s)
                another = another or is_behind_end(flow, s)
            another = another and s.length
        if another:
            if not flow.done:
                self.close(flow, flow.last)
            self.flows.unlink(flow)
            twin = flow.twin
            flow = self.flows.add(s, flow.hash)
            flow.twin = twin
            self.flows.recent = flow
            side = &flow.side[d]
        if not syn or flow.done:
            return flow
        other = &flow.side[1 - d]
        flow.client = 1 - d if s.flags & KC_ACK else d
        if not s.flags & KC_ACK and flow.round_trip < 0:
            flow.syn = s.ts
        if not side.known:
            side.known = True
            side.first = side.next = start
        side.syn = side.syn or side.first == start
        if s.flags & KC_ACK and not other.known:
            other.known = other.syn = True
            other.first = other.next = s.ack
        elif (
            not other.known
            and not other.syn
            and side.held != NULL
            and side.held.seq == start
            and side.held.flags & KC_ACK
        ):
            self.infer_start(flow, other, side.held.ack)
        s.seq = start
        if flow.waiting:
            self.reassembly.drain(flow)
        return flow

    cdef int infer_start(self, Flow* flow, Side* side, uint32_t seq) except -1:
        """Infer the first byte of an end that has sent none from its ACK of a SYN, which may come later or not at
        all.
        """
        side.first = side.held.seq if side.held != NULL and ahead(side.held.seq, seq) < 0 else seq
        side.syn = True
        if side.held == NULL:
            return 0        # known with its first bytes; nothing waits for them before
        side.known, side.next = True, side.first
        return self.reassembly.drain(flow)

    cdef int close(self, Flow* flow, uint64_t ts) except -1:
        self.end(flow, ts, LOSS_GAP)
        return self.forget_done()

    cdef int end(self, Flow* flow, uint64_t ts, Loss why) except -1:
        """Close a connection, which is remembered for a while. why: the reason for its missing bytes."""
        self.unwait(flow)
        flow.done = True
        self.reassembly.end(flow, ts, why)
        flow.since = self.clock
        self.flows.remember(flow)
        return 0

    cdef int forget_done(self) except -1:
        cdef Flow* flow = self.flows.done_first
        if self.order is not None and self.flows.done_count > self.most_done:
            self.order.exceeded = True
        while flow != NULL and (self.flows.done_count > self.most_done or flow.since + REMEMBERED < self.clock):
            self.flows.unremember(flow)
            self.unwait(flow)
            self.reassembly.forget(flow)
            self.flows.discard(flow)
            flow = self.flows.done_first
        return 0

    cdef int sweep_idle(self) except -1:
        """Close connections that were silent for a quarter of an hour, as brokers drop them after ten minutes."""
        cdef Flow* flow = self.flows.first
        self.sweep = self.clock + 60 * SECOND
        while flow != NULL:
            if not flow.done and flow.last + 900 * SECOND < self.clock:
                place(self.order, self.segments, SILENT, flow.born)
                self.end(flow, flow.last, LOSS_GAP)
            flow = flow.newer
        place(self.order, self.segments, RECEIVED)
        return self.forget_done()

    cdef int close_all(self) except -1:
        """Close all connections at the capture's end."""
        cdef Flow* flow = self.flows.first
        while flow != NULL:
            if not flow.done:
                place(self.order, self.segments + 1, SILENT, flow.born)
                self.reassembly.resolve(flow, True, LOSS_GAP)    # a reset may wait for bytes before it
                self.end(flow, flow.last if flow.reset else self.clock, LOSS_GAP)
            flow = flow.newer
        place(self.order, self.segments + 1, RECEIVED)
        return 0

    cdef bint in_step(self) noexcept:
        """Return whether one connection is open and nothing of it is missing: its frames, responses and packets follow
        each other.
        """
        cdef Flow* flow = self.flows.first
        cdef Flow* found = NULL
        while flow != NULL:
            if not flow.done:
                if found != NULL:
                    return False
                found = flow
            flow = flow.newer
        return found != NULL and not found.waiting and not found.reset and self.reassembly.is_steady(found)

    cdef uint64_t held(self) noexcept:
        """Return the bytes of memory that connections hold."""
        return self.flows.held + self.reassembly.held + self.reassembly.next.held
