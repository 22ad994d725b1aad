# The steady way of a session, exchange by exchange.

MAX_EPOCH = 2**31 - 1


cdef class Kernel(Openings):
    """Handles the steady exchanges of the sessions attached to it; all others are for the tracker.

    layout: see Tables. heard: keys of other APIs that the tracker wants; those beyond the bits of a word are `rare`.
    """

    cdef Map sessions
    cdef dict attached
    cdef uint64_t heard
    cdef object rare
    cdef uint32_t serial

    def __init__(self, layout, heard=()):
        Openings.__init__(self, layout)
        self.attached = {}
        self.loose = {}
        self.marks = HighWatermarks(self)
        self.rare = frozenset(key for key in heard if key > 63)
        for key in heard:
            if key <= 63:
                self.heard |= <uint64_t>1 << <int>key

    def __dealloc__(self):
        map_free(&self.sessions)

    # Sessions

    def adopt(self, Counts session not None, bint topic_ids):
        """Attach a session to the kernel before its first partition."""
        session.kernel = self
        session.topic_ids_ = topic_ids

    def attach(
        self, Counts session not None, str connection, str server, int64_t session_id, int version, bint privileged,
        sizes
    ):
        """Follow this session's steady exchanges on this connection. sizes: of the request (bytes of a topic, bytes
        of a partition, whether the version is flexible), and the same of the response.
        """
        self.detach(session)
        session.link = connection.encode()
        session.server_, session.id_, session.version_, session.privileged_ = (
            self.server(server), session_id, version, privileged
        )
        for i in range(6):
            session.sizes[i] = sizes[i]
        if map_put(
            &self.sessions, hash_of(<const uint8_t*><char*><bytes>session.link, len(session.link)), session_id,
            <uint64_t><void*>session
        ):
            raise MemoryError
        self.attached[session.link, session_id] = session

    def detach(self, Counts session not None):
        if session.link is None:
            return
        if self.attached.get((session.link, session.id_)) is session:
            map_drop(
                &self.sessions, hash_of(<const uint8_t*><char*><bytes>session.link, len(session.link)), session.id_
            )
            del self.attached[session.link, session.id_]
        session.link = None

    # Exchanges

    cdef bint take(self, Exchange* e) except -1:
        cdef Found found
        cdef Counts session
        cdef Side asks, reports
        if e.key != FETCH:
            if e.key < 0 or e.key > 63:
                return e.key not in self.rare
            return not self.heard >> e.key & 1
        if e.response == NULL or e.answered < e.ts or not self.knows(e.version):
            return False
        self.serial += 1
        asks, reports = <Side>self.asked_sides[e.version], <Side>self.reported_sides[e.version]
        if not asks.read(e.request, e.request_size):
            return False
        memset(&found, 0, sizeof(Found))
        found.request = asks.message()
        if found.request[SESSION] <= 0 and (found.request[EPOCH] == 0 or found.request[EPOCH] == FINAL_EPOCH):
            return self.take_full(e, asks, reports)
        session = self.due(e, &found)
        if session is None or found.request[FORGOTTEN] > 0 or not reports.read(e.response, e.response_size):
            return False
        # The response is read first: its partitions are far apart in memory, and reading the request gives time to load
        # them.
        if not self.read_reported(reports, session, &found) or not self.read_asked(asks, session, &found):
            return False
        if not find_seats(self, session, &found) or not may_pass(self, session, &found):
            return False
        self.apply(session, e.ts, e.request_size + 4, e.answered, e.response_size + 4, &found)
        return True

    def offer(
        self, str connection, int version, uint64_t ns, const uint8_t[::1] request not None, answered,
        const uint8_t[::1] response
    ):
        """Take a Fetch exchange that came another way; return whether it was accepted."""
        cdef Exchange e
        cdef bytes link
        if answered is None or response is None or not request.shape[0] or response.shape[0] == 0:
            return False
        link = connection.encode()
        e.link, e.link_size, e.key, e.version = link, len(link), FETCH, version
        e.ts, e.request, e.request_size = ns, &request[0], request.shape[0]
        e.answered, e.response, e.response_size = answered, &response[0], response.shape[0]
        return self.take(&e)

    def offer_rows(self, FetchFrames frames not None, Py_ssize_t start, Py_ssize_t stop):
        """Take rows from `start` on; return the first that was not accepted, `stop` if all were."""
        cdef Exchange e
        if not 0 <= start <= stop <= frames.fetches.shape[0]:
            raise ValueError("rows beyond the columns")
        while start < stop and frames.exchange(start, &e) and self.take(&e):
            start += 1
        return start

    cdef Counts find(self, const char* link, size_t link_size, int64_t session_id):
        cdef uint64_t at = map_find(&self.sessions, hash_of(<const uint8_t*>link, link_size), session_id)
        cdef Counts session
        if at == 0:
            return None
        session = <Counts><void*>at
        if <size_t>len(<bytes>session.link) != link_size or memcmp(<const char*><bytes>session.link, link, link_size):
            return None
        return session

    cdef Counts due(self, Exchange* e, Found* found):
        """Return the session whose next epoch is that of a request; else None."""
        cdef Counts session
        if found.request[EPOCH] <= 0:
            return None
        session = self.find(e.link, e.link_size, found.request[SESSION])
        if session is None or session.version_ != e.version or session.unsure:
            return None
        if found.request[EPOCH] != session.next_epoch or <int64_t>e.ts < session.answered_ns:
            return None
        found.late = session.late
        return session

    cdef bint read_asked(self, Side asks, Counts session, Found* found) except -1:
        """Read the partitions of a request into `asked`. Return False for a request that is not steady."""
        cdef TopicRow* topic = asks.topics()
        cdef AskedRow* row = <AskedRow*>asks.partitions()
        cdef uint64_t base
        cdef int64_t i, j
        found.asked_topics = asks.topic_count()
        self.need_asked(asks.partition_count())
        for i in range(found.asked_topics):
            base = self.base_of(asks, topic)
            if base == 0:
                return False
            found.asked_cost += topic_cost(session.sizes, topic.size if asks.kind == NAME else 0, topic.partitions)
            for j in range(topic.partitions):
                set_asked(&self.asked[found.asked], base, row)
                map_ahead(&session.by_number, self.asked[found.asked].number, 0)
                found.asked += 1
                row += 1
            topic += 1
        return True

    cdef bint read_reported(self, Side reports, Counts session, Found* found) except -1:
        """Read the partitions of a response into `reported`. Return False for a response that is not steady."""
        cdef TopicRow* topic = reports.topics()
        cdef ReportedRow* row = <ReportedRow*>reports.partitions()
        cdef uint64_t base
        cdef int64_t i, j
        cdef bint shared
        cdef Reported* reported
        found.response = reports.message()
        if found.response[ERROR] or found.response[THROTTLE] or found.response[SESSION] != session.id_:
            return False
        found.reported_topics = reports.topic_count()
        self.need_reported(reports.partition_count())
        for i in range(found.reported_topics):
            base = self.base_of(reports, topic)
            if base == 0:
                return False
            found.reported_cost += topic_cost(
                &session.sizes[3], topic.size if reports.kind == NAME else 0, topic.partitions
            )
            shared = self.marks.is_shared(<uint32_t>(base >> 32), session.id_)
            for j in range(topic.partitions):
                if row.error or row.preferred >= 0 or is_special(row):
                    return False
                reported = &self.reported[found.reported]
                set_reported(reported, base, row)
                reported.shared = shared
                map_ahead(&session.by_number, reported.number, 0)
                found.reported += 1
                row += 1
            topic += 1
        return True

    cdef int apply(self, Counts session, uint64_t ts, size_t n, uint64_t answered, size_t m, Found* found) except -1:
        cdef size_t i
        cdef PartitionState seat
        self.fetches += 1
        self.now = max(self.now, <int64_t>ts)
        session.fetches += 1
        session.last_ns = answered
        session.request_bytes += n
        session.response_bytes += m
        session.records_bytes += found.records
        session.empty += found.records == 0
        session.latencies.add(answered - ts)
        session.strip.add(ts, n + m, False)
        session.changed += found.asked
        for i in range(found.asked):
            self.take_in(session, &self.asked[i])
        for i in range(found.reported):
            self.note(session, &self.reported[i], found.request[ISOLATION])
            if self.reported[i].shared:
                seat = <PartitionState>self.reported[i].seat
                if seat.mark == 0:
                    seat.mark = self.marks.place(session.server_, self.reported[i].number)
                self.marks.learn_at(seat.mark, self.reported[i].high, answered)
        self.charge(session, n, m, found)
        session.next_epoch = 1 if session.next_epoch == MAX_EPOCH else session.next_epoch + 1
        session.answered_ns, session.used_ns, session.quiet_since = answered, ts, ts
        return 0

    cdef int take_in(self, Counts session, Asked* asked) except -1:
        cdef PartitionState seat = <PartitionState>asked.seat
        seat.position = asked.position
        seat.delivered = False
        seat.skipped = 0
        session.late += <int>seat.will_be_late - <int>seat.late
        seat.late = seat.will_be_late
        return 0

    cdef int note(self, Counts session, Reported* reported, int64_t isolation) except -1:
        cdef PartitionState seat = <PartitionState>reported.seat
        cdef bint late
        seat.high, seat.stable, seat.start = reported.high, reported.stable, reported.start
        seat.redirected = False
        seat.answered = session.fetches
        seat.skipped = 0
        if reported.size:
            seat.delivered = seat.ever = True
        if not session.privileged_:
            late = seat.behind_at(seat.position.offset, isolation)
            session.late += <int>late - <int>seat.late
            seat.late = late
        return 0

    cdef int charge(self, Counts session, size_t n, size_t m, Found* found) except -1:
        """Add the bytes that this exchange would have as a full fetch; see ObservedSession.charge."""
        cdef int64_t all_ = count_bytes(session.topics, session.sizes[2])
        session.full_request_bytes += n + session.request_cost + all_ - found.asked_cost - count_bytes(
            found.asked_topics, session.sizes[2]
        )
        all_ = count_bytes(session.topics, session.sizes[5])
        session.full_response_bytes += m + session.response_cost + all_ - found.reported_cost - count_bytes(
            found.reported_topics, session.sizes[5]
        )
        return 0


cdef inline int64_t count_bytes(int64_t count, bint flexible) noexcept:
    """Return the bytes of an array's length."""
    cdef int64_t size = 1
    if not flexible:
        return 4
    count = (count + 1) >> 7
    while count:
        size += 1
        count >>= 7
    return size


cdef inline int64_t topic_cost(const int64_t* sizes, int64_t text, int64_t count) noexcept:
    """Return the bytes of a topic's entry with its partitions; sizes: topic (with an empty name), partition,
    flexible.
    """
    cdef int64_t name = text + (count_bytes(text, True) - 1 if text and sizes[2] else 0)
    return sizes[0] + name + count_bytes(count, sizes[2]) + count * sizes[1]
