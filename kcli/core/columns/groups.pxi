# Counts by group, where a group is a few numbers; and latencies in a histogram whose buckets grow with them.

cdef enum:
    MOST_BY = 13              # numbers of a group
    MOST_GROUPS = 10_000
    MOST_TEXTS = 100_000
    FEW_COMBINED = 64         # groups for one exchange, and MOST_COMBINED more for each of its values
    MOST_COMBINED = 16
    MOST_CODES = 100_000      # pairs of a group and an error code
    MOST_LINKED = 100_000     # pairs of a group and a connection
    OCTAVES = 60
    STEPS = 64                # buckets of an octave: the middle of a bucket differs by at most 1/128 from its values
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


# An exchange; latency in us, -1: no response. produced: records of a Produce; fetched: of the response to a Fetch; -1:
# it is none.
cdef struct Counted:
    int64_t asked, answered, latency, produced, fetched
    bint failed, empty


cdef struct Group:
    int64_t exchanges, failed, asked, answered, answers, least, most, produces, produced, fetches, fetched, empty
    uint64_t* octaves[OCTAVES]


cdef list in_order(Map* map):
    """Return the entries of a map, in order: (a, b, value)."""
    cdef size_t i
    cdef Slot* slot
    cdef list made = []
    for i in range(map.mask + 1 if map.slots != NULL else 0):
        slot = &map.slots[i]
        if slot.value:
            made.append((slot.a, slot.b, slot.value))
    made.sort()
    return made


cdef class Groups:
    """Group 0 has everything beyond the bounds. link: the exchange's connection; NULL: connections are not counted.

    unlinked: a connection was beyond the bounds.
    """

    cdef Texts keys, links
    cdef Map linked           # (group, connection) -> 1
    cdef const char* link
    cdef size_t link_size
    cdef bint unlinked
    cdef Group* groups
    cdef size_t room
    cdef int width            # numbers of a key
    cdef Map failing          # (group, code + 1 << 16) -> exchanges
    cdef ErrorCodes codes     # of the exchange

    def __init__(self, int width, ErrorCodes codes not None):
        self.width, self.codes = width, codes

    def __dealloc__(self):
        cdef size_t i
        cdef int j
        texts_free(&self.keys)
        texts_free(&self.links)
        map_free(&self.linked)
        map_free(&self.failing)
        for i in range(self.room):
            for j in range(OCTAVES):
                free(self.groups[i].octaves[j])
        free(self.groups)

    cdef size_t size(self) noexcept:
        return self.keys.count + 1

    cdef const int64_t* key(self, size_t number) noexcept:
        return <const int64_t*>self.keys.texts[number - 1].data

    cdef int count_all(self, Out* values, const Counted* counted, bint beyond) except -1:
        """Count in every combination of one value of each column."""
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
        """Return a group's number; 0 for a new one beyond MOST_GROUPS."""
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
        if counted.produced >= 0:
            group.produces += 1
            group.produced += counted.produced
        if counted.fetched >= 0:
            group.fetches += 1
            group.fetched += counted.fetched
            group.empty += counted.empty
        if self.link != NULL:
            self.count_link(number)
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
        for i in range(self.codes.count()):
            code = <uint64_t>(self.codes.at(i) + (1 << 16))
            known = map_find(&self.failing, number, code)
            if not known and self.failing.used >= MOST_CODES:
                code = OTHER_CODE
                known = map_find(&self.failing, number, code)
            if map_put(&self.failing, number, code, known + 1):
                raise MemoryError
        return 0

    cdef int count_link(self, size_t number) except -1:
        """Note that a group has an exchange of the connection."""
        cdef size_t link = text_find(&self.links, <const uint8_t*>self.link, self.link_size, 0)
        if not link and self.links.count < MOST_LINKED:
            link = text_number(&self.links, <const uint8_t*>self.link, self.link_size, 0)
            if not link:
                raise MemoryError
        if not link or (self.linked.used >= MOST_LINKED and not map_find(&self.linked, number, link)):
            self.unlinked = True
        elif map_put(&self.linked, number, link, 1):
            raise MemoryError
        return 0

    cdef dict links_by_group(self):
        """Return {group: [connections]}; None if there were more than the bounds allow."""
        cdef Text* text
        cdef size_t number
        if self.unlinked:
            return None
        made = {}
        for group, number, _ in in_order(&self.linked):
            text = &self.links.texts[number - 1]
            made.setdefault(group, []).append((<const char*>text.data)[: text.size].decode("utf-8", "replace"))
        return made

    cdef tuple figures(self, size_t number):
        """Return a group's (exchanges, failed, request bytes, response bytes, least us, most us, {bucket: responses},
        produces, their records, fetches, their records, empty fetches).
        """
        cdef Group* group
        cdef int i, j
        if number >= self.room:
            return 0, 0, 0, 0, 0, 0, {}, 0, 0, 0, 0, 0
        group = &self.groups[number]
        buckets = {
            i * STEPS + j: group.octaves[i][j]
            for i in range(OCTAVES) if group.octaves[i] != NULL for j in range(STEPS) if group.octaves[i][j]
        }
        sums = group.exchanges, group.failed, group.asked, group.answered, group.least, group.most, buckets
        return *sums, group.produces, group.produced, group.fetches, group.fetched, group.empty

    cdef dict codes_by_group(self):
        """Return {group: {code: exchanges}}; code None stands for those beyond MOST_CODES."""
        made = {}
        for group, code, count in in_order(&self.failing):
            made.setdefault(group, {})[None if code == OTHER_CODE else code - (1 << 16)] = count
        return made
