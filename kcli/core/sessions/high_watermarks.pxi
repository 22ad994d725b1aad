# High watermarks of partitions, as servers last reported them.

cdef enum:
    SHARED = -2           # of several sessions; no session has this id, nor LOOSE


# The last two high watermarks of a partition on one server, with the times when they were reported; `when` 0: none.
cdef struct Mark:
    int64_t when[2]
    int64_t high[2]


cdef class HighWatermarks:
    """The last two high watermarks of each partition of each server, with the times (ns) when they were reported."""

    cdef Tables kernel
    cdef Map by_number
    cdef Mark* marks
    cdef size_t used, room
    cdef int64_t* owners            # by topic: the session that has named it; SHARED: more than one
    cdef size_t owner_room

    def __init__(self, Tables kernel not None):
        self.kernel = kernel

    def __dealloc__(self):
        map_free(&self.by_number)
        free(self.marks)
        free(self.owners)

    def moved_past(self, str server, key, bint ids, int64_t high, int64_t before):
        cdef int64_t mark = self.moved_past_c(self.kernel.server(server), self.kernel.number(key, ids), high, before)
        return None if mark < 0 else mark

    def learn_all(self, str server, list reported not None, bint ids, int64_t owner, int64_t when):
        """Learn the high watermarks of a response's partitions without error."""
        cdef uint32_t number = self.kernel.server(server)
        cdef uint64_t partition
        for key, news in reported:
            partition = self.kernel.number(key, ids)
            if self.is_shared(<uint32_t>(partition >> 32), owner) and not news[0]:
                self.learn_c(number, partition, news[1], when)

    cdef bint is_shared(self, uint32_t topic, int64_t owner) except -1:
        """Note the session that names a topic; return whether another one has named it, too. High watermarks are only
        kept for such topics.
        """
        cdef size_t room
        cdef int64_t* grown
        if topic >= self.owner_room:
            room = max(<size_t>topic + 1, 2 * self.owner_room)
            grown = <int64_t*>realloc(self.owners, room * sizeof(int64_t))
            if grown == NULL:
                raise MemoryError
            memset(grown + self.owner_room, 0, (room - self.owner_room) * sizeof(int64_t))
            self.owners, self.owner_room = grown, room
        if self.owners[topic] == 0:
            self.owners[topic] = owner
        elif self.owners[topic] != owner:
            self.owners[topic] = SHARED
        return self.owners[topic] == SHARED

    cdef size_t place(self, uint32_t server, uint64_t key) except 0:
        """Return the place of a partition's marks, from 1 on."""
        cdef uint64_t found = map_find(&self.by_number, key, server)
        if found:
            return found
        if self.used == self.room:
            self.grow()
        memset(&self.marks[self.used], 0, sizeof(Mark))
        self.used += 1
        if map_put(&self.by_number, key, server, self.used):
            raise MemoryError
        return self.used

    cdef int learn_c(self, uint32_t server, uint64_t key, int64_t high, int64_t when) except -1:
        self.learn_at(self.place(server, key), high, when)
        return 0

    cdef void learn_at(self, size_t place, int64_t high, int64_t when) noexcept:
        cdef Mark* mark = &self.marks[place - 1]
        if mark.when[1] and high == mark.high[1]:
            return
        if high < mark.high[1]:
            # The log was truncated, or another broker leads it now: begin anew.
            mark.when[1] = 0
        mark.when[0], mark.high[0] = mark.when[1], mark.high[1]
        mark.when[1], mark.high[1] = when, high

    cdef int grow(self) except -1:
        cdef size_t room = self.room * 2 if self.room else 64
        cdef Mark* grown = <Mark*>realloc(self.marks, room * sizeof(Mark))
        if grown == NULL:
            raise MemoryError
        self.marks, self.room = grown, room
        return 0

    cdef int64_t moved_past_c(self, uint32_t server, uint64_t key, int64_t high, int64_t before) noexcept:
        cdef uint64_t found = map_find(&self.by_number, key, server)
        return self.moved_past_at(found, high, before) if found else -1

    cdef int64_t moved_past_at(self, size_t place, int64_t high, int64_t before) noexcept:
        cdef Mark* mark = &self.marks[place - 1]
        cdef int i
        for i in range(2):
            if mark.when[i] and mark.high[i] > high and mark.when[i] < before:
                return mark.high[i]
        return -1
