"""TCP streams out of segments, with no Python object for a segment.

The rules are those of kcli/capture/tcp.py, its interpreted twin, where the prose about them stands; tests hold both equal.
"""

from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy

import os

from kcli.core.capture.packets cimport KC_ACK, KC_FIN, KC_RST, KC_SYN, Ends, Segment, hash_ends

cdef enum:
    START_PACKETS = 8            # of a connection that was under way: how many are looked at to find the first in order
    CALM_PACKETS = 64            # of the capture: before them no time is long enough, as packets may be out of order
    LOSS_PACKETS = 32            # after which what was acknowledged and not seen counts as lost
    BELOW = 8
    FARTHEST = 1 << 28           # bytes between two sequence numbers of one stream
    NEAR = 1 << 16
    HELD_LIMIT = 1 << 26         # bytes that wait in one direction
    DONE_LIMIT = 4096            # closed connections that are remembered
    FLOW_SIZE = 1024             # bytes of memory counted for a connection, besides what it holds

cdef uint64_t SECOND = 1000000000
cdef uint64_t NEVER = <uint64_t>-1

include "held_segments.pxi"
include "timers.pxi"
include "flows.pxi"
include "stream_order.pxi"


cdef class Streams(Reassembly):
    def __cinit__(self):
        self.alarm = NEVER
        self.overdue.by_mark = True

    def __dealloc__(self):
        free(self.timers.flows)
        free(self.overdue.flows)

    # The layer above

    cdef int ended(self, Flow* flow, uint64_t ts, bint reset) except -1:
        return 0

    cdef int forget(self, Flow* flow) except -1:
        return 0

    cdef void added(self) noexcept:
        self.held += FLOW_SIZE

    cdef int give_up(self, Flow* flow) except -1:
        """Pass on what waits, with all that is missing lost: too much is held."""
        self.relieving = True
        try:
            self.resolve(flow, True)
        finally:
            self.relieving = False
        if flow.waiting and not flow.reset and not self.blocked(flow):
            self.unwait(flow)
        return 0

    # Segments

    cdef int segment(self, Segment* s) except -1:
        cdef Flow* flow
        cdef Side* side
        cdef Side* other
        cdef int d = s.sender
        self.segments += 1
        self.payload += s.captured
        self.tell_time(s.ts)
        flow = self.find(s)
        if s.flags & KC_SYN or flow.done:
            flow = self.open(flow, s)
            if flow.done:
                self.stray += s.captured
                return 0
        flow.last = s.ts
        side = &flow.side[d]
        other = &flow.side[1 - d]
        side.seen = True
        if s.flags & KC_ACK:
            acknowledge(other, s)
            if flow.syn:
                end_handshake(flow, s)
        if s.length or s.flags & (KC_FIN | KC_RST):
            self.accept(flow, s)
        if flow.waiting:
            self.patience(flow)
        elif other.known and other.answered and ahead(other.acked, other.next) > 0 and not flow.done:
            self.wait(flow, SECOND)
        return 0

    cdef int tell_time(self, uint64_t ts) except -1:
        """The clock is the capture's own. One packet's leap is not believed before a second one confirms it."""
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

    cdef int accept(self, Flow* flow, Segment* s) except -1:
        cdef int d = s.sender
        cdef Side* side = &flow.side[d]
        cdef int32_t distance
        if side.known:
            distance = ahead(s.seq, side.next)
            if distance < -FARTHEST and s.length:
                self.lost(flow, d, s.ts, 0, LOSS_JUMP)
                side.next = s.seq
            if s.flags & KC_RST and not 0 <= distance < NEAR:
                side.closed = flow.reset = True       # resets often come without a sequence number that fits
                self.stray += s.captured
                return self.finished(flow, d, s)
            if self.ready(flow, d, s.seq, s.ack, s.flags):
                self.pass_on(flow, d, s)
                if flow.waiting:
                    self.drain(flow)
                return self.finished(flow, d, s)
        elif not s.length:
            return self.finished(flow, d, s) if s.flags & KC_RST else 0
        return self.wait_with(flow, d, s)

    cdef int wait_with(self, Flow* flow, int d, Segment* s) except -1:
        """Hold a segment for what comes before it."""
        cdef Side* side = &flow.side[d]
        if not self.hold(side, s):
            return 0
        if not flow.waiting:
            self.wait(flow, SECOND if side.known else SECOND // 4)
        if side.held_bytes > HELD_LIMIT:
            self.resolve(flow, True)
        return 0

    cdef int finished(self, Flow* flow, int d, Segment* s) except -1:
        """A connection ends when both ends have closed; after a reset the other end's last words are awaited."""
        if s.flags & KC_RST and not flow.side[d].known:
            flow.side[d].closed = flow.reset = True
        if flow.side[0].closed and flow.side[1].closed and not self.blocked(flow):
            return self.close(flow, s.ts)
        if flow.reset and not flow.waiting:
            self.wait(flow, SECOND)
        return 0

    # Waiting

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

    cdef int patience(self, Flow* flow) except -1:
        """A packet of a waiting connection came: is it still blocked, and has it waited long enough?"""
        flow.packets += 1
        if flow.packets == START_PACKETS:
            self.begin(flow)
        if flow.packets % LOSS_PACKETS == 0:
            self.resolve(flow, False)
        if not self.blocked(flow):
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
            pull_timer(flow)
            self.lose_patience(flow, self.clock - flow.since)
        self.alarm = 0 if self.overdue.count else self.timers.flows[0].deadline if self.timers.count else NEVER
        return 0

    cdef int lose_patience(self, Flow* flow, uint64_t waited) except -1:
        cdef bint alone = not (flow.side[0].seen and flow.side[1].seen)
        self.begin(flow)
        if waited >= SECOND:
            self.resolve(flow, waited >= 30 * SECOND or (waited >= 2 * SECOND and alone))
        flow.deadline = self.clock + SECOND
        if not flow.reset and self.blocked(flow):
            return push_timer(&self.timers, flow)
        if flow.reset or (flow.side[0].closed and flow.side[1].closed):
            return self.close(flow, flow.last)
        self.unwait(flow)
        return 0

    # Connections

    cdef Flow* open(self, Flow* flow, Segment* s) except NULL:
        """What a SYN says, and whether it, or bytes far from those before, begin another connection of the same two ends."""
        cdef int d = s.sender
        cdef Side* side = &flow.side[d]
        cdef Side* other
        cdef bint syn = s.flags & KC_SYN
        cdef uint32_t start = s.seq + 1
        cdef int32_t distance
        cdef bint another
        if syn:
            distance = ahead(side.first, start)
            another = side.known and distance != 0 and (side.syn or not 0 <= distance < NEAR)
            if flow.done and not (side.known and distance == 0):
                another = True
        else:
            distance = ahead(s.seq, side.next)
            another = s.length and self.clock > flow.last + SECOND and not -NEAR < distance < NEAR
        if another:
            if not flow.done:
                self.close(flow, flow.last)
            self.unlink(flow)
            flow = self.add(s, flow.hash)
            self.recent = flow
            side = &flow.side[d]
        if not syn or flow.done:
            return flow
        other = &flow.side[1 - d]
        flow.client = 1 - d if s.flags & KC_ACK else d
        if not s.flags & KC_ACK and flow.round_trip < 0:
            flow.syn = s.ts
        if not side.known:
            side.known = side.syn = True
            side.first = side.next = start
        if s.flags & KC_ACK and not other.known:
            other.known = other.syn = True
            other.first = other.next = s.ack
        s.seq = start
        if flow.waiting:
            self.drain(flow)
        return flow

    cdef int close(self, Flow* flow, uint64_t ts) except -1:
        self.end(flow, ts)
        return self.forget_done()

    cdef int end(self, Flow* flow, uint64_t ts) except -1:
        """Close a connection, which is still remembered for a while."""
        cdef int d
        self.unwait(flow)
        flow.done = True
        self.resolve(flow, True)
        self.ended(flow, ts, flow.reset)
        for d in range(2):
            self.held -= flow.side[d].held_bytes
            free_held(&flow.side[d])
        self.held -= FLOW_SIZE
        flow.since = self.clock
        self.remember(flow)
        return 0

    cdef int forget_done(self) except -1:
        cdef Flow* flow = self.done_first
        while flow != NULL and (self.done_count > DONE_LIMIT or flow.since + 30 * SECOND < self.clock):
            self.unremember(flow)
            self.unwait(flow)
            self.forget(flow)
            self.discard(flow)
            flow = self.done_first
        return 0

    cdef int sweep_idle(self) except -1:
        """Close connections that said nothing for a quarter of an hour: brokers drop them after ten minutes."""
        cdef Flow* flow = self.first
        self.sweep = self.clock + 60 * SECOND
        while flow != NULL:
            if not flow.done and flow.last + 900 * SECOND < self.clock:
                self.end(flow, flow.last)
            flow = flow.newer
        return self.forget_done()

    cdef int close_all(self) except -1:
        cdef Flow* flow = self.first
        while flow != NULL:
            if not flow.done:
                self.unwait(flow)
                flow.done = True
                self.resolve(flow, True)
                self.ended(flow, flow.last if flow.reset else self.clock, flow.reset)
            flow = flow.newer
        return 0
