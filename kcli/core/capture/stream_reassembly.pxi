# Puts bytes in order: holds them, passes them on, or skips missing ones.


cdef class Reassembly:
    def __cinit__(self, StreamHandler handler not None):
        self.next = handler
        self.chance = int.from_bytes(os.urandom(4), "little") | 1

    # Bytes in order

    cdef bint receive(self, Flow* flow, Segment* s) except -1:
        """Note a segment's acknowledgement, and pass its bytes on; or hold them for later, and return True."""
        cdef Side* side = &flow.side[s.sender]
        cdef int32_t distance
        if s.flags & KC_ACK:
            acknowledge(&flow.side[1 - s.sender], s)
            if flow.syn:
                end_handshake(flow, s)
        if not s.length and not s.flags & (KC_FIN | KC_RST):
            return False
        if not side.known:
            if s.length:
                return self.hold(side, s)
            if s.flags & KC_RST:
                side.closed = flow.reset = True
            return False
        distance = ahead(s.seq, side.next)
        if distance < -FARTHEST and s.length:
            self.next.lost(flow, s.sender, s.ts, 0, LOSS_JUMP)
            side.next = s.seq
        if s.flags & KC_RST and not 0 <= distance < NEAR:
            side.closed = flow.reset = True       # resets often have no fitting sequence number
            self.stray += s.captured
            return False
        if not self.ready(flow, s.sender, s.seq, s.ack, s.flags):
            return self.hold(side, s)
        self.pass_on(flow, s.sender, s)
        if flow.waiting:
            self.drain(flow)
        return False

    cdef bint ready(self, Flow* flow, int d, uint32_t seq, uint32_t ack, uint8_t flags) noexcept:
        """Return whether all bytes before this segment, in both directions, have been passed on."""
        cdef Side* other = &flow.side[1 - d]
        if ahead(seq, flow.side[d].next) > 0:
            return False
        return not (flags & KC_ACK and other.known and ahead(ack, other.next) > 0 and ahead(other.acked, ack) >= 0)

    cdef int pass_on(self, Flow* flow, int d, Segment* s) except -1:
        """Pass the new bytes of a segment to the handler."""
        cdef Side* side = &flow.side[d]
        cdef uint32_t old = side.next - s.seq
        cdef uint32_t fresh, here
        if self.next.watches:
            self.next.goes_on(flow, d)
        if old >= s.length:
            self.duplicate += s.captured
            fresh = here = 0
            side.retransmitted += s.length > 1 or (s.length and old != 1)    # else it is empty, or a keep-alive
        else:
            fresh = s.length - old
            here = s.captured - old if s.captured > old else 0
            self.duplicate += s.captured - here
            if old:
                side.retransmitted += 1
        side.next += fresh
        side.offset += here
        if here:
            self.next.receive(flow, d, s.ts, s.data + old, here)
        if fresh > here:
            self.next.lost(flow, d, s.ts, fresh - here, LOSS_CUT)
            side.offset += fresh - here
        if s.flags & KC_FIN and not side.closed and s.seq + s.length == side.next:
            side.next += 1
            side.closed = True
        if s.flags & KC_RST:
            side.closed = flow.reset = True
        return 0

    # Bytes out of order

    cdef bint hold(self, Side* side, Segment* s) except -1:
        """Hold a segment until all bytes before it have come; return False if its bytes are held already."""
        cdef Held* held = held_before(side, s.seq)
        if (
            held != NULL
            and held.seq == s.seq
            and held.length >= s.length
            and held.captured >= s.captured
            and not s.flags & KC_FIN
        ):
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
        """Return the next pseudorandom number: xorshift32 (Marsaglia)."""
        self.chance ^= self.chance << 13
        self.chance ^= self.chance >> 17
        self.chance ^= self.chance << 5
        return self.chance

    cdef int drain(self, Flow* flow) except -1:
        """Pass on held segments that have no missing bytes before them now."""
        cdef Held* held
        cdef Side* side
        cdef Segment s
        cdef bint again = True
        cdef int d
        while again:
            again = False
            for d in range(2):
                side = &flow.side[d]
                while (
                    side.known
                    and side.held != NULL
                    and self.ready(flow, d, side.held.seq, side.held.ack, side.held.flags)
                ):
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

    cdef int begin(self, Flow* flow) except -1:
        """Start directions that began before the capture at the first captured byte, and pass on their held
        segments.
        """
        cdef int d
        cdef Side* side
        for d in range(2):
            side = &flow.side[d]
            if not side.known and side.held != NULL:
                side.known = True
                side.first = side.next = side.held.seq
        return self.drain(flow)

    cdef int resolve(self, Flow* flow, bint force, Loss why) except -1:
        """Skip bytes that were acknowledged but never captured; with `force`, skip all missing bytes."""
        if force:
            self.begin(flow)
        while (
            self.pass_hole(flow, 0, force, why)
            or self.pass_hole(flow, 1, force, why)
            or (force and pass_first(flow))
        ):
            self.drain(flow)
        return 0

    cdef bint pass_hole(self, Flow* flow, int d, bint force, Loss why) except -1:
        cdef Side* side = &flow.side[d]
        cdef bint acked = side.known and side.answered and ahead(side.acked, side.next) > 0
        cdef uint32_t end
        if not side.known:
            return False
        if side.held != NULL:
            end = side.held.seq
            if ahead(end, side.next) <= 0:
                return False                    # it waits for the other direction
            if not force and not (acked and ahead(side.acked, end) >= 0):
                if not acked:
                    return False
                end = side.acked
        elif acked:
            end = side.acked
            if end - side.next == 1:                # a single one is a FIN that was not captured
                side.next = end
                side.closed = True
                return True
        else:
            return False
        self.next.lost(flow, d, flow.last, end - side.next, why)
        side.offset += end - side.next
        side.next = end
        return True

    # Whole connections

    cdef int end(self, Flow* flow, uint64_t ts, Loss why) except -1:
        """End a connection: pass on its held segments, report missing bytes as lost, and free its memory."""
        cdef int d
        self.resolve(flow, True, why)
        self.next.ended(flow, ts, ending(flow, why))
        for d in range(2):
            self.held -= flow.side[d].held_bytes
            free_held(&flow.side[d])
        return 0

    cdef int give_up(self, Flow* flow) except -1:
        """Skip the missing bytes of a connection that holds too much and goes on."""
        self.resolve(flow, True, LOSS_GIVEN_UP)
        return self.next.give_up(flow)

    cdef int forget(self, Flow* flow) except -1:
        return self.next.forget(flow)

    cdef size_t weight(self, Flow* flow) noexcept:
        """Return the bytes of memory that a connection holds, here and in the handler."""
        return flow.side[0].held_bytes + flow.side[1].held_bytes + self.next.weight(flow)

    cdef bint is_steady(self, Flow* flow) noexcept:
        """Return whether a connection has no missing bytes and the handler waits for nothing."""
        cdef Side* side
        cdef int d
        for d in range(2):
            side = &flow.side[d]
            if not (side.seen and side.known and side.answered) or side.closed or side.below:
                return False
        return not blocked(flow) and self.next.is_steady(flow)

    cdef tuple dump(self, Flow* flow):
        """Return (both sides, the handler's state) of a connection as plain values."""
        return (dump_side(&flow.side[0]), dump_side(&flow.side[1])), self.next.dump(flow)

    cdef int restore(self, Flow* flow, tuple sides, tuple values) except -1:
        cdef int d
        for d in range(2):
            self.held += restore_side(self, &flow.side[d], sides[d])
        return 0 if values is None else self.next.restore(flow, values)


cdef Ending ending(Flow* flow, Loss why) noexcept:
    if why == LOSS_GIVEN_UP:
        return END_GIVEN_UP
    if flow.reset:
        return END_RESET
    return END_CLOSED if flow.side[0].closed or flow.side[1].closed else END_OF_CAPTURE


cdef bint blocked(Flow* flow) noexcept:
    """Return whether segments of a connection are held, or bytes were acknowledged but never captured."""
    cdef int d
    cdef Side* side
    for d in range(2):
        side = &flow.side[d]
        if side.held != NULL or (side.known and side.answered and ahead(side.acked, side.next) > 0):
            return True
    return False


cdef bint pass_first(Flow* flow) noexcept:
    """Pass on a segment that waits for the other direction, while that waits for this one; one of them has a damaged
    header.
    """
    cdef int d
    cdef Held* held
    for d in range(2):
        held = flow.side[d].held
        if held != NULL and flow.side[d].known:
            held.flags &= ~KC_ACK
            return True
    return False


cdef inline void acknowledge(Side* side, Segment* s) noexcept:
    """Note the highest acknowledgment. BELOW lower ones in a row override it, as then a damaged packet had it."""
    cdef int32_t distance = ahead(s.ack, side.acked)
    if side.known and ahead(s.ack, side.next) > FARTHEST:
        s.flags &= ~KC_ACK       # no window is so wide: a damaged packet
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
    """Measure the handshake's round trip at the client's first ACK of the server's SYN, wherever it was captured."""
    cdef Side* client = &flow.side[s.sender]
    cdef Side* server = &flow.side[1 - s.sender]
    if (
        s.sender == flow.client
        and not s.flags & KC_SYN
        and server.syn
        and s.ack == server.first
        and s.seq == client.first
    ):
        flow.round_trip = s.ts - flow.syn if s.ts > flow.syn else 0
        flow.syn = 0
