# The table of connections, by their two ends, and those that are closed.


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
        cdef Flow* flow = self.recent
        cdef uint64_t hash
        if flow != NULL and memcmp(&flow.ends, &s.ends, sizeof(Ends)) == 0:
            return flow
        hash = hash_ends(&s.ends)
        flow = self.slots[hash & (self.slot_count - 1)]
        while flow != NULL and (flow.hash != hash or memcmp(&flow.ends, &s.ends, sizeof(Ends)) != 0):
            flow = flow.chain
        if flow == NULL:
            flow = self.add(s, hash)
        self.recent = flow
        return flow

    cdef Flow* add(self, Segment* s, uint64_t hash) except NULL:
        cdef Flow* flow
        if self.flow_count >= self.slot_count:
            self.widen()
        flow = <Flow*>calloc(1, sizeof(Flow))
        if flow == NULL:
            raise MemoryError
        flow.ends = s.ends
        flow.hash = hash
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
        """Out of the table: another connection of the same ends takes its place."""
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

    # Closed ones, kept a while to know late duplicates

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
        """The first one."""
        self.done_first = flow.done_newer
        if self.done_first == NULL:
            self.done_latest = NULL
        self.done_count -= 1
        flow.done_newer = NULL
