# Connections in their steady state. Frames that are whole in a packet are read in place; others are joined once.


@cython.final
cdef class Correlator(StreamHandler):
    """Receives bytes of connections, and passes exchanges to `output`. The handover makes readers for odd
    connections.
    """

    cdef ExchangeOutput output
    cdef ExchangeWriter lines     # the output's, for its codecs
    cdef object handover
    cdef object connection_end    # called by `report_end`, or None
    cdef frozenset ports
    cdef ConnectionState* states  # all connections, the latest first
    cdef PartialFrame spare
    cdef uint64_t ignored, connections
    cdef uint64_t mid_stream      # ended connections whose beginning is not in the capture
    cdef DraftHandler drafting    # None: frames are not redacted

    def __cinit__(self, handover, ports, ExchangeOutput output not None, connection_end):
        self.handover, self.output, self.lines = handover, output, output.lines
        self.ports = frozenset(ports)
        self.connection_end = connection_end

    def __dealloc__(self):
        while self.states != NULL:
            self.discard(self.states)
        free(self.spare.data)

    # Connections

    cdef ConnectionState* state(self, Flow* flow) except NULL:
        cdef ConnectionState* state = <ConnectionState*>flow.state
        if state == NULL:
            state = self.add(flow)
            self.introduce(flow, state)
        return state

    cdef ConnectionState* add(self, Flow* flow) except NULL:
        cdef ConnectionState* state = <ConnectionState*>calloc(1, sizeof(ConnectionState))
        if state == NULL:
            raise MemoryError
        state.older = self.states
        if state.older != NULL:
            state.older.newer = state
        flow.state = self.states = state
        return state

    cdef int introduce(self, Flow* flow, ConnectionState* state) except -1:
        """Choose the client's end by the chosen ports; read the connection the steady way if both SYNs were
        captured.
        """
        state.client = flow.client
        if self.ports:
            pinned = [d for d in range(2) if flow.ends.port[d] in self.ports]
            if not pinned:
                state.ignored = True
                return 0
            if len(pinned) == 1:
                state.client = 1 - pinned[0]
        self.connections += 1
        if state.client >= 0 and flow.side[0].syn and flow.side[1].syn:
            state.steady = True
        else:
            connect(self, flow, state)
        return 0

    cdef int receive(self, Flow* flow, int d, uint64_t ts, const uint8_t* data, size_t n) except -1:
        cdef ConnectionState* state = self.state(flow)
        if state.steady and not state.sealed:
            self.read_frames(flow, state, d, ts, data, n)
        elif state.steady:
            read_records(self, flow, state, d, ts, data, n)
        elif state.ignored:
            self.ignored += n
            return 0
        elif state.foreign:
            state.passed[d] += n
            return 0
        else:
            pass_to_connection(self, state, d, ts, data, n)
        return self.weigh(state)

    cdef int lost(self, Flow* flow, int d, uint64_t ts, uint64_t n, Loss why) except -1:
        cdef ConnectionState* state = self.state(flow)
        if state.ignored or state.foreign:
            return 0
        if state.steady:
            hand_over(self, flow, state, 0, 0)
        kind, reason = LOSSES.get(why, JUMP)
        (<object>state.connection).lost(d, ts, n, kind, reason)
        state.foreign = (<object>state.connection).foreign is not None
        return self.weigh(state)

    cdef int ended(self, Flow* flow, uint64_t ts, Ending why) except -1:
        cdef ConnectionState* state = <ConnectionState*>flow.state
        if state == NULL or state.ignored:
            return 0
        self.mid_stream += not (flow.side[0].syn and flow.side[1].syn)
        if state.steady and (state.sealed or state.first != NULL or state.half[0].size or state.half[1].size):
            hand_over(self, flow, state, 0, 0)
        if not state.steady:
            (<object>state.connection).close(ts, ENDINGS[why], (state.passed[0], state.passed[1]))
        if self.connection_end is not None:
            report_end(self, flow, state)
        return self.forget(flow)      # no more bytes of it are needed

    cdef int give_up(self, Flow* flow) except -1:
        cdef ConnectionState* state = <ConnectionState*>flow.state
        if state == NULL or state.ignored or state.foreign:
            return 0
        if state.steady and state.weight:
            hand_over(self, flow, state, 0, 0)
        if not state.steady:
            (<object>state.connection).give_up()
            state.foreign = (<object>state.connection).foreign is not None
        return self.weigh(state)

    cdef int forget(self, Flow* flow) except -1:
        if flow.state != NULL:
            self.discard(<ConnectionState*>flow.state)
            flow.state = NULL
        return 0

    cdef bint is_steady(self, Flow* flow) noexcept:
        cdef ConnectionState* state = <ConnectionState*>flow.state
        return state != NULL and state.steady and state.greeted and not state.sealed

    # Frames

    cdef int read_frames(
        self, Flow* flow, ConnectionState* state, int d, uint64_t ts, const uint8_t* data, size_t n
    ) except -1:
        cdef PartialFrame* half = &state.half[d]
        cdef size_t whole, take
        if self.drafting is not None:
            self.drafting.begin(flow, state, d, ts, n)
        state.heard[d] = ts
        state.began = state.began or ts
        while n:
            if half.size:
                whole = wanted(half.data, half.size)
                take = min(n, whole - half.size)
                join(&self.spare, half, data, take, whole)
                data += take
                n -= take
                if half.size < whole or whole == PREFIX:
                    if not self.may_begin(state, d, half.data, half.size):
                        return give(self, flow, state, d, ts, data, n)
                    continue
                if not self.take(flow, state, d, ts, half.data + PREFIX, whole - PREFIX, half):
                    return give(self, flow, state, d, ts, data, n)
                empty(&self.spare, half)
                continue
            whole = wanted(data, n)
            if n < PREFIX or n < whole:
                if not self.may_begin(state, d, data, n):
                    return give(self, flow, state, d, ts, data, n)
                join(&self.spare, half, data, n, whole)
                state.begun[d] = ts
                return 0
            if (
                not self.may_begin(state, d, data, n)
                or not self.take(flow, state, d, ts, data + PREFIX, whole - PREFIX, NULL)
            ):
                return give(self, flow, state, d, ts, data, n)
            data += whole
            n -= whole
        return 0

    cdef bint may_begin(self, ConnectionState* state, int d, const uint8_t* data, size_t n) except -1:
        """Return whether a frame may begin here; False also if only the slower way can tell."""
        cdef uint32_t size
        cdef int16_t name
        if n < PREFIX:
            return True
        size = be32(data)
        if size >= MAX_FRAME or size < (8 if d == state.client else 4):
            return False
        if state.greeted or d != state.client:
            return state.greeted
        if not HEADER <= size < MAX_FIRST_FRAME:
            return False
        if n < PREFIX + HEADER:
            return True
        name = <int16_t>be16(data + 12)
        if data[8] & 0x80 or name < -1 or name > <int>size - HEADER:
            return False
        return <object>self.lines.codecs(<int16_t>be16(data + 4), <int16_t>be16(data + 6)) is not None

    cdef inline bint take(
        self, Flow* flow, ConnectionState* state, int d, uint64_t ts, const uint8_t* frame, size_t n,
        PartialFrame* owner
    ) except -1:
        return (
            self.frame(flow, state, d, ts, frame, n, owner)
            if self.drafting is None
            else self.drafting.frame(flow, state, d, ts, frame, n, owner)
        )

    cdef bint frame(
        self, Flow* flow, ConnectionState* state, int d, uint64_t ts, const uint8_t* frame, size_t n,
        PartialFrame* owner
    ) except -1:
        """Read a whole frame. Return False, with nothing changed, if it needs the slower way."""
        if d == state.client:
            return self.request(flow, state, ts, frame, n, owner)
        if state.first == NULL or n < 4 or state.first.correlation_id != <int32_t>be32(frame):
            return False
        cdef Request* request = state.first
        cdef Exchange exchange
        if not state.proved:
            if not proves(self.lines, request, frame, n):
                return False
            state.proved = True
        remember_client(state, request.frame, request.size)
        state.first = request.next
        if state.first == NULL:
            state.last = NULL
        state.waiting -= 1
        state.waiting_bytes -= REQUEST_SIZE + request.size
        try:
            exchange.key, exchange.version = request.key, request.version
            exchange.ts, exchange.request, exchange.request_size = request.ts, request.frame, request.size
            exchange.answered, exchange.response, exchange.response_size = ts, frame, n
            exchange.began, exchange.pause, exchange.in_flight = request.began, request.pause, request.in_flight
            exchange.answering = state.answered = ts
            if owner != NULL:
                exchange.answering = state.begun[d]
            self.exchanged(flow, state, &exchange)
        finally:
            drop(&self.spare, request)
        return True

    cdef bint request(
        self, Flow* flow, ConnectionState* state, uint64_t ts, const uint8_t* frame, size_t n, PartialFrame* owner
    ) except -1:
        cdef int16_t key, version
        cdef int64_t acks
        cdef uint64_t began = ts if owner == NULL else state.begun[state.client]
        cdef int64_t pause = began - state.answered if not state.waiting and 0 < state.answered <= began else -1
        cdef Request* request
        cdef Exchange exchange
        if n < 8 or state.waiting >= WAITING:
            return False
        key, version = <int16_t>be16(frame), <int16_t>be16(frame + 2)
        if <object>self.lines.codecs(key, version) is None or (key == SASL_HANDSHAKE and version == 0):
            return False
        acks = (<ApiCodecs>self.lines.codecs(key, version)).acks_of(frame, n) if key == PRODUCE else -1
        if acks == -2:
            return False    # the slower way reads them in what is damaged behind them, too
        if acks == 0:
            if not state.proved:
                return False
            state.greeted = True
            exchange.key, exchange.version = key, version
            exchange.ts, exchange.request, exchange.request_size = ts, frame, n
            exchange.answered, exchange.response, exchange.response_size = 0, NULL, 0
            exchange.began, exchange.answering, exchange.pause, exchange.in_flight = began, 0, pause, state.waiting
            self.exchanged(flow, state, &exchange)
            return True
        state.greeted = True
        if owner != NULL and owner.capacity > 4096:
            request = <Request*>malloc(sizeof(Request))
        else:
            request = <Request*>malloc(sizeof(Request) + n)
        if request == NULL:
            raise MemoryError
        request.next, request.ts, request.size = NULL, ts, n
        request.began, request.pause, request.in_flight = began, pause, state.waiting
        request.key, request.version, request.correlation_id = key, version, <int32_t>be32(frame + 4)
        if owner != NULL and owner.capacity > 4096:
            request.frame, request.capacity = owner.data, owner.capacity
            memmove(request.frame, frame, n)
            owner[0] = PartialFrame(NULL, 0, 0)
        else:
            request.frame, request.capacity = <uint8_t*>(request + 1), 0
            memcpy(request.frame, frame, n)
        append_request(state, request)
        return True

    cdef int exchanged(self, Flow* flow, ConnectionState* state, Exchange* e) except -1:
        if state.link == NULL:
            name_link(flow, state)
        e.link, e.link_size = state.link, state.link_size
        return self.output.receive(e)

    # Held memory

    cdef int weigh(self, ConnectionState* state) except -1:
        """Count the memory that a connection holds, as kcli/capture/kafka/connection.py does."""
        cdef size_t weight = 0
        if state.steady:
            weight = (
                state.half[0].size
                + state.half[1].size
                + state.record[0].size
                + state.record[1].size
                + state.waiting_bytes
            )
        elif state.connection != NULL and not state.foreign:
            weight = (<object>state.connection).weight
        self.held += weight - state.weight
        state.weight = weight
        return 0

    cdef size_t weight(self, Flow* flow) noexcept:
        return (<ConnectionState*>flow.state).weight if flow.state != NULL else 0

    cdef int discard(self, ConnectionState* state) except -1:
        """Free all memory of a connection, and its state."""
        self.held -= state.weight
        empty_state(&self.spare, state)
        if state.newer != NULL:
            state.newer.older = state.older
        else:
            self.states = state.older
        if state.older != NULL:
            state.older.newer = state.newer
        free(state)
        return 0

    cdef tuple dump(self, Flow* flow):
        return dump_state(self, flow)

    cdef int restore(self, Flow* flow, tuple values) except -1:
        return restore_state(self, flow, values)
