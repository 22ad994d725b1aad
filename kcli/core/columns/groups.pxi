# Counts by group, where a group is a few numbers; and latencies in a histogram whose buckets grow with them.

cdef enum:
    MOST_BY = 10              # numbers of a group
    MOST_GROUPS = 10_000
    MOST_TEXTS = 100_000
    FEW_COMBINED = 64         # groups that one exchange is counted in, and MOST_COMBINED more for each value that it has
    MOST_COMBINED = 16
    MOST_CODES = 100_000      # pairs of a group and an error code
    OCTAVES = 60
    STEPS = 64                # buckets of an octave: the middle of one is 1/128 at most from what it stands for
    OTHER_CODE = 1 << 16

cdef extern from *:
    """
    static inline int kc_bucket(uint64_t us) {
        if (us < 64) return (int)us;
        int e = 63 - __builtin_clzll(us);
        return (e - 5) * 64 + (int)((us >> (e - 6)) & 63);
    }
    """
    int bucket_of "kc_bucket"(uint64_t us) nogil


# An exchange; latency in us, -1: no answer.
cdef struct Counted:
    int64_t asked, answered, latency
    bint failed


cdef struct Group:
    int64_t exchanges, failed, asked, answered, answers, least, most
    uint64_t* octaves[OCTAVES]


cdef class Groups:
    """Group 0 is all that is beyond the bounds."""

    cdef Texts keys
    cdef Group* groups
    cdef size_t room
    cdef int width            # numbers of a key
    cdef Map failing          # (group, code + 1 << 16) -> exchanges
    cdef Out codes            # the exchange's error codes
    cdef uint64_t[1 << 16] stamps
    cdef uint64_t clock

    def __init__(self, int width):
        self.width = width

    def __dealloc__(self):
        cdef size_t i
        cdef int j
        texts_free(&self.keys)
        map_free(&self.failing)
        out_free(&self.codes)
        for i in range(self.room):
            for j in range(OCTAVES):
                free(self.groups[i].octaves[j])
        free(self.groups)

    cdef size_t size(self) noexcept:
        return self.keys.count + 1

    cdef const int64_t* key(self, size_t number) noexcept:
        return <const int64_t*>self.keys.texts[number - 1].data

    cdef bint is_new(self, int64_t code) noexcept:
        """Whether the exchange has no such error code so far."""
        cdef uint64_t* stamp = &self.stamps[code & 0xffff]
        if self.codes.size == 0:
            self.clock += 1
        elif stamp[0] == self.clock:
            return False
        stamp[0] = self.clock
        return True

    cdef int count_all(self, Out* values, const Counted* counted, bint beyond) except -1:
        """Count in every combination of one value of each."""
        cdef int64_t[MOST_BY] key
        cdef size_t[MOST_BY] at
        cdef int i
        cdef int64_t left = FEW_COMBINED
        for i in range(self.width):
            left += MOST_COMBINED * <int64_t>(values[i].size // sizeof(int64_t))
        memset(at, 0, sizeof(at))
        while not beyond:
            for i in range(self.width):
                key[i] = (<int64_t*>values[i].data)[at[i]]
            self.count(self.number(key), counted)
            left -= 1
            i = self.width - 1
            while i >= 0:
                at[i] += 1
                if at[i] * sizeof(int64_t) < values[i].size:
                    break
                at[i] = 0
                i -= 1
            if i < 0:
                return 0
            if left == 0:
                break
        return self.count(0, counted)

    cdef size_t number(self, const int64_t* key) except? 0:
        """A group's; 0 for a new one beyond MOST_GROUPS."""
        cdef size_t size = self.width * sizeof(int64_t)
        cdef size_t number = text_find(&self.keys, <const uint8_t*>key, size, 0)
        if number or self.keys.count >= MOST_GROUPS:
            return number
        number = text_number(&self.keys, <const uint8_t*>key, size, 0)
        if not number:
            raise MemoryError
        return number

    cdef int count(self, size_t number, const Counted* counted) except -1:
        cdef Group* group
        cdef Group* grown
        cdef uint64_t* octave
        cdef size_t room
        cdef int bucket
        if number >= self.room:
            room = 2 * number + 16
            grown = <Group*>realloc(self.groups, room * sizeof(Group))
            if grown == NULL:
                raise MemoryError
            memset(grown + self.room, 0, (room - self.room) * sizeof(Group))
            self.groups, self.room = grown, room
        group = &self.groups[number]
        group.exchanges += 1
        group.asked += counted.asked
        group.answered += counted.answered
        if counted.failed:
            group.failed += 1
            self.count_codes(number)
        if counted.latency < 0:
            return 0
        bucket = bucket_of(counted.latency)
        octave = group.octaves[bucket // STEPS]
        if octave == NULL:
            octave = group.octaves[bucket // STEPS] = <uint64_t*>calloc(STEPS, sizeof(uint64_t))
            if octave == NULL:
                raise MemoryError
        octave[bucket % STEPS] += 1
        group.least = min(group.least, counted.latency) if group.answers else counted.latency
        group.answers += 1
        group.most = max(group.most, counted.latency)
        return 0

    cdef int count_codes(self, size_t number) except -1:
        cdef size_t i
        cdef uint64_t code, known
        for i in range(self.codes.size // sizeof(int64_t)):
            code = <uint64_t>((<int64_t*>self.codes.data)[i] + (1 << 16))
            known = map_find(&self.failing, number, code)
            if not known and self.failing.used >= MOST_CODES:
                code = OTHER_CODE
                known = map_find(&self.failing, number, code)
            if map_put(&self.failing, number, code, known + 1):
                raise MemoryError
        return 0

    cdef tuple figures(self, size_t number):
        """(exchanges, failed, request bytes, response bytes, least us, most us, {bucket: answers})"""
        cdef Group* group
        cdef int i, j
        if number >= self.room:
            return 0, 0, 0, 0, 0, 0, {}
        group = &self.groups[number]
        buckets = {
            i * STEPS + j: group.octaves[i][j]
            for i in range(OCTAVES) if group.octaves[i] != NULL for j in range(STEPS) if group.octaves[i][j]
        }
        return group.exchanges, group.failed, group.asked, group.answered, group.least, group.most, buckets

    cdef dict codes_by_group(self):
        """{group: {code: exchanges}}; code None stands for those beyond MOST_CODES."""
        cdef size_t i
        cdef Slot* slot
        made = {}
        if self.failing.slots != NULL:
            for i in range(self.failing.mask + 1):
                slot = &self.failing.slots[i]
                if slot.value:
                    made.setdefault(slot.a, {})[None if slot.b == OTHER_CODE else <int64_t>slot.b - (1 << 16)] = slot.value
        return made
