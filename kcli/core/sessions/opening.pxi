# Full fetches: those that create a session, and those outside any.

cdef enum:
    SESSIONS_SINCE = 7
    FINAL_EPOCH = -1
    LOOSE = -1            # no session's id

cdef struct Asked:
    void* seat
    uint64_t number
    Position position


cdef struct Reported:
    void* seat
    uint64_t number
    int64_t high, stable, start, size, error
    bint shared           # another session has the topic, too


# The contents of an exchange, before they count.
cdef struct Found:
    const int64_t* request
    const int64_t* response
    size_t asked, reported
    int64_t late          # partitions of the session with more records, after the request
    int64_t reported_late
    int64_t records
    int64_t asked_cost, reported_cost
    int64_t asked_topics, reported_topics


cdef class Openings(Tables):
    """Full fetches whose responses have all their partitions in order.

    opener(...): the tracker's, makes a granted session. keeper(connection, client id): the tracker's, returns the
    counts of a client's fetches outside sessions, and its server; None: the exchange is for the tracker. loose: these
    counts by connection and client, to be cleared when a session begins.
    """

    cdef Map names                      # of a full fetch's partitions, to find those that are named twice
    cdef public object opener, keeper
    cdef public dict loose
    cdef Asked* asked
    cdef Reported* reported
    cdef size_t asked_room, reported_room
    cdef public int64_t fetches, now
    cdef readonly HighWatermarks marks

    def __dealloc__(self):
        map_free(&self.names)
        free(self.asked)
        free(self.reported)

    cdef bint take_full(self, Exchange* e, Side asks, Side reports) except -1:
        cdef Found found
        cdef const int64_t* response
        if not reports.read(e.response, e.response_size):
            return False
        response = reports.message()
        if response[SESSION] > 0:
            if self.opener is None or asks.message()[SESSION] or asks.message()[EPOCH] or response[ERROR]:
                return False
            return self.open(e, asks, reports)
        return self.keeper is not None and self.count_loose(e, asks, reports)

    cdef bint read_full(self, Side asks, Side reports, Found* found, dict topics, bint tagged) except -1:
        """Read both sides; return whether they can be read and name no partition twice. tagged: errors, tags and
        aborted transactions are allowed.
        """
        cdef size_t i
        memset(found, 0, sizeof(Found))
        if not self.read_opening(asks, found, topics, tagged) or not self.read_granted(reports, found, tagged):
            return False
        map_clear(&self.names)
        if map_reserve(&self.names, found.asked):
            raise MemoryError
        for i in range(found.asked):
            map_put(&self.names, self.asked[i].number, 0, i + 1)
        return self.names.used == found.asked

    cdef bint count_loose(self, Exchange* e, Side asks, Side reports) except -1:
        """Count a fetch outside sessions."""
        cdef Found found
        cdef size_t i
        cdef int64_t size
        cdef Counts counts
        cdef const uint8_t* client
        cdef int64_t none = 0 if e.version >= SESSIONS_SINCE else -1
        if asks.message()[SESSION] != none or reports.message()[SESSION] != none or reports.message()[ERROR] != none:
            return False
        if not self.read_full(asks, reports, &found, {}, True):
            return False
        client = client_id(e.request, e.request_size, &size)
        counts = self.loose_of((e.link[: e.link_size], (<const char*>client)[: max(0, size)]))
        if counts is None:
            return False
        counts.last_ns = e.answered
        counts.fetches += 1
        counts.full += 1
        counts.request_bytes += e.request_size + 4
        counts.response_bytes += e.response_size + 4
        counts.records_bytes += found.records
        counts.empty += found.records == 0
        counts.latencies.add(e.answered - e.ts)
        counts.strip.add(e.ts, e.request_size + e.response_size + 8, True)
        if none == 0:
            counts.not_wanted += found.request[EPOCH] == FINAL_EPOCH
            counts.not_granted += found.request[EPOCH] == 0
        for i in range(found.reported):
            if self.reported[i].error:
                counts.errors[self.reported[i].error] = counts.errors.get(self.reported[i].error, 0) + 1
            if self.marks.is_shared(<uint32_t>(self.reported[i].number >> 32), LOOSE) and not self.reported[i].error:
                self.marks.learn_c(counts.server_, self.reported[i].number, self.reported[i].high, e.answered)
        self.fetches += 1
        self.now = max(self.now, <int64_t>e.ts)
        return True

    cdef Counts loose_of(self, tuple who):
        """Return the counts of a client's fetches outside sessions on a connection."""
        found = self.loose.get(who)
        if found is None:
            kept = self.keeper(who[0].decode(), who[1].decode("utf-8", "replace"))
            if kept is None:
                return None
            found, server = kept
            (<Counts?>found).server_ = self.server(server)
            self.loose[who] = found
        return <Counts?>found

    cdef bint open(self, Exchange* e, Side asks, Side reports) except -1:
        cdef Found found
        cdef int64_t replica, size
        cdef const uint8_t* client
        topics = {}
        if not self.read_full(asks, reports, &found, topics, False):
            return False
        replica = found.request[FOLLOWER] if found.request[FOLLOWER] != -1 else found.request[REPLICA]
        client = client_id(e.request, e.request_size, &size)
        session = self.opener(
            e.link[: e.link_size].decode(), (<const char*>client)[: max(0, size)].decode("utf-8", "replace"), e.version,
            correlation_id(e.request), e.ts, e.answered, e.request_size + 4, e.response_size + 4,
            found.request[MAX_BYTES], found.request[ISOLATION], replica, found.response[SESSION], found.records,
            [(self.key(<uint64_t>number << 32)[0], count) for number, count in topics.items()],
        )
        self.seat_all(<Counts?>session, &found)
        for number in topics:
            self.marks.is_shared(number, found.response[SESSION])
        self.fetches += 1
        self.now = max(self.now, <int64_t>e.ts)
        return True

    cdef bint read_opening(self, Side asks, Found* found, dict topics, bint tagged) except -1:
        """Read a full fetch. topics: to be filled with its partitions by number. Not tagged: its only tag, if any, is
        the fetching replica.
        """
        cdef TopicRow* topic = asks.topics()
        cdef AskedRow* row = <AskedRow*>asks.partitions()
        cdef int64_t i, j
        cdef uint32_t number
        found.request = asks.message()
        if found.request[FORGOTTEN] > 0:
            return False
        if not tagged and found.request[ASKED_TAGS] > (found.request[FOLLOWER] != -1):
            return False
        self.need_asked(asks.partition_count())
        for i in range(asks.topic_count()):
            if topic.size < 0:
                return False
            number = text_number(&self.texts, asks.frame + topic.text, topic.size, asks.kind)
            if number == 0:
                raise MemoryError
            if number in topics:
                return False
            topics[number] = topic.partitions
            for j in range(topic.partitions):
                set_asked(&self.asked[found.asked], <uint64_t>number << 32, row)
                found.asked += 1
                row += 1
            topic += 1
        return True

    cdef bint read_granted(self, Side reports, Found* found, bint tagged) except -1:
        """Read a response that reports the request's partitions in their order. Not tagged: without errors."""
        cdef TopicRow* topic = reports.topics()
        cdef ReportedRow* row = <ReportedRow*>reports.partitions()
        cdef int64_t i, j
        cdef uint64_t base
        cdef Reported* reported
        found.response = reports.message()
        if found.response[THROTTLE] > 0:
            return False
        if reports.partition_count() != found.asked:
            return False
        self.need_reported(found.asked)
        for i in range(reports.topic_count()):
            base = self.base_of(reports, topic)
            for j in range(topic.partitions):
                reported = &self.reported[found.reported]
                set_reported(reported, base, row)
                if self.asked[found.reported].number != reported.number:
                    return False
                if not tagged and (row.error or row.preferred >= 0 or is_special(row)):
                    return False
                found.records += reported.size
                found.reported += 1
                row += 1
            topic += 1
        return True

    cdef int seat_all(self, Counts session, Found* found) except -1:
        cdef size_t i
        cdef PartitionState seat
        cdef Reported* reported
        session.by_key = None
        if map_reserve(&session.by_number, found.asked):
            raise MemoryError
        for i in range(found.asked):
            reported = &self.reported[i]
            seat = PartitionState.__new__(PartitionState)
            seat.position = self.asked[i].position
            seat.placed = seat.informed = True
            seat.high, seat.stable, seat.start, seat.answered = (
                reported.high, reported.stable, reported.start, <int32_t>session.fetches
            )
            seat.delivered = seat.ever = reported.size > 0
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

    cdef int need_reported(self, size_t room) except -1:
        cdef Reported* grown
        if room > self.reported_room:
            grown = <Reported*>realloc(self.reported, 2 * room * sizeof(Reported))
            if grown == NULL:
                raise MemoryError
            self.reported, self.reported_room = grown, 2 * room
        return 0


cdef inline void set_asked(Asked* asked, uint64_t base, AskedRow* row) noexcept:
    asked.number = base | <uint32_t>row.index
    asked.position = Position(
        row.offset, row.log_start, <int32_t>row.max_bytes, <int32_t>row.leader_epoch, <int32_t>row.last_fetched_epoch
    )


cdef inline void set_reported(Reported* reported, uint64_t base, ReportedRow* row) noexcept:
    reported.number = base | <uint32_t>row.index
    reported.high, reported.stable, reported.start, reported.size = (
        row.high, row.stable, row.start, row.size
        if row.size > 0
        else 0
    )
    reported.error = row.error
