# Bytes in order: what waits for others, what is passed on, what is passed over. See kcli/capture/reassembly.py.


cdef class Reassembly(Flows):
    def __cinit__(self):
        self.chance = int.from_bytes(os.urandom(4), "little") | 1

    # The layer above

    cdef int deliver(self, Flow* flow, int d, uint64_t ts, const uint8_t* data, size_t n) except -1:
        return 0

    cdef int lost(self, Flow* flow, int d, uint64_t ts, uint64_t n, Loss why) except -1:
        return 0

    # In order

    cdef bint ready(self, Flow* flow, int d, uint32_t seq, uint32_t ack, uint8_t flags) noexcept:
        """Whether all that comes before this segment, in both directions, has been passed on."""
        cdef Side* other = &flow.side[1 - d]
        if ahead(seq, flow.side[d].next) > 0:
            return False
        return not (flags & KC_ACK and other.known and ahead(ack, other.next) > 0 and ahead(other.acked, ack) >= 0)

    cdef int pass_on(self, Flow* flow, int d, Segment* s) except -1:
        """The bytes of a segment that are new, to the layer above."""
        cdef Side* side = &flow.side[d]
        cdef uint32_t old = side.next - s.seq
        cdef uint32_t fresh, here
        if old >= s.length:
            self.duplicate += s.captured
            fresh = here = 0
            side.retransmitted += s.length > 1 or (s.length and old != 1)    # else it is empty, or keeps the connection alive
        else:
            fresh = s.length - old
            here = s.captured - old if s.captured > old else 0
            self.duplicate += s.captured - here
            if old:
                side.retransmitted += 1
        side.next += fresh
        side.offset += here
        if here:
            self.deliver(flow, d, s.ts, s.data + old, here)
        if fresh > here:
            self.lost(flow, d, s.ts, fresh - here, LOSS_CUT)
            side.offset += fresh - here
        if s.flags & KC_FIN and not side.closed and s.seq + s.length == side.next:
            side.next += 1
            side.closed = True
        if s.flags & KC_RST:
            side.closed = flow.reset = True
        return 0

    # Out of order

    cdef bint hold(self, Side* side, Segment* s) except -1:
        """Keep a segment until all before it has come; False: its bytes wait already."""
        cdef Held* held = held_before(side, s.seq)
        if held != NULL and held.seq == s.seq and held.length >= s.length and held.captured >= s.captured and not s.flags & KC_FIN:
            self.duplicate += s.captured
            side.retransmitted += s.length != 0
            return False
        held = <Held*>malloc(sizeof(Held) + s.captured)
        if held == NULL:
            raise MemoryError
        held.rank = self.next_rank()
        held.ts, held.seq, held.ack, held.flags = s.ts, s.seq, s.ack, s.flags
        held.captured, held.length = s.captured, s.length
        memcpy(held + 1, s.data, s.captured)
        put_held(side, held)
        self.held += sizeof(Held) + s.captured
        return True

    cdef uint32_t next_rank(self) noexcept:
        """The next of a row of chance numbers: xorshift32 (Marsaglia)."""
        self.chance ^= self.chance << 13
        self.chance ^= self.chance >> 17
        self.chance ^= self.chance << 5
        return self.chance

    cdef int drain(self, Flow* flow) except -1:
        """Pass on what waited and now has all before it."""
        cdef Held* held
        cdef Side* side
        cdef Segment s
        cdef bint again = True
        cdef int d
        while again:
            again = False
            for d in range(2):
                side = &flow.side[d]
                while side.known and side.held != NULL and self.ready(flow, d, side.held.seq, side.held.ack, side.held.flags):
                    held = take_held(side)
                    self.held -= sizeof(Held) + held.captured
                    s.ts, s.seq, s.ack, s.flags = held.ts, held.seq, held.ack, held.flags
                    s.captured, s.length = held.captured, held.length
                    s.data = <const uint8_t*>(held + 1)
                    try:
                        self.pass_on(flow, d, &s)
                    finally:
                        free(held)
                    again = True
        return 0

    cdef bint blocked(self, Flow* flow) noexcept:
        cdef int d
        cdef Side* side
        for d in range(2):
            side = &flow.side[d]
            if side.held != NULL or (side.known and side.answered and ahead(side.acked, side.next) > 0):
                return True
        return False

    cdef int begin(self, Flow* flow) except -1:
        """Directions that were under way start at the first byte seen."""
        cdef int d
        cdef Side* side
        for d in range(2):
            side = &flow.side[d]
            if not side.known and side.held != NULL:
                side.known = True
                side.first = side.next = side.held.seq
        return self.drain(flow)

    cdef int resolve(self, Flow* flow, bint force) except -1:
        """Pass over what was acknowledged and never seen; with `force`, over all that is missing."""
        if force:
            self.begin(flow)
        while self.pass_hole(flow, 0, force) or self.pass_hole(flow, 1, force) or (force and self.pass_first(flow)):
            self.drain(flow)
        return 0

    cdef bint pass_first(self, Flow* flow) except -1:
        """Pass on a segment that waits for the other direction, which waits for it: one of them has a damaged header."""
        cdef int d
        cdef Held* held
        for d in range(2):
            held = flow.side[d].held
            if held != NULL and flow.side[d].known:
                held.flags &= ~KC_ACK
                return True
        return False

    cdef bint pass_hole(self, Flow* flow, int d, bint force) except -1:
        cdef Side* side = &flow.side[d]
        cdef bint acked = side.known and side.answered and ahead(side.acked, side.next) > 0
        cdef uint32_t end
        if not side.known:
            return False
        if side.held != NULL:
            end = side.held.seq
            if ahead(end, side.next) <= 0:
                return False                    # waits for the other direction
            if not force and not (acked and ahead(side.acked, end) >= 0):
                if not acked:
                    return False
                end = side.acked
        elif acked:
            end = side.acked
            if end - side.next == 1:                # one alone is a FIN that was not seen
                side.next = end
                side.closed = True
                return True
        else:
            return False
        self.lost(flow, d, flow.last, end - side.next, LOSS_GIVEN_UP if self.relieving else LOSS_GAP)
        side.offset += end - side.next
        side.next = end
        return True


cdef inline void acknowledge(Side* side, Segment* s) noexcept:
    """The highest acknowledgement counts, unless BELOW packets in a row say less: then it was a damaged one."""
    cdef int32_t distance = ahead(s.ack, side.acked)
    if side.known and ahead(s.ack, side.next) > FARTHEST:
        s.flags &= ~KC_ACK       # no window is that wide: a damaged packet
        return
    if not side.answered or distance >= 0:
        side.below = 0
    else:
        side.below += 1
        if side.below < BELOW:
            return
    side.acked = s.ack
    side.answered = True
    side.below = 0


cdef void end_handshake(Flow* flow, Segment* s) noexcept:
    """The client's first acknowledgement of the server's SYN makes the round trip whole, wherever it was captured."""
    cdef Side* client = &flow.side[s.sender]
    cdef Side* server = &flow.side[1 - s.sender]
    if s.sender == flow.client and not s.flags & KC_SYN and server.syn and s.ack == server.first and s.seq == client.first:
        flow.round_trip = s.ts - flow.syn if s.ts > flow.syn else 0
        flow.syn = 0
