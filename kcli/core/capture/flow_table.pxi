# The table of connections by their two ends, and the list of closed ones.

cdef enum:
    MOST_ALIKE = 64              # most connections with the same two ends to distinguish
    FIT = 1 << 24                # most bytes between sequence numbers of one connection

cdef int64_t NO_FIT = <int64_t>1 << 40


cdef inline bint is_between(Flow* flow, uint64_t hash, Segment* s) noexcept:
    """Return whether a connection has the segment's ends."""
    return flow.hash == hash and memcmp(&flow.ends, &s.ends, sizeof(Ends)) == 0


cdef inline bint comes_by(Flow* flow, Segment* s) noexcept:
    """Return whether an earlier packet of the segment's sender took the same path."""
    cdef int i
    for i in range(PATHS):
        if flow.paths[s.sender][i] == s.path:
            return True
    return False


cdef void note_path(Flow* flow, Segment* s) noexcept:
    """Put the segment's path first, and forget the oldest path if there are too many."""
    cdef uint32_t* paths = flow.paths[s.sender]
    cdef uint32_t before = s.path, here
    cdef int i
    for i in range(PATHS):
        here, paths[i] = paths[i], before
        if here == s.path:
            return
        before = here


cdef int64_t distance_from(Side* side, uint32_t number) noexcept:
    """Return the bytes between a number and those of a direction; NO_FIT: too many; -1: it has none yet."""
    cdef int64_t distance
    if side.known:
        distance = ahead(number, side.next)
    elif side.held != NULL:
        distance = ahead(number, side.held.seq)
    elif side.answered:
        distance = ahead(number, side.acked)
    else:
        return -1
    return abs(distance) if abs(distance) < FIT else NO_FIT


cdef int64_t distance_of(Flow* flow, Segment* s) noexcept:
    """Return the bytes between the sequence numbers of a segment and a connection; NO_FIT: too many, or nothing to
    compare.
    """
    cdef Side* side = &flow.side[s.sender]
    cdef int64_t found, distance
    if s.flags & KC_SYN and side.known:
        distance = ahead(side.first, s.seq + 1)
        return distance if 0 <= distance < (1 if side.syn else NEAR) else NO_FIT
    found = distance_from(side, s.seq)
    distance = distance_from(&flow.side[1 - s.sender], s.ack) if s.flags & KC_ACK else -1
    return max(found, distance) if found >= 0 or distance >= 0 else NO_FIT


cdef bint is_behind_start(Flow* flow, Segment* s) noexcept:
    """Return whether both numbers of a segment are among the bytes that a connection sent."""
    cdef Side* side = &flow.side[s.sender]
    cdef Side* other = &flow.side[1 - s.sender]
    if not (s.flags & KC_ACK and side.known and other.known):
        return False
    return (
        ahead(s.seq, side.first) >= 0 and ahead(side.next, s.seq) >= 0
        and ahead(s.ack, other.first) >= 0 and ahead(other.next, s.ack) >= 0
    )


cdef bint is_behind_end(Flow* flow, Segment* s) noexcept:
    """Return whether both numbers of a segment are beyond the bytes that a connection sent; after a reset, bytes may be
    late.
    """
    cdef Side* side = &flow.side[s.sender]
    cdef Side* other = &flow.side[1 - s.sender]
    cdef int32_t most = NEAR if flow.reset else 0
    if not (s.flags & KC_ACK and side.known and other.known):
        return False
    return not -FIT < ahead(s.seq, side.next) <= most and not -FIT < ahead(s.ack, other.next) <= most


cdef class Flows:
    def __cinit__(self):
        self.slot_count = 1024
        self.slots = <Flow**>calloc(self.slot_count, sizeof(Flow*))
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef Flow* flow = self.first
        while flow != NULL:
            self.first = flow.newer
            free_held(&flow.side[0])
            free_held(&flow.side[1])
            free(flow)
            flow = self.first
        free(self.slots)

    cdef Flow* find(self, Segment* s) except NULL:
        """Return the connection of a segment; add one if there is none."""
        cdef Flow* flow = self.recent
        cdef uint64_t hash
        if flow == NULL or memcmp(&flow.ends, &s.ends, sizeof(Ends)) != 0:
            hash = place_ends(&s.ends)
            flow = self.slots[hash & (self.slot_count - 1)]
            while flow != NULL and not is_between(flow, hash, s):
                flow = flow.chain
            if flow == NULL:
                flow = self.add(s, hash)
        if flow.paths[s.sender][0] != s.path:
            flow = self.of_path(flow, s)
        self.recent = flow
        return flow

    cdef Flow* of_path(self, Flow* found, Segment* s) except NULL:
        """Return the connection of a segment among those with the same two ends, by the segment's path. It is one whose
        packets took this path, or else the one whose numbers fit best, as a connection may be captured in several
        places, and its directions may take different paths; or else one without packets of the sender, whose other end
        has none or took this path. Add another connection if there is none.
        """
        cdef Flow* flow = self.slots[found.hash & (self.slot_count - 1)]
        cdef Flow* best = NULL
        cdef Flow* free = NULL
        cdef int64_t nearest = NO_FIT, distance
        cdef int alike = 0, twins = 0
        while flow != NULL:
            if is_between(flow, found.hash, s):
                alike += 1
                twins = max(twins, flow.twin + 1)
                if comes_by(flow, s):
                    best = flow
                    break
                distance = distance_of(flow, s)
                if distance < nearest:
                    best, nearest = flow, distance
                if free == NULL and not flow.paths[s.sender][0] and flow.paths[1 - s.sender][0] in (0, s.path):
                    free = flow
            flow = flow.chain
        if best == NULL and free == NULL and alike < MOST_ALIKE and not s.flags & KC_RST:
            best = self.add(s, found.hash)
            best.twin = twins
        elif best == NULL:
            best = free if free != NULL else found
        note_path(best, s)
        return best

    cdef Flow* add(self, Segment* s, uint64_t hash) except NULL:
        cdef Flow* flow
        if self.flow_count >= self.slot_count:
            self.widen()
        flow = <Flow*>calloc(1, sizeof(Flow))
        if flow == NULL:
            raise MemoryError
        flow.ends = s.ends
        flow.hash = hash
        flow.paths[s.sender][0] = s.path
        flow.client = flow.round_trip = -1
        flow.chain = self.slots[hash & (self.slot_count - 1)]
        self.slots[hash & (self.slot_count - 1)] = flow
        flow.older = self.latest
        if self.latest != NULL:
            self.latest.newer = flow
        else:
            self.first = flow
        self.latest = flow
        self.flow_count += 1
        self.held += FLOW_SIZE
        return flow

    cdef int widen(self) except -1:
        cdef size_t count = self.slot_count * 4, slot
        cdef Flow** slots = <Flow**>calloc(count, sizeof(Flow*))
        cdef Flow* flow = self.first
        if slots == NULL:
            raise MemoryError
        for slot in range(self.slot_count):
            flow = self.slots[slot]
            while flow != NULL:
                following = flow.chain
                flow.chain = slots[flow.hash & (count - 1)]
                slots[flow.hash & (count - 1)] = flow
                flow = following
        free(self.slots)
        self.slots, self.slot_count = slots, count
        return 0

    cdef int unlink(self, Flow* flow) except -1:
        """Remove a connection from the table: it is discarded, or another one of the same ends replaces it."""
        cdef Flow** place = &self.slots[flow.hash & (self.slot_count - 1)]
        while place[0] != NULL:
            if place[0] == flow:
                place[0] = flow.chain
                self.flow_count -= 1
                break
            place = &place[0].chain
        if self.recent == flow:
            self.recent = NULL
        return 0

    cdef int discard(self, Flow* flow) except -1:
        self.unlink(flow)
        if flow.older != NULL:
            flow.older.newer = flow.newer
        else:
            self.first = flow.newer
        if flow.newer != NULL:
            flow.newer.older = flow.older
        else:
            self.latest = flow.older
        free_held(&flow.side[0])
        free_held(&flow.side[1])
        free(flow)
        return 0

    # Closed connections, which are kept for a while to recognize late duplicates

    cdef void remember(self, Flow* flow) noexcept:
        flow.done_newer = NULL
        if self.done_latest != NULL:
            self.done_latest.done_newer = flow
        else:
            self.done_first = flow
        self.done_latest = flow
        self.done_count += 1
        self.held -= FLOW_SIZE

    cdef void unremember(self, Flow* flow) noexcept:
        """Remove the oldest closed connection from the list."""
        self.done_first = flow.done_newer
        if self.done_first == NULL:
            self.done_latest = NULL
        self.done_count -= 1
        flow.done_newer = NULL
