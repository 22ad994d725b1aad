# The state of a steady connection: waiting requests and partial frames.

cdef enum:
    PREFIX = 4
    HEADER = 10                   # bytes of a request before its client id's text
    MAX_FRAME = 1 << 30           # bytes
    MAX_FIRST_FRAME = 1 << 27     # bytes of a connection's first frame
    MAX_RESERVED = 1 << 18        # bytes of a frame that are reserved at once, whatever its length
    TRAILING = 4                  # most bytes after a message that are tolerated
    REQUEST_SIZE = 64             # bytes of memory counted for a request besides its frame
    SPARE = 1 << 24               # bytes of a buffer worth keeping for later frames
    WAITING = 4096                # most waiting requests; with more, the slower way decides which to drop
    LONGEST_KNOWN = 64            # bytes of a client id to remember


# A request that waits for its response.
cdef struct Request:
    Request* next
    uint64_t ts, began            # when its last and its first bytes came
    int64_t pause, in_flight      # see Exchange
    uint8_t* frame                # after this struct, or in a buffer of its own (capacity > 0)
    size_t size, capacity
    int32_t correlation_id
    int16_t key, version
    bint unnumbered               # it can't be decoded, and a draft has another correlation id for it


# The part of a frame that has come.
cdef struct PartialFrame:
    uint8_t* data
    size_t size, capacity


# Fields used for each packet are in front.
cdef struct ConnectionState:
    bint steady
    bint sealed                   # ... with TLS: the contents of records are read here, not their bytes
    bint ignored                  # not on a chosen port
    bint foreign                  # not Kafka
    bint greeted                  # a request has been read
    bint proved                   # an exchange was read to its last byte, so this is Kafka
    int client                    # the client's end; -1: unknown
    int waiting                   # requests
    Request* first
    Request* last
    size_t waiting_bytes          # bytes of memory of these requests
    size_t weight                 # bytes of memory that the connection holds, as last counted
    uint64_t heard[2]             # when bytes last came from each end
    uint64_t began                # when the first bytes came
    uint64_t answered             # when the latest response was complete; 0: none
    char* link                    # "server-client"
    size_t link_size
    PartialFrame half[2]
    uint64_t begun[2]             # when their first bytes came
    size_t client_id_size         # 0: unknown
    uint8_t client_id[LONGEST_KNOWN]   # of an answered request
    PartialFrame record[2]        # the part of a TLS record that has come
    uint64_t came[2]              # ... and when
    uint64_t unsealed[2]          # bytes of data in records from each end
    uint64_t passed[2]            # bytes of a foreign connection
    PyObject* connection          # a kcli.capture.tls.layer.TlsLayer; NULL: the steady way has sufficed so far
    ConnectionState* older        # of all connections
    ConnectionState* newer


cdef void append_request(ConnectionState* state, Request* request) noexcept:
    if state.last != NULL:
        state.last.next = request
    else:
        state.first = request
    state.last = request
    request.unnumbered = False
    state.waiting += 1
    state.waiting_bytes += REQUEST_SIZE + request.size


cdef inline void remember_client(ConnectionState* state, const uint8_t* frame, size_t n) noexcept:
    """Remember a request's client id, unless it is empty or too long."""
    cdef size_t size = be16(frame + HEADER - 2) if n >= HEADER else 0
    if 0 < size <= LONGEST_KNOWN and HEADER + size <= n and (
        size != state.client_id_size or memcmp(state.client_id, frame + HEADER, size)
    ):
        memcpy(state.client_id, frame + HEADER, size)
        state.client_id_size = size


cdef int join(PartialFrame* spare, PartialFrame* half, const uint8_t* data, size_t n, size_t whole) except -1:
    cdef size_t capacity
    cdef uint8_t* grown
    if half.size + n > half.capacity:
        if half.data == NULL and spare.data != NULL and whole > 4096:
            half[0] = spare[0]
            half.size = 0
            spare[0] = PartialFrame(NULL, 0, 0)
        capacity = max(half.capacity * 2, half.size + n, min(whole, max(<size_t>MAX_RESERVED, 4 * half.size)))
        if half.size + n > half.capacity:
            grown = <uint8_t*>realloc(half.data, capacity)
            if grown == NULL:
                raise MemoryError
            half.data, half.capacity = grown, capacity
    memcpy(half.data + half.size, data, n)
    half.size += n
    return 0


cdef int empty(PartialFrame* spare, PartialFrame* half) except -1:
    """Empty the buffer of a frame that was read; a small buffer stays, a big one becomes the spare."""
    half.size = 0
    if half.capacity > 4096:
        keep_spare(spare, half.data, half.capacity)
        half[0] = PartialFrame(NULL, 0, 0)
    return 0


cdef void keep_spare(PartialFrame* spare, uint8_t* data, size_t capacity) noexcept:
    if capacity > SPARE or capacity <= spare.capacity:
        free(data)
        return
    free(spare.data)
    spare[0] = PartialFrame(data, 0, capacity)


cdef void drop(PartialFrame* spare, Request* request) noexcept:
    if request.capacity:
        keep_spare(spare, request.frame, request.capacity)
    free(request)


cdef void empty_state(PartialFrame* spare, ConnectionState* state) noexcept:
    """Free all memory of a connection."""
    cdef Request* request = state.first
    cdef int d
    while request != NULL:
        state.first = request.next
        drop(spare, request)
        request = state.first
    for d in range(2):
        free(state.half[d].data)
        free(state.record[d].data)
    free(state.link)
    if state.connection != NULL:
        Py_DECREF(<object>state.connection)


cdef inline size_t wanted(const uint8_t* data, size_t n) noexcept:
    """Return the size in bytes of the frame at the start, with its length prefix; PREFIX while the prefix is
    incomplete.
    """
    return PREFIX + <size_t>be32(data) if n >= PREFIX else PREFIX


cdef bint proves(ExchangeWriter lines, Request* request, const uint8_t* frame, size_t n) except -1:
    """Return whether a request and its response decode to their last bytes, as bytes of another protocol hardly ever
    do.
    """
    cdef PyObject* found = lines.codecs(request.key, request.version)
    cdef ApiCodecs codecs
    if <object>found is None:
        return False
    codecs = <ApiCodecs>found
    cdef Py_ssize_t start = codecs.request_header.skip_at(request.frame, request.size)
    if start < 0 or not fills(codecs.request, request.frame + start, request.size - start):
        return False
    start = codecs.response_header.skip_at(frame, n)
    return start >= 0 and fills(codecs.answer(frame + start, n - start), frame + start, n - start)


cdef bint fills(Node node, const uint8_t* body, Py_ssize_t n) noexcept:
    """Return whether the message ends with the frame, or at most TRAILING bytes before."""
    cdef Py_ssize_t end = node.skip_at(body, n)
    return end >= 0 and n - end <= TRAILING


cdef int name_link(Flow* flow, ConnectionState* state) except -1:
    cdef char[2 * KC_END_ROOM + 1] text
    cdef char* p = put_end(text, &flow.ends, 1 - state.client)
    p[0] = b"-"
    p = put_twin(put_end(p + 1, &flow.ends, state.client), flow)
    return set_link(state, text, p - text)


cdef int set_link(ConnectionState* state, const char* text, size_t size) except -1:
    state.link = <char*>malloc(size)
    if state.link == NULL:
        raise MemoryError
    memcpy(state.link, text, size)
    state.link_size = size
    return 0


cdef str end_text(Flow* flow, int d):
    """Return "address:port", with an IPv6 address in brackets, and "#2" and so on for further connections of the same
    ends.
    """
    cdef char[KC_END_ROOM] text
    return text[: put_twin(put_end(text, &flow.ends, d), flow) - text].decode()


cdef inline char* put_twin(char* p, Flow* flow) noexcept:
    """Write "#2" for the second connection of the same ends on another path, and so on; nothing for the first."""
    return p + sprintf(p, b"#%d", flow.twin + 1) if flow.twin else p
