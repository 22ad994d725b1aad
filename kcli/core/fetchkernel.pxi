# The steady way of a session, exchange by exchange.

cdef enum:
    BIG_BATCH = 1 << 20   # no batch is bigger than this unless a topic is configured so

MAX_EPOCH = 2**31 - 1


cdef class Kernel(Openings):
    """Takes the steady exchanges of the sessions attached to it; all others are for the ledger.

    layout: see Tables. heard: keys of other APIs that the ledger wants.
    """

    cdef Map sessions
    cdef dict attached
    cdef uint64_t heard
    cdef uint32_t serial

    def __init__(self, layout, heard=()):
        Openings.__init__(self, layout)
        self.attached = {}
        self.marks = Marks(self)
        for key in heard:
            self.heard |= <uint64_t>1 << <int>key

    def __dealloc__(self):
        map_free(&self.sessions)

    # Sessions

    def adopt(self, Counts session not None, bint topic_ids):
        """Before its first partition: this session may be attached later."""
        session.kernel = self
        session.topic_ids_ = topic_ids

    def attach(self, Counts session not None, str connection, str server, int64_t session_id, int version, bint privileged, sizes):
        """Follow this session's steady exchanges on this connection. sizes: of the request (topic, partition, and whether
        the version is flexible), and of the response."""
        self.detach(session)
        session.link = connection.encode()
        session.server_, session.id_, session.version_, session.privileged_ = self.server(server), session_id, version, privileged
        for i in range(6):
            session.sizes[i] = sizes[i]
        if map_put(&self.sessions, hash_of(<const uint8_t*><char*><bytes>session.link, len(session.link)), session_id, <uint64_t><void*>session):
            raise MemoryError
        self.attached[session.link, session_id] = session

    def detach(self, Counts session not None):
        if session.link is None:
            return
        if self.attached.get((session.link, session.id_)) is session:
            map_drop(&self.sessions, hash_of(<const uint8_t*><char*><bytes>session.link, len(session.link)), session.id_)
            del self.attached[session.link, session.id_]
        session.link = None

    # Exchanges

    cdef bint take(self, const char* link, size_t link_size, int key, int version, uint64_t ts, const uint8_t* request, size_t n,
                   uint64_t answered, const uint8_t* response, size_t m) except -1:
        cdef Found found
        cdef Counts session
        cdef Reader r
        if key != FETCH:
            return key < 0 or key > 63 or not self.heard >> key & 1
        if response == NULL or answered < ts or not 0 <= version < VERSIONS or not self.knows(version):
            return False
        memset(&found, 0, sizeof(Found))
        self.serial += 1
        r.flexible = self.flexible[version]
        r.at, r.end = request, request + n
        if self.opens(&r, version):
            return self.open(&r, link, link_size, version, ts, request, n, answered, response, m)
        session = self.read_request(&r, link, link_size, version, ts, &found)
        if session is None or r.at != r.end:
            return False
        r.at, r.end = response, response + m
        if not self.read_response(&r, session, version, &found) or r.at != r.end or not self.is_steady(session, &found):
            return False
        self.apply(session, ts, n + 4, answered, m + 4, &found)
        return True

    def offer(self, str connection, int version, uint64_t ns, const uint8_t[::1] request not None, answered, const uint8_t[::1] response):
        """A Fetch exchange that came another way; whether it was taken."""
        cdef bytes link
        if answered is None or response is None or request.shape[0] < 10 or response.shape[0] == 0:
            return False
        link = connection.encode()
        return self.take(link, len(link), FETCH, version, ns, &request[0], request.shape[0], answered, &response[0], response.shape[0])

    cdef Counts find(self, const char* link, size_t link_size, int64_t session_id):
        cdef uint64_t at = map_find(&self.sessions, hash_of(<const uint8_t*>link, link_size), session_id)
        cdef Counts session
        if at == 0:
            return None
        session = <Counts><void*>at
        if <size_t>len(<bytes>session.link) != link_size or memcmp(<const char*><bytes>session.link, link, link_size):
            return None
        return session

    cdef Counts read_request(self, Reader* r, const char* link, size_t link_size, int version, uint64_t ts, Found* found):
        """The session of a request whose partitions may be taken in; they are then in `asked`. None: not the steady way."""
        cdef Ops* ops = &self.layouts[version][0].levels[0]
        cdef Counts session = None
        cdef int64_t count
        cdef int i
        if r.end - r.at < 10:
            return None
        count = fixed(r.at + 8, 2)
        r.at += 10
        if pass_bytes(r, count) or (r.flexible and pass_tags(r, False)):
            return None
        for i in range(ops.count):
            if ops.ops[i].kind == NESTED:
                if found.request[EPOCH] <= 0:
                    return None
                session = self.find(link, link_size, found.request[SESSION])
                if session is None or session.version_ != version or session.unsure:
                    return None
                if found.request[EPOCH] != session.next_epoch or <int64_t>ts < session.answered_ns:
                    return None
                found.late = session.late
                if not self.read_asked(r, session, version, found):
                    return None
            elif self.read_op(r, &ops.ops[i], found.request):
                return None
        return session

    cdef bint read_asked(self, Reader* r, Counts session, int version, Found* found) except -1:
        cdef Layout* layout = self.layouts[version][0]
        cdef Ops* topic = &layout.levels[1]
        cdef uint64_t base, seat
        cdef int64_t topics, count, text
        cdef int64_t columns[COLUMNS]
        cdef int64_t i, j
        if length(r, 4, &topics):
            return False
        found.asked_topics = max(0, topics)
        columns[2] = columns[4] = columns[5] = -1
        for i in range(topics):
            if self.read_topic(r, topic, &base, &text, &count):
                return False
            found.asked_cost += topic_cost(session.sizes, text, count)
            if count > r.end - r.at or self.need_asked(found.asked + max(0, count)):
                return False
            for j in range(count):
                if self.read_row(r, &layout.levels[2], columns):
                    return False
                seat = map_find(&session.by_number, base | <uint32_t>columns[INDEX], 0)
                if seat == 0 or not self.may_ask(session, <Seat><void*>seat, columns, found):
                    return False
            if r.flexible and pass_tags(r, False):
                return False
        return True

    cdef bint may_ask(self, Counts session, Seat seat, int64_t* columns, Found* found) noexcept:
        """A position that moved, over records that were delivered."""
        cdef Asked* asked = &self.asked[found.asked]
        cdef Position* at = &asked.position
        cdef bint late
        if seat.asked_in == self.serial or not seat.placed or seat.answered < 0:
            return False
        at.offset, at.log_start = columns[OFFSET], columns[OFFSET + 1]
        at.max_bytes, at.leader_epoch, at.last_fetched_epoch = columns[OFFSET + 2], columns[OFFSET + 3], columns[OFFSET + 4]
        if same(at, &seat.position):
            return False
        if at.offset > seat.position.offset and not seat.delivered and seat.informed:
            return False
        late = not session.privileged_ and seat.behind_at(columns[OFFSET], found.request[ISOLATION])
        found.late += <int>late - <int>seat.late
        seat.will_be_late = late
        seat.asked_in = self.serial
        asked.seat = <void*>seat
        found.asked += 1
        return True

    cdef bint read_response(self, Reader* r, Counts session, int version, Found* found) except -1:
        cdef Ops* ops = &self.layouts[version][1].levels[0]
        cdef int i
        if r.end - r.at < 4:
            return False
        r.at += 4
        if r.flexible and pass_tags(r, False):
            return False
        for i in range(ops.count):
            if ops.ops[i].kind == NESTED:
                if found.response[ERROR] or found.response[THROTTLE] or found.response[SESSION] != session.id_:
                    return False
                if not self.read_told(r, session, version, found):
                    return False
            elif self.read_op(r, &ops.ops[i], found.response):
                return False
        return True

    cdef bint read_told(self, Reader* r, Counts session, int version, Found* found) except -1:
        cdef Layout* layout = self.layouts[version][1]
        cdef Ops* topic = &layout.levels[1]
        cdef uint64_t base, seat
        cdef int64_t topics, count, text
        cdef int64_t columns[COLUMNS]
        cdef int64_t i, j
        cdef bint shared
        if length(r, 4, &topics):
            return False
        found.told_topics = max(0, topics)
        columns[STABLE] = columns[START] = columns[PREFERRED] = -1
        for i in range(topics):
            if self.read_topic(r, topic, &base, &text, &count):
                return False
            found.told_cost += topic_cost(&session.sizes[3], text, count)
            shared = self.marks.is_shared(<uint32_t>(base >> 32), session.id_)
            if count > r.end - r.at or self.need_told(found.told + max(0, count)):
                return False
            for j in range(count):
                if self.read_row(r, &layout.levels[2], columns):
                    return False
                seat = map_find(&session.by_number, base | <uint32_t>columns[INDEX], 0)
                if seat == 0 or not self.may_tell(session, <Seat><void*>seat, base | <uint32_t>columns[INDEX], shared, columns, found):
                    return False
            if r.flexible and pass_tags(r, False):
                return False
        return True

    cdef bint may_tell(self, Counts session, Seat seat, uint64_t number, bint shared, int64_t* columns, Found* found) except -1:
        """News of a partition, without an error or a redirection, and none that was kept back before."""
        cdef Told* told = &self.told[found.told]
        cdef int64_t size = max(<int64_t>0, columns[RECORDS])
        if seat.told_in == self.serial or not seat.informed or columns[ERROR] or columns[PREFERRED] >= 0:
            return False
        if not size and columns[HIGH] == seat.high and columns[START] == seat.start:
            return False
        if shared and columns[HIGH] > seat.high and seat.high >= 0 and seat.answered != session.fetches and session.quiet_since:
            if seat.mark == 0:
                seat.mark = self.marks.place(session.server_, number)
            if self.marks.moved_past_at(seat.mark, seat.high, session.quiet_since) >= 0:
                return False
        seat.told_in = self.serial
        found.told_late += seat.will_be_late if seat.asked_in == self.serial else seat.late
        found.records += size
        told.seat, told.number, told.size, told.shared = <void*>seat, number, size, shared
        told.high, told.stable, told.start = columns[HIGH], columns[STABLE], columns[START]
        found.told += 1
        return True

    cdef bint is_steady(self, Counts session, Found* found) noexcept:
        """Whether every partition that has records to come was answered, or there was no room."""
        if found.late <= found.told_late:
            return True
        return found.records > 0 and found.records + BIG_BATCH > found.request[MAX_BYTES]

    cdef int apply(self, Counts session, uint64_t ts, size_t n, uint64_t answered, size_t m, Found* found) except -1:
        cdef size_t i
        cdef Seat seat
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
        for i in range(found.told):
            self.tell(session, &self.told[i], found.request[ISOLATION])
            if self.told[i].shared:
                seat = <Seat>self.told[i].seat
                if seat.mark == 0:
                    seat.mark = self.marks.place(session.server_, self.told[i].number)
                self.marks.learn_at(seat.mark, self.told[i].high, answered)
        self.charge(session, n, m, found)
        session.next_epoch = 1 if session.next_epoch == MAX_EPOCH else session.next_epoch + 1
        session.answered_ns, session.used_ns, session.quiet_since = answered, ts, ts
        return 0

    cdef int take_in(self, Counts session, Asked* asked) except -1:
        cdef Seat seat = <Seat>asked.seat
        seat.position = asked.position
        seat.delivered = False
        seat.skipped = 0
        session.late += <int>seat.will_be_late - <int>seat.late
        seat.late = seat.will_be_late
        return 0

    cdef int tell(self, Counts session, Told* told, int64_t isolation) except -1:
        cdef Seat seat = <Seat>told.seat
        cdef bint late
        seat.high, seat.stable, seat.start = told.high, told.stable, told.start
        seat.redirected = False
        seat.answered = session.fetches
        seat.skipped = 0
        if told.size:
            seat.delivered = seat.ever = True
        if not session.privileged_:
            late = seat.behind_at(seat.position.offset, isolation)
            session.late += <int>late - <int>seat.late
            seat.late = late
        return 0

    cdef int charge(self, Counts session, size_t n, size_t m, Found* found) except -1:
        """What this would have cost as a full fetch: see Watched.charge."""
        cdef int64_t all_ = count_bytes(session.topics, session.sizes[2])
        session.full_request_bytes += n + session.request_cost + all_ - found.asked_cost - count_bytes(found.asked_topics, session.sizes[2])
        all_ = count_bytes(session.topics, session.sizes[5])
        session.full_response_bytes += m + session.response_cost + all_ - found.told_cost - count_bytes(found.told_topics, session.sizes[5])
        return 0


cdef inline bint same(const Position* one, const Position* other) noexcept:
    return (
        one.offset == other.offset and one.log_start == other.log_start and one.max_bytes == other.max_bytes
        and one.leader_epoch == other.leader_epoch and one.last_fetched_epoch == other.last_fetched_epoch
    )


cdef inline int64_t count_bytes(int64_t count, bint flexible) noexcept:
    """Bytes of an array's length."""
    cdef int64_t size = 1
    if not flexible:
        return 4
    count = (count + 1) >> 7
    while count:
        size += 1
        count >>= 7
    return size


cdef inline int64_t topic_cost(const int64_t* sizes, int64_t text, int64_t count) noexcept:
    """A topic's entry with its partitions; sizes: topic (with an empty name), partition, flexible."""
    cdef int64_t name = text + (count_bytes(text, True) - 1 if text and sizes[2] else 0)
    return sizes[0] + name + count_bytes(count, sizes[2]) + count * sizes[1]
