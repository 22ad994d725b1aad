# Connections in their steady state: frames whole in a packet are read in place, others are joined once.

cdef enum:
    PREFIX = 4
    HEADER = 10                   # of a request, up to its client id
    LARGEST = 1 << 30             # bytes of a frame
    UNGREETED = 1 << 27           # ... of a connection's first one
    BELIEVED = 1 << 18            # ... that are reserved at once, whatever a length says
    TRAILING = 4                  # bytes behind a message that are still believed
    REQUEST_SIZE = 64             # bytes of memory counted for a request besides its frame
    SPARE = 1 << 24               # bytes of a buffer worth keeping for the next frame
    WAITING = 4096                # requests; beyond them the slower way decides what to give up


# A request that waits for its response.
cdef struct Request:
    Request* next
    uint64_t ts
    uint8_t* frame                # behind this struct, or a buffer of its own (capacity > 0)
    size_t size, capacity
    int32_t correlation_id
    int16_t key, version


# The part of a frame that has come.
cdef struct PartialFrame:
    uint8_t* data
    size_t size, capacity


cdef struct ConnectionState:
    PyObject* connection          # a kcli.capture.connection.CapturedConnection; NULL: the steady way was enough so far
    bint steady
    bint ignored                  # not on a port that was asked for, or over
    bint foreign                  # not Kafka
    bint greeted                  # a request has been read
    bint proved                   # an exchange has been read to its last byte: this is Kafka
    int client                    # which end, -1: not known
    uint64_t passed[2]            # bytes of a foreign connection
    uint64_t heard[2]             # when bytes last came from an end
    uint64_t began                # when the first bytes came
    PartialFrame half[2]
    Request* first
    Request* last
    int waiting
    size_t waiting_bytes          # of memory, of those
    size_t weight                 # bytes of memory that the connection holds, as counted last
    char* link                    # "server-client"
    size_t link_size


cdef class Correlator(Streams):
    cdef object owner
    cdef readonly ExchangeWriter lines
    cdef bint text
    cdef LineFilter chosen            # None: every line is wanted
    cdef Sink sink                # the owner's, where it has one
    cdef PartialFrame spare
    cdef readonly uint64_t exchanges, answered, message_bytes
    cdef uint64_t by_key[KEYS]

    def __init__(self, owner, text):
        self.owner = owner
        self.text = text
        self.sink = getattr(owner, "sink", None)
        self.lines = ExchangeWriter(owner.bodies)

    def __dealloc__(self):
        free(self.spare.data)

    def counts(self):
        """How often each API key was seen in exchanges that the owner was not told of."""
        return {key: self.by_key[key] for key in range(KEYS) if self.by_key[key]}

    def write(self, bytes line not None):
        """Put a line, made elsewhere, behind those that are here."""
        if out_put(&self.lines.out, PyBytes_AS_STRING(line), PyBytes_GET_SIZE(line)):
            raise MemoryError

    def drain_text(self, write):
        """Give the text so far to `write`, as a memoryview that is valid during the call only."""
        cdef Out* out = &self.lines.out
        if out.size:
            write(PyMemoryView_FromMemory(out.data, out.size, PyBUF_READ))
            out.size = 0

    # Frames

    cdef int steady(self, Flow* flow, ConnectionState* talk, int d, uint64_t ts, const uint8_t* data, size_t n) except -1:
        cdef PartialFrame* half = &talk.half[d]
        cdef size_t whole, take
        talk.heard[d] = ts
        if not talk.began:
            talk.began = ts
        while n:
            if half.size:
                whole = self.wanted(half.data, half.size)
                take = min(n, whole - half.size)
                self.join(half, data, take, whole)
                data += take
                n -= take
                if half.size < whole or whole == PREFIX:
                    if not self.may_begin(talk, d, half.data, half.size):
                        return self.give(flow, talk, d, ts, data, n)
                    continue
                if not self.frame(flow, talk, d, ts, half.data + PREFIX, whole - PREFIX, half):
                    return self.give(flow, talk, d, ts, data, n)
                self.empty(half)
                continue
            whole = self.wanted(data, n)
            if n < PREFIX or n < whole:
                if not self.may_begin(talk, d, data, n):
                    return self.give(flow, talk, d, ts, data, n)
                self.join(half, data, n, whole)
                return 0
            if not self.may_begin(talk, d, data, n) or not self.frame(flow, talk, d, ts, data + PREFIX, whole - PREFIX, NULL):
                return self.give(flow, talk, d, ts, data, n)
            data += whole
            n -= whole
        return 0

    cdef size_t wanted(self, const uint8_t* data, size_t n) noexcept:
        """Bytes of the frame that begins here, as far as can be told."""
        return PREFIX + <size_t>be32(data) if n >= PREFIX else PREFIX

    cdef bint may_begin(self, ConnectionState* talk, int d, const uint8_t* data, size_t n) except -1:
        """False where these bytes are no frame, or only the slower way can tell."""
        cdef uint32_t size
        cdef int16_t name
        if n < PREFIX:
            return True
        size = be32(data)
        if size >= LARGEST or size < (8 if d == talk.client else 4):
            return False
        if talk.greeted or d != talk.client:
            return talk.greeted
        if size >= UNGREETED:
            return False
        if n < PREFIX + HEADER:
            return True
        name = <int16_t>be16(data + 12)
        if data[8] & 0x80 or name < -1 or name > <int>size - HEADER:
            return False
        return <object>self.lines.plan(<int16_t>be16(data + 4), <int16_t>be16(data + 6)) is not None

    cdef int join(self, PartialFrame* half, const uint8_t* data, size_t n, size_t whole) except -1:
        cdef size_t capacity
        cdef uint8_t* grown
        if half.size + n > half.capacity:
            if half.data == NULL and self.spare.data != NULL and whole > 4096:
                half[0] = self.spare
                half.size = 0
                self.spare = PartialFrame(NULL, 0, 0)
            capacity = max(half.capacity * 2, half.size + n, min(whole, max(<size_t>BELIEVED, 4 * half.size)))
            if half.size + n > half.capacity:
                grown = <uint8_t*>realloc(half.data, capacity)
                if grown == NULL:
                    raise MemoryError
                half.data, half.capacity = grown, capacity
        memcpy(half.data + half.size, data, n)
        half.size += n
        return 0

    cdef int empty(self, PartialFrame* half) except -1:
        """The frame is read: small buffers stay, one big one is kept for whoever needs it next."""
        half.size = 0
        if half.capacity > 4096:
            self.keep_spare(half.data, half.capacity)
            half[0] = PartialFrame(NULL, 0, 0)
        return 0

    cdef void keep_spare(self, uint8_t* data, size_t capacity) noexcept:
        if capacity > SPARE or capacity <= self.spare.capacity:
            free(data)
            return
        free(self.spare.data)
        self.spare = PartialFrame(data, 0, capacity)

    cdef bint frame(self, Flow* flow, ConnectionState* talk, int d, uint64_t ts, const uint8_t* frame, size_t n, PartialFrame* owner) except -1:
        """Read a whole frame; False where it takes the slower way, before anything has changed."""
        if d == talk.client:
            return self.request(flow, talk, ts, frame, n, owner)
        if talk.first == NULL or n < 4 or talk.first.correlation_id != <int32_t>be32(frame):
            return False
        cdef Request* request = talk.first
        if not talk.proved:
            if not self.proves(request, frame, n):
                return False
            talk.proved = True
        talk.first = request.next
        if talk.first == NULL:
            talk.last = NULL
        talk.waiting -= 1
        talk.waiting_bytes -= REQUEST_SIZE + request.size
        try:
            self.exchanged(flow, talk, request.key, request.version, request.ts, request.frame, request.size, ts, frame, n)
        finally:
            self.drop(request)
        return True

    cdef bint proves(self, Request* request, const uint8_t* frame, size_t n) except -1:
        """Whether a request and its answer are read to their last bytes: what is not Kafka's hardly ever is."""
        cdef PyObject* found = self.lines.plan(request.key, request.version)
        cdef ApiCodecs plan
        if <object>found is None:
            return False
        plan = <ApiCodecs>found
        if plan.request_header is None or plan.request is None or plan.response is None:
            return False
        cdef Py_ssize_t start = plan.request_header.skip_at(request.frame, request.size)
        if start < 0 or not fills(plan.request, request.frame + start, request.size - start):
            return False
        start = plan.response_header.skip_at(frame, n)
        return start >= 0 and fills(plan.answer(frame + start, n - start), frame + start, n - start)

    cdef bint request(self, Flow* flow, ConnectionState* talk, uint64_t ts, const uint8_t* frame, size_t n, PartialFrame* owner) except -1:
        cdef int16_t key, version
        cdef Request* request
        if n < 8 or talk.waiting >= WAITING:
            return False
        key, version = <int16_t>be16(frame), <int16_t>be16(frame + 2)
        if <object>self.lines.plan(key, version) is None or (key == SASL_HANDSHAKE and version == 0):
            return False
        if key == PRODUCE and (<ApiCodecs>self.lines.plan(key, version)).acks_of(frame, n) == 0:
            if not talk.proved:
                return False
            talk.greeted = True
            self.exchanged(flow, talk, key, version, ts, frame, n, 0, NULL, 0)
            return True
        talk.greeted = True
        if owner != NULL and owner.capacity > 4096:
            request = <Request*>malloc(sizeof(Request))
        else:
            request = <Request*>malloc(sizeof(Request) + n)
        if request == NULL:
            raise MemoryError
        request.next, request.ts, request.size = NULL, ts, n
        request.key, request.version, request.correlation_id = key, version, <int32_t>be32(frame + 4)
        if owner != NULL and owner.capacity > 4096:
            request.frame, request.capacity = owner.data, owner.capacity
            memmove(request.frame, frame, n)
            owner[0] = PartialFrame(NULL, 0, 0)
        else:
            request.frame, request.capacity = <uint8_t*>(request + 1), 0
            memcpy(request.frame, frame, n)
        self.append(talk, request)
        return True

    cdef void append(self, ConnectionState* talk, Request* request) noexcept:
        if talk.last != NULL:
            talk.last.next = request
        else:
            talk.first = request
        talk.last = request
        talk.waiting += 1
        talk.waiting_bytes += REQUEST_SIZE + request.size

    cdef void drop(self, Request* request) noexcept:
        if request.capacity:
            self.keep_spare(request.frame, request.capacity)
        free(request)

    cdef int exchanged(self, Flow* flow, ConnectionState* talk, int key, int version, uint64_t ts, const uint8_t* request, size_t n,
                       uint64_t answered, const uint8_t* response, size_t m) except -1:
        # Any key may come back with the requests of a connection that was handed over.
        if 0 <= key < KEYS and (self.sink is not None or self.text) and self.put(flow, talk, key, version, ts, request, n, answered, response, m):
            self.exchanges += 1
            self.answered += response != NULL
            self.message_bytes += n + PREFIX + (m + PREFIX if response != NULL else 0)
            self.by_key[key] += 1
            return 0
        self.owner.exchanged(
            ends_text(flow), talk.client, ts, request[:n], None if response == NULL else answered, None if response == NULL else response[:m]
        )
        return 0

    cdef bint put(self, Flow* flow, ConnectionState* talk, int key, int version, uint64_t ts, const uint8_t* request, size_t n,
                  uint64_t answered, const uint8_t* response, size_t m) except -1:
        """Give an exchange to the owner's sink, or write its line; False where only the slower way can."""
        cdef PyObject* plan = self.lines.plan(key, version)
        if talk.link == NULL:
            self.name_link(flow, talk)
        if self.sink is not None and self.sink.take(talk.link, talk.link_size, key, version, ts, request, n, answered, response, m):
            return True
        if not self.text or <object>plan is None:
            return False
        cdef Out* out = &self.lines.out
        cdef size_t before = out.size
        if not self.lines.put(<ApiCodecs>plan, talk.link, talk.link_size, ts, request, n, answered, response, m):
            return False
        if self.chosen is not None and not self.chosen.keeps(
            key, version, ts, request, n, out.data + before, out.size - before, self.lines.answer_at - before
        ):
            out.size = before       # read all the same: it may have named topics
        return True

    cdef int name_link(self, Flow* flow, ConnectionState* talk) except -1:
        ends = ends_text(flow)
        cdef bytes text = f"{ends[1 - talk.client]}-{ends[talk.client]}".encode()
        talk.link_size = len(text)
        talk.link = <char*>malloc(talk.link_size)
        if talk.link == NULL:
            raise MemoryError
        memcpy(talk.link, PyBytes_AS_STRING(text), talk.link_size)
        return 0

    # What is held

    cdef int weigh(self, ConnectionState* talk) except -1:
        """Count what a connection holds, as kcli/capture/connection.py says."""
        cdef size_t weight = 0
        if talk.steady:
            weight = talk.half[0].size + talk.half[1].size + talk.waiting_bytes
        elif talk.connection != NULL and not talk.foreign:
            weight = (<object>talk.connection).weight
        self.held += weight - talk.weight
        talk.weight = weight
        return 0

    # To the slower way and back

    cdef int give(self, Flow* flow, ConnectionState* talk, int d, uint64_t ts, const uint8_t* data, size_t n) except -1:
        """Hand the connection over, with bytes that were not read yet."""
        self.hand_over(flow, talk, d, n)
        return self.pass_to_connection(flow, talk, d, ts, data, n)

    cdef int connection(self, Flow* flow, ConnectionState* talk) except -1:
        if talk.connection == NULL:
            client = None if talk.client < 0 else talk.client
            made = self.owner.connect(ends_text(flow), client, (flow.side[0].syn, flow.side[1].syn))
            Py_INCREF(made)
            talk.connection = <PyObject*>made
        return 0

    cdef int hand_over(self, Flow* flow, ConnectionState* talk, int d, size_t left) except -1:
        """`left`: bytes of direction d that its stream has counted and nobody has read."""
        cdef int side
        cdef PartialFrame* half
        cdef Request* request = talk.first
        cdef uint64_t[2] offsets
        self.connection(flow, talk)
        pending = []
        while request != NULL:
            pending.append((request.correlation_id, request.key, request.version, request.ts, request.frame[: request.size]))
            talk.first = request.next
            self.drop(request)
            request = talk.first
        talk.last, talk.waiting, talk.waiting_bytes = NULL, 0, 0
        buffers = []
        for side in range(2):
            half = &talk.half[side]
            buffers.append(half.data[: half.size])
            offsets[side] = flow.side[side].offset - half.size - (left if side == d else 0)
            self.empty(half)
        talk.steady = False
        (<object>talk.connection).restore(
            talk.greeted, pending, buffers, (offsets[0], offsets[1]), (talk.heard[0], talk.heard[1]), talk.began, talk.proved
        )
        return 0

    cdef int pass_to_connection(self, Flow* flow, ConnectionState* talk, int d, uint64_t ts, const uint8_t* data, size_t n) except -1:
        connection = <object>talk.connection
        connection.data(d, ts, PyBytes_FromStringAndSize(<const char*>data, n))
        talk.foreign = connection.foreign is not None
        if not talk.foreign and connection.steady:
            self.take_back(talk, connection)
        return 0

    cdef int take_back(self, ConnectionState* talk, connection) except -1:
        cdef Request* request
        cdef bytes frame, buffer
        cdef int d
        talk.client = connection.client
        pending, buffers, (talk.heard[0], talk.heard[1]) = connection.release()
        for number, key, version, ts, frame in pending:
            request = <Request*>malloc(sizeof(Request) + len(frame))
            if request == NULL:
                raise MemoryError
            request.next, request.ts, request.size, request.capacity = NULL, ts, len(frame), 0
            request.key, request.version, request.correlation_id = key, version, number
            request.frame = <uint8_t*>(request + 1)
            memcpy(request.frame, PyBytes_AS_STRING(frame), len(frame))
            self.append(talk, request)
        for d in range(2):
            buffer = buffers[d]
            if buffer:
                self.join(&talk.half[d], <const uint8_t*>PyBytes_AS_STRING(buffer), len(buffer), len(buffer))
        talk.steady = talk.greeted = talk.proved = True
        return 0

    cdef int release(self, ConnectionState* talk) except -1:
        """Let go of all that a connection holds."""
        cdef Request* request = talk.first
        while request != NULL:
            talk.first = request.next
            self.drop(request)
            request = talk.first
        talk.last, talk.waiting, talk.waiting_bytes = NULL, 0, 0
        self.held -= talk.weight
        talk.weight = 0
        for d in range(2):
            free(talk.half[d].data)
            talk.half[d] = PartialFrame(NULL, 0, 0)
        free(talk.link)
        talk.link = NULL
        if talk.connection != NULL:
            Py_DECREF(<object>talk.connection)
            talk.connection = NULL
        return 0


cdef bint fills(Node node, const uint8_t* body, Py_ssize_t n) noexcept:
    """Whether the message ends where the frame does, or so near that a client's spare bytes explain the rest."""
    cdef Py_ssize_t end = node.skip_at(body, n)
    return end >= 0 and n - end <= TRAILING


cdef tuple ends_text(Flow* flow):
    return end_text(&flow.ends, 0), end_text(&flow.ends, 1)


cdef str end_text(Ends* ends, int d):
    """"address:port", an IPv6 address in brackets."""
    cdef uint64_t high = ends.address[d][0], low = ends.address[d][1]
    if ends.version == 4:
        return f"{low >> 24 & 255}.{low >> 16 & 255}.{low >> 8 & 255}.{low & 255}:{ends.port[d]}"
    import socket

    packed = high.to_bytes(8, "big") + low.to_bytes(8, "big")
    return f"[{socket.inet_ntop(socket.AF_INET6, packed)}]:{ends.port[d]}"
