# A full fetch that makes a session.

cdef struct Asked:
    void* seat
    uint64_t number
    Position position


cdef struct Told:
    void* seat
    uint64_t number
    int64_t high, stable, start, size
    bint shared           # somebody else has the topic, too


# What an exchange says, before anything of it counts.
cdef struct Found:
    int64_t request[COLUMNS]
    int64_t response[COLUMNS]
    size_t asked, told
    int64_t late          # of the session's partitions, once the request is taken in
    int64_t told_late
    int64_t records
    int64_t asked_cost, told_cost
    int64_t asked_topics, told_topics


cdef class Openings(Tables):
    """Full fetches that are granted a session, told of all their partitions in order, without an error."""

    cdef Map names                      # of a full fetch's partitions, to find those that are named twice
    cdef public object opener           # the ledger's, for the session that is made
    cdef Asked* asked
    cdef Told* told
    cdef size_t asked_room, told_room
    cdef public int64_t fetches, now
    cdef readonly Marks marks

    def __dealloc__(self):
        map_free(&self.names)
        free(self.asked)
        free(self.told)

    cdef int read_head(self, Reader* r, int version, int64_t* columns) noexcept:
        """A request up to its topics; their place among its fields, -1 where it can't be read."""
        cdef Ops* ops = &self.layouts[version][0].levels[0]
        cdef int i
        if r.end - r.at < 10:
            return -1
        i = <int>fixed(r.at + 8, 2)
        r.at += 10
        if pass_bytes(r, i) or (r.flexible and pass_tags(r, False)):
            return -1
        for i in range(ops.count):
            if ops.ops[i].kind == NESTED:
                return i
            if self.read_op(r, &ops.ops[i], columns):
                return -1
        return -1

    cdef bint open(self, Reader* r, const char* link, size_t link_size, int version, uint64_t ts, const uint8_t* request, size_t n,
                   uint64_t answered, const uint8_t* response, size_t m) except -1:
        cdef Found found
        cdef size_t i
        memset(&found, 0, sizeof(Found))
        found.request[REPLICA] = -1
        name_size = <int>fixed(r.at + 8, 2)
        client = (<const char*>r.at + 10)[: max(0, name_size)].decode("utf-8", "replace")
        topics = {}
        if not self.read_opening(r, version, &found, topics):
            return False
        r.at, r.end = response, response + m
        if not self.read_granted(r, version, &found):
            return False
        map_clear(&self.names)
        if map_reserve(&self.names, found.asked):
            raise MemoryError
        for i in range(found.asked):
            map_put(&self.names, self.asked[i].number, 0, i + 1)
        if self.names.used < found.asked:
            return False
        session = self.opener(
            link[:link_size].decode(), client, version, <int32_t>fixed(request + 4, 4), ts, answered, n + 4, m + 4,
            found.request[MAX_BYTES], found.request[ISOLATION], found.request[REPLICA], found.response[SESSION],
            found.records, [(self.key(<uint64_t>number << 32)[0], count) for number, count in topics.items()],
        )
        self.seat_all(<Counts?>session, &found)
        for number in topics:
            self.marks.is_shared(number, found.response[SESSION])
        self.fetches += 1
        self.now = max(self.now, <int64_t>ts)
        return True

    cdef bint read_opening(self, Reader* r, int version, Found* found, dict topics) except -1:
        cdef Layout* layout = self.layouts[version][0]
        cdef Ops* ops = &layout.levels[0]
        cdef int i, at = self.read_head(r, version, found.request)
        if at < 0 or not self.opening_rows(r, layout, found, topics):
            return False
        for i in range(at + 1, ops.count):
            if ops.ops[i].kind == TAGS:
                if read_replica(r, &found.request[REPLICA]):
                    return False
            elif self.read_op(r, &ops.ops[i], found.request):
                return False
        return r.at == r.end

    cdef bint opening_rows(self, Reader* r, Layout* layout, Found* found, dict topics) except -1:
        cdef int64_t count, size, rows, i, j
        cdef int64_t c[COLUMNS]
        cdef int kind
        cdef uint32_t number
        cdef Asked* asked
        if length(r, 4, &count):
            return False
        for i in range(COLUMNS):
            c[i] = -1
        for i in range(count):
            kind, size = ID, 16
            if layout.levels[1].ops[0].kind == TEXT:
                kind = NAME
                if length(r, layout.levels[1].ops[0].width, &size):
                    return False
            if size < 0 or size > r.end - r.at:
                return False
            number = text_number(&self.texts, r.at, size, kind)
            r.at += size
            if number == 0:
                raise MemoryError
            if length(r, 4, &rows) or rows > r.end - r.at or number in topics:
                return False
            topics[number] = rows
            self.need_asked(found.asked + max(0, rows))
            for j in range(rows):
                if self.read_row(r, &layout.levels[2], c):
                    return False
                asked = &self.asked[found.asked]
                asked.number = <uint64_t>number << 32 | <uint32_t>c[INDEX]
                asked.position = Position(c[1], c[2], <int32_t>c[3], <int32_t>c[4], <int32_t>c[5])
                found.asked += 1
            if r.flexible and pass_tags(r, False):
                return False
        return True

    cdef bint read_granted(self, Reader* r, int version, Found* found) except -1:
        """A response that grants a session and tells of the request's partitions in their order, without an error."""
        cdef Layout* layout = self.layouts[version][1]
        cdef Ops* ops = &layout.levels[0]
        cdef int i
        if r.end - r.at < 4:
            return False
        r.at += 4
        if r.flexible and pass_tags(r, False):
            return False
        for i in range(ops.count):
            if ops.ops[i].kind == NESTED:
                if found.response[ERROR] or found.response[THROTTLE] or found.response[SESSION] <= 0:
                    return False
                if not self.granted_rows(r, layout, found):
                    return False
            elif self.read_op(r, &ops.ops[i], found.response):
                return False
        return r.at == r.end and found.told == found.asked

    cdef bint granted_rows(self, Reader* r, Layout* layout, Found* found) except -1:
        cdef int64_t count, text, rows, i, j
        cdef int64_t c[COLUMNS]
        cdef uint64_t base
        cdef Told* told
        if length(r, 4, &count):
            return False
        for i in range(COLUMNS):
            c[i] = -1
        for i in range(count):
            if self.read_topic(r, &layout.levels[1], &base, &text, &rows) or found.told + max(0, rows) > found.asked:
                return False
            self.need_told(found.told + max(0, rows))
            for j in range(rows):
                c[RECORDS] = 0
                if self.read_row(r, &layout.levels[2], c):
                    return False
                if c[ERROR] or c[PREFERRED] >= 0 or self.asked[found.told].number != (base | <uint32_t>c[INDEX]):
                    return False
                told = &self.told[found.told]
                told.high, told.stable, told.start, told.size = c[HIGH], c[STABLE], c[START], c[RECORDS]
                found.records += c[RECORDS]
                found.told += 1
            if r.flexible and pass_tags(r, False):
                return False
        return True

    cdef int seat_all(self, Counts session, Found* found) except -1:
        cdef size_t i
        cdef Seat seat
        cdef Told* told
        session.by_key = None
        if map_reserve(&session.by_number, found.asked):
            raise MemoryError
        for i in range(found.asked):
            told = &self.told[i]
            seat = Seat.__new__(Seat)
            seat.position = self.asked[i].position
            seat.placed = seat.informed = True
            seat.high, seat.stable, seat.start, seat.answered = told.high, told.stable, told.start, <int32_t>session.fetches
            seat.delivered = seat.ever = told.size > 0
            session.look(seat, found.request[ISOLATION], session.privileged_)
            session.put(self.asked[i].number, seat)
        return 0

    cdef int need_asked(self, size_t room) except -1:
        cdef Asked* grown
        if room > self.asked_room:
            grown = <Asked*>realloc(self.asked, 2 * room * sizeof(Asked))
            if grown == NULL:
                raise MemoryError
            self.asked, self.asked_room = grown, 2 * room
        return 0

    cdef int need_told(self, size_t room) except -1:
        cdef Told* grown
        if room > self.told_room:
            grown = <Told*>realloc(self.told, 2 * room * sizeof(Told))
            if grown == NULL:
                raise MemoryError
            self.told, self.told_room = grown, 2 * room
        return 0
