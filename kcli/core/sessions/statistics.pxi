# What is kept of each partition and counted of each fetch.

cdef enum:
    CELLS = 40
    SHARED = -2           # no session's id; nor is LOOSE, of fetches outside any


# What is asked of a partition, as trace.Asked.
cdef struct Position:
    int64_t offset, log_start
    int32_t max_bytes, leader_epoch, last_fetched_epoch


cdef class PartitionState:
    """See kcli.sessions.statistics.PartitionState."""

    # Small, since there are many and each fetch touches a few of them, far apart.
    cdef public int64_t high, stable, start
    cdef Position position
    cdef public int32_t answered
    cdef uint32_t asked_in, told_in     # the kernel's last exchange that named it
    cdef uint32_t mark                  # its place among the marks, from 1 on; 0: not known yet
    cdef public unsigned char informed, delivered, ever, redirected, late, skipped
    cdef unsigned char placed, will_be_late

    def __init__(self, asked, bint informed):
        self.asked = asked
        self.informed = informed
        self.high = self.stable = self.start = self.answered = -1

    @property
    def asked(self):
        if not self.placed:
            return None
        cdef Position* at = &self.position
        return (at.offset, at.log_start, at.max_bytes, at.leader_epoch, at.last_fetched_epoch)

    @asked.setter
    def asked(self, value):
        self.placed = value is not None
        cdef Position* at = &self.position
        if value is not None:
            at.offset, at.log_start, at.max_bytes, at.leader_epoch, at.last_fetched_epoch = value

    cdef bint behind_at(self, int64_t offset, int64_t isolation) noexcept:
        if not self.placed or not self.informed or self.redirected:
            return False
        return offset < (self.high if isolation == 0 or self.stable > self.high else self.stable)

    def is_behind(self, int64_t isolation):
        return self.behind_at(self.position.offset, isolation)

    def is_news(self, told):
        error, high, _, start, size, preferred, diverging = told
        return bool(size or error or high != self.high or start != self.start or preferred >= 0 or diverging)

    def tell(self, told, int64_t number):
        error, high, stable, start, size, preferred, _ = told
        self.informed = True
        self.high = -1 if error else high
        self.stable = -1 if error else stable
        self.start = start
        self.redirected = preferred >= 0
        self.answered = number
        self.skipped = 0
        if size:
            self.delivered = self.ever = True


cdef class Histogram:
    """See kcli.sessions.statistics.Histogram."""

    cdef public int64_t count, most
    cdef uint32_t* cells
    cdef int room

    def __init__(self):
        pass

    def __dealloc__(self):
        free(self.cells)

    cpdef int add(self, int64_t ns) except -1:
        cdef int shift = 0, step, room
        cdef uint32_t* grown
        cdef int64_t rest
        if ns < 0:
            ns = 0
        self.count += 1
        if ns > self.most:
            self.most = ns
        rest = ns
        while rest > 31:
            rest >>= 1
            shift += 1
        step = (shift << 4) + (rest & 15) if shift else <int>(ns >> 1)
        if step >= self.room:
            room = (step // 64 + 1) * 64
            grown = <uint32_t*>realloc(self.cells, room * sizeof(uint32_t))
            if grown == NULL:
                raise MemoryError
            memset(grown + self.room, 0, (room - self.room) * sizeof(uint32_t))
            self.cells, self.room = grown, room
        self.cells[step] += 1
        return 0

    @property
    def steps(self):
        return {step: self.cells[step] for step in range(self.room) if self.cells[step]}

    @steps.setter
    def steps(self, dict value):
        free(self.cells)
        self.room = (max(value, default=0) // 64 + 1) * 64
        self.cells = <uint32_t*>calloc(self.room, sizeof(uint32_t))
        if self.cells == NULL:
            raise MemoryError
        for step, count in value.items():
            self.cells[step] = count


cdef class Timeline:
    """See kcli.sessions.statistics.Timeline."""

    cdef readonly int64_t width, start
    cdef int64_t size[CELLS]
    cdef int64_t whole[CELLS]
    cdef int used

    def __init__(self):
        self.width, self.start, self.used = 1000000, -1, 1

    cpdef int add(self, int64_t ns, int64_t size, bint full) except -1:
        cdef int64_t at
        if self.start < 0:
            self.start = ns
        at = (ns - self.start) // self.width if ns > self.start else 0
        while at >= CELLS:
            self.halve()
            at //= 2
        if at >= self.used:
            self.used = at + 1
        self.size[at] += size
        self.whole[at] += full
        return 0

    cdef void halve(self) noexcept:
        cdef int i
        for i in range(CELLS // 2):
            self.size[i] = self.size[2 * i] + self.size[2 * i + 1]
            self.whole[i] = self.whole[2 * i] + self.whole[2 * i + 1]
        memset(&self.size[CELLS // 2], 0, CELLS // 2 * sizeof(int64_t))
        memset(&self.whole[CELLS // 2], 0, CELLS // 2 * sizeof(int64_t))
        self.width *= 2
        self.used = (self.used + 1) // 2

    @property
    def bytes(self):
        return [self.size[i] for i in range(self.used)]

    @property
    def full(self):
        return [self.whole[i] for i in range(self.used)]


cdef class Counts:
    """See kcli.sessions.statistics.Counts."""

    cdef public int64_t first_ns, last_ns, fetches, full, empty, unanswered, throttled
    cdef public int64_t request_bytes, response_bytes, records_bytes, full_request_bytes, full_response_bytes
    cdef public int64_t next_epoch, answered_ns, used_ns, quiet_since
    cdef public int64_t changed, late, request_cost, response_cost, topics
    cdef public bint unsure
    cdef public Histogram latencies
    cdef public Timeline strip
    cdef Tables kernel
    cdef Map by_number              # all partitions: number -> PartitionState, of which it has a reference
    cdef dict by_key                # the same for Python, once it has asked for them
    cdef bint privileged_, topic_ids_
    cdef int version_
    cdef int64_t id_
    cdef uint32_t server_
    cdef object link                # bytes, while attached
    cdef int64_t sizes[6]           # request and response: topic, partition; flexible, named

    def __init__(self):
        self.next_epoch = -1

    def __dealloc__(self):
        self.let_go()

    cdef void let_go(self) noexcept:
        cdef size_t at
        if self.by_number.slots != NULL:
            for at in range(self.by_number.mask + 1):
                if self.by_number.slots[at].value:
                    Py_DECREF(<object><void*>self.by_number.slots[at].value)
        map_free(&self.by_number)

    @property
    def seats(self):
        """The session's partitions by key; to be changed by `enter` and `leave` only."""
        cdef size_t at
        cdef Slot* slot
        if self.by_key is None:
            self.by_key = {}
            if self.by_number.slots != NULL:
                for at in range(self.by_number.mask + 1):
                    slot = &self.by_number.slots[at]
                    if slot.value:
                        self.by_key[self.kernel.key(slot.a)] = <object><void*>slot.value
        return self.by_key

    @property
    def size(self):
        """How many partitions there are."""
        return self.by_number.used if self.by_key is None else len(self.by_key)

    def fill(self, list asked not None, list told not None, int64_t isolation, bint privileged):
        """The partitions of a full fetch, and what its response says of them."""
        cdef PartitionState seat
        seats = self.seats
        for key, position in asked:
            if key not in seats:
                self.enter(key, PartitionState(position, True))
        for key, news in told:
            found = seats.get(key)
            if found is not None:
                seat = <PartitionState>found
                seat.tell(news, self.fetches)
                self.look(seat, isolation, privileged)

    cdef void look(self, PartitionState seat, int64_t isolation, bint privileged) noexcept:
        """Whether a consumer's partition has records to come."""
        cdef bint late = not privileged and seat.behind_at(seat.position.offset, isolation)
        self.late += <int>late - <int>seat.late
        seat.late = late

    def enter(self, key, PartitionState seat not None):
        """A partition has joined."""
        self.seats[key] = seat
        if self.kernel is not None:
            self.put(self.kernel.number(key, self.topic_ids_), seat)

    cdef int put(self, uint64_t number, PartitionState seat) except -1:
        if map_put(&self.by_number, number, 0, <uint64_t><void*>seat):
            raise MemoryError
        Py_INCREF(seat)
        return 0

    def leave(self, key):
        """A partition has left: its seat, None when it had none."""
        cdef uint64_t number, found
        seat = self.seats.pop(key, None)
        if seat is not None and self.kernel is not None:
            number = self.kernel.number(key, self.topic_ids_)
            found = map_find(&self.by_number, number, 0)
            if found:
                map_drop(&self.by_number, number, 0)
                Py_DECREF(<object><void*>found)
        return seat

    def silent(self, Py_ssize_t limit):
        """(keys of partitions that never delivered: the first `limit` in order, and how many there are)."""
        cdef size_t at
        cdef list keys = []
        cdef Slot* slot
        if self.kernel is None:
            keys = [key for key, seat in self.seats.items() if not seat.ever]
        elif self.by_number.slots != NULL:
            for at in range(self.by_number.mask + 1):
                slot = &self.by_number.slots[at]
                if slot.value and not (<PartitionState><void*>slot.value).ever:
                    keys.append(self.kernel.key(slot.a))
        keys.sort()
        return keys[:limit], len(keys)

    def clear(self):
        """Let all partitions go."""
        self.let_go()
        self.by_key = {}


# The last two high watermarks of one partition of one server, with the times when they were told; `when` 0: none.
cdef struct Mark:
    int64_t when[2]
    int64_t high[2]


cdef class HighWatermarks:
    """See kcli.sessions.statistics.HighWatermarks."""

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

    def learn_all(self, str server, list told not None, bint ids, int64_t owner, int64_t when):
        """What an answer says of partitions that have no error."""
        cdef uint32_t number = self.kernel.server(server)
        cdef uint64_t partition
        for key, news in told:
            partition = self.kernel.number(key, ids)
            if self.is_shared(<uint32_t>(partition >> 32), owner) and not news[0]:
                self.learn_c(number, partition, news[1], when)

    cdef bint is_shared(self, uint32_t topic, int64_t owner) except -1:
        """Whether another session than `owner` has named the topic: only then does it matter who was told what."""
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
        """Of a partition's marks, from 1 on."""
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
            # The log was cut back, or another broker leads it now: begin anew.
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
