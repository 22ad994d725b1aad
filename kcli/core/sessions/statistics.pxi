# The counts of a session's fetches, and its partitions.


cdef class Counts:
    """Statistics of a session, or of a client's fetches without one. Times in ns, bytes as on the wire.

    next_epoch: the epoch that the session's next fetch must have; -1 if unknown. answered_ns, used_ns: when its last
    good fetch was answered, and sent. quiet_since: when its last fetch that was not throttled was sent. late: the
    number of its partitions with more records. unsure: its last fetch had no response, so it is unknown whether the
    broker processed it. seats: the session's partitions by key, changed only by `enter` and `leave`. not_wanted,
    not_granted: fetches outside sessions that requested none, and those that were not granted one. request_cost,
    response_cost: the bytes for naming every partition, and `topics` topics, in a full fetch.
    """

    cdef public int64_t first_ns, last_ns, fetches, full, empty, unanswered, throttled
    cdef public int64_t request_bytes, response_bytes, records_bytes, full_request_bytes, full_response_bytes
    cdef public int64_t next_epoch, answered_ns, used_ns, quiet_since
    cdef public int64_t changed, late, request_cost, response_cost, topics
    cdef public int64_t not_wanted, not_granted
    cdef public bint unsure
    cdef public dict errors         # number by code
    cdef public Histogram latencies
    cdef public Timeline strip
    cdef Tables kernel
    cdef Map by_number              # all partitions: number -> PartitionState, to which it has a reference
    cdef dict by_key                # the same for Python; None until it is needed
    cdef bint privileged_, topic_ids_
    cdef int version_
    cdef int64_t id_
    cdef uint32_t server_
    cdef object link                # bytes, while attached
    cdef int64_t sizes[6]           # of request, then response: topic, partition, whether it is flexible

    def __init__(self):
        self.next_epoch = -1
        self.errors = {}

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
        """The session's partitions by key, changed only by `enter` and `leave`."""
        cdef size_t at
        cdef Slot* slot
        if self.by_key is None:
            self.by_key = {}
            if self.by_number.slots != NULL:
                for at in range(self.by_number.mask + 1):
                    slot = &self.by_number.slots[at]
                    if slot.value:
                        self.by_key[self.kernel.key(slot.a)] = <object><void*>slot.value
            self.by_key = dict(sorted(self.by_key.items()))   # places of slots differ from process to process
        return self.by_key

    @property
    def size(self):
        """The number of partitions."""
        return self.by_number.used if self.by_key is None else len(self.by_key)

    def fill(self, list asked not None, list reported not None, int64_t isolation, bint privileged):
        """Add the partitions of a full fetch, and note the response's report of them."""
        cdef PartitionState seat
        seats = self.seats
        for key, position in asked:
            if key not in seats:
                self.enter(key, PartitionState(position, True))
        for key, news in reported:
            found = seats.get(key)
            if found is not None:
                seat = <PartitionState>found
                seat.note(news, self.fetches)
                self.look(seat, isolation, privileged)

    cdef void look(self, PartitionState seat, int64_t isolation, bint privileged) noexcept:
        """Note whether a consumer's partition has more records."""
        cdef bint late = not privileged and seat.behind_at(seat.position.offset, isolation)
        self.late += <int>late - <int>seat.late
        seat.late = late

    def enter(self, key, PartitionState seat not None):
        """Add a partition that joined the session."""
        self.seats[key] = seat
        if self.kernel is not None:
            self.put(self.kernel.number(key, self.topic_ids_), seat)

    cdef int put(self, uint64_t number, PartitionState seat) except -1:
        if map_put(&self.by_number, number, 0, <uint64_t><void*>seat):
            raise MemoryError
        Py_INCREF(seat)
        return 0

    def leave(self, key):
        """Remove a partition that left the session; return its seat, None if it had none."""
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
        """Return (keys of partitions that never delivered, the first `limit` in order; the number of all of them)."""
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
        """Remove all partitions."""
        self.let_go()
        self.by_key = {}
