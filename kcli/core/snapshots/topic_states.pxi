# The partitions of one topic while a log is replayed.

DEF WIDTH = 3                     # items of a list, at first
DEF MOST_ITEMS = 16               # at most


cdef class TopicStates:
    """The partitions of one topic that a log has changed. partitions: those of the image, as framed bytes; watched: ids
    that are not changed here.
    """

    cdef dict partitions
    cdef set watched
    cdef uint8_t[16] topic
    cdef kc_short* shorts         # a short state for each id below `room`
    cdef uint8_t* block           # whole states for the same ids; NULL: none is needed yet
    cdef int32_t room, changed
    cdef int32_t* numbers         # ids of the `changed` states
    cdef int width

    def __cinit__(self, bytes topic not None, dict partitions not None, set watched):
        memcpy(self.topic, PyBytes_AS_STRING(topic), 16)
        self.partitions = partitions
        self.watched = watched
        self.room = self.changed = 0
        self.width = WIDTH
        self.shorts = NULL
        self.block = NULL
        self.numbers = NULL

    def __dealloc__(self):
        free(self.shorts)
        free(self.block)
        free(self.numbers)

    cdef kc_state* at(self, int32_t number) noexcept:
        return <kc_state*>(self.block + number * kc_state_size(self.width))

    cdef int make_room(self, int64_t room) except -1:
        """Make room for the states of this many partitions."""
        cdef int32_t* numbers = <int32_t*>realloc(self.numbers, (room + 1) * sizeof(int32_t))
        cdef kc_short* shorts
        if numbers == NULL:
            raise MemoryError
        self.numbers = numbers
        shorts = <kc_short*>calloc(room + 1, sizeof(kc_short))
        if shorts == NULL:
            raise MemoryError
        if self.room:
            memcpy(shorts, self.shorts, self.room * sizeof(kc_short))
        free(self.shorts)
        self.shorts, self.room = shorts, <int32_t>room
        if self.block != NULL:
            self.lay_out(self.width)
        return 0

    cdef int lay_out(self, int width) except -1:
        """Make room for whole states, with lists of this many items."""
        cdef size_t size = kc_state_size(width)
        cdef uint8_t* block = <uint8_t*>calloc(self.room + 1, size)
        cdef int32_t index, number
        if block == NULL:
            raise MemoryError
        for index in range(self.changed):
            number = self.numbers[index]
            if self.shorts[number].where == KC_IN_STATE:
                kc_copy_state(<kc_state*>(block + number * size), width, self.at(number), self.width)
        free(self.block)
        self.block, self.width = block, width
        return 0

    cdef kc_short* short(self, int32_t number) except? NULL:
        """Return the short state of a partition, which tells where its state is. NULL: there is no such partition, or
        its bytes are not understood.
        """
        cdef kc_partition partition
        cdef kc_short* found
        cdef int answer
        cdef int64_t count
        if number >= self.room:
            count = len(self.partitions)
            if self.room < count:
                self.make_room(min(count + (count // 2 if self.room else 0), 0x7fffffff))
        if number < 0 or number >= self.room:
            return NULL
        found = &self.shorts[number]
        kc_prefetch_short(found)
        if found.where != KC_NOWHERE:
            return found
        if not read_framed(self.partitions.get(number), &partition):
            return NULL
        if self.watched is not None and number in self.watched:
            return NULL
        answer = kc_load_short(found, &partition)
        if answer == KC_REFUSED:
            return NULL
        self.numbers[self.changed] = number
        self.changed += 1
        found.where = KC_IN_SHORT
        if answer == KC_WIDER:
            self.load_state(number)
        return found

    cdef int load_state(self, int32_t number) except -1:
        """Load a partition's whole state from its record, and use it in place of the short one."""
        cdef kc_partition partition
        cdef int width
        framed = self.partitions[number]
        read_framed(framed, &partition)
        if self.block == NULL:
            self.lay_out(self.width)
        width = self.width
        while kc_load_state(self.at(number), &width, &partition, PyBytes_AS_STRING(framed)[2]) == KC_WIDER:
            self.lay_out(width)
        self.shorts[number].where = KC_IN_STATE
        return 0

    cdef bint apply(self, const kc_change* change, StateCounts counts) except -1:
        """Apply a change, and count its effect."""
        cdef kc_short* found
        cdef int before
        cdef int32_t leader
        if counts is None:
            return self.change(change)
        found = self.short(change.id)
        if found == NULL:
            return False
        before, leader = self.facts(found, change.id), self.leader(found, change.id)
        if not self.change(change):
            return False
        counts.shift(before, self.facts(found, change.id))
        if leader != self.leader(found, change.id):
            counts.move(PyBytes_FromStringAndSize(<char*>self.topic, 16), change.id)
        return True

    cdef int facts(self, const kc_short* found, int32_t number) noexcept:
        return kc_short_facts(found) if found.where == KC_IN_SHORT else kc_state_facts(self.at(number))

    cdef int32_t leader(self, const kc_short* found, int32_t number) noexcept:
        return found.leader if found.where == KC_IN_SHORT else self.at(number).leader

    cdef bint change(self, const kc_change* change) except -1:
        cdef kc_short* found = self.short(change.id)
        cdef int answer, width
        if found == NULL:
            return False
        if found.where == KC_IN_SHORT:
            answer = kc_apply_short(found, change)
            if answer != KC_WIDER:
                return answer == KC_DONE
            self.load_state(change.id)
            kc_lay_over(self.at(change.id), self.width, found)
        while True:
            width = self.width
            answer = kc_apply_change(self.at(change.id), &width, change)
            if answer != KC_WIDER:
                return answer == KC_DONE
            self.lay_out(width)

    cdef bint match(self, const kc_partition* other) except -1:
        """Return whether a partition equals a record and was not compared before."""
        cdef kc_short* found = self.short(other.id)
        cdef kc_partition mine
        cdef uint8_t[1024] out
        cdef size_t size
        if found == NULL or found.replicas & KC_SEEN:
            return False
        found.replicas |= KC_SEEN
        if found.where == KC_IN_SHORT:
            return read_framed(self.partitions[other.id], &mine) and kc_same_short(found, &mine, other)
        size = kc_write_state(out, self.at(other.id), self.width, other.id, self.topic)
        return kc_read_partition(out + 3, out + size, out[2], &mine) == 0 and kc_same_partition(&mine, other)

    cdef void forget_seen(self) noexcept:
        cdef int32_t number
        for number in range(self.room):
            self.shorts[number].replicas &= <uint8_t>~KC_SEEN

    cdef bint put(self, int32_t number, const kc_record* record) except -1:
        if self.watched is not None and number in self.watched:
            return False
        if 0 <= number < self.room and self.shorts[number].where != KC_NOWHERE:
            self.settle()
        self.partitions[number] = PyBytes_FromStringAndSize(<char*>record.value, record.value_size)
        return True

    cdef int settle(self) except -1:
        """Write the changed partitions back into the image, and forget them."""
        cdef int32_t index, number
        cdef kc_short* found
        cdef uint8_t[1024] out
        for index in range(self.changed):
            number = self.numbers[index]
            found = &self.shorts[number]
            if found.where == KC_IN_SHORT:
                size = self.write_short(out, number)
            else:
                size = kc_write_state(out, self.at(number), self.width, number, self.topic)
            found.where = KC_NOWHERE
            self.partitions[number] = PyBytes_FromStringAndSize(<char*>out, size)
        self.changed = 0
        return 0

    cdef size_t write_short(self, uint8_t* out, int32_t number) except 0:
        """Write the record of a partition that has a short state."""
        cdef kc_room room
        cdef kc_state* state = &room.state
        cdef kc_partition partition
        cdef int width = MOST_ITEMS
        framed = self.partitions[number]
        read_framed(framed, &partition)
        kc_load_state(state, &width, &partition, PyBytes_AS_STRING(framed)[2])
        kc_lay_over(state, width, &self.shorts[number])
        return kc_write_state(out, state, width, number, self.topic)
