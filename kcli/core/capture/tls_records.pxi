# A steady connection with TLS: its records are assembled here, decrypted by kcli.capture.tls, and their contents read
# like a connection's bytes.

cdef enum:
    RECORD_HEADER = 5
    MAX_RECORD = 16384 + 2048     # bytes of a record's payload (RFC 5246, 6.2.3)


cdef int read_records(
    Correlator correlator, Flow* flow, ConnectionState* state, int d, uint64_t ts, const uint8_t* data, size_t n
) except -1:
    """Decrypt the records that these bytes complete; the rest waits. Odd records go the slower way."""
    cdef PartialFrame* part = &state.record[d]
    cdef size_t whole, take, size
    state.came[d] = ts
    while part.size and n:
        whole = record_wanted(part.data, part.size)
        take = min(n, whole - part.size)
        join(&correlator.spare, part, data, take, whole)
        data += take
        n -= take
        if not is_record(part.data, part.size):
            hand_over(correlator, flow, state, d, 0)
        elif part.size == record_wanted(part.data, part.size):
            open_records(correlator, flow, state, d, ts, part.data, part.size, part)
        else:
            continue
        if not state.steady:
            return pass_to_connection(correlator, state, d, ts, data, n) if n else look_again(correlator, state)
    whole = 0
    while n - whole >= RECORD_HEADER and is_record(data + whole, n - whole):
        size = record_wanted(data + whole, n - whole)
        if size > n - whole:
            break
        whole += size
    if whole:
        open_records(correlator, flow, state, d, ts, data, whole, NULL)
    data += whole
    n -= whole
    if state.steady and n and not is_record(data, n):
        hand_over(correlator, flow, state, d, 0)
    if not state.steady:
        return pass_to_connection(correlator, state, d, ts, data, n) if n else look_again(correlator, state)
    if n:
        join(&correlator.spare, part, data, n, record_wanted(data, n))
    return 0


cdef int open_records(
    Correlator correlator, Flow* flow, ConnectionState* state, int d, uint64_t ts, const uint8_t* data, size_t size,
    PartialFrame* owner
) except -1:
    """Read the contents of whole records. The connection may be handed over meanwhile, and is if a record does not
    decrypt.

    owner: holds the records, and is emptied; NULL: none.
    """
    cdef bytes text, rest
    cdef size_t n, used
    text, used = (<object>state.connection).open_records(d, ts, PyMemoryView_FromMemory(<char*>data, size, PyBUF_READ))
    rest = PyBytes_FromStringAndSize(<const char*>data + used, size - used)
    if owner != NULL:
        empty(&correlator.spare, owner)
    n = len(text)
    if n:
        state.unsealed[d] += n
        correlator.read_frames(flow, state, d, ts, <const uint8_t*>PyBytes_AS_STRING(text), n)
    if rest:
        if state.steady:
            hand_over(correlator, flow, state, d, 0)
        (<object>state.connection).data(d, ts, rest)
    return 0


cdef inline size_t record_wanted(const uint8_t* data, size_t n) noexcept:
    """Return the size in bytes of the TLS record at the start, with its header; RECORD_HEADER while the header is
    incomplete.
    """
    return RECORD_HEADER + <size_t>be16(data + 3) if n >= RECORD_HEADER else RECORD_HEADER


cdef inline bint is_record(const uint8_t* data, size_t n) noexcept:
    """Return whether a TLS record's header may begin here; it may be incomplete."""
    return n < RECORD_HEADER or (20 <= data[0] <= 23 and data[1] == 3 and data[2] <= 4 and be16(data + 3) <= MAX_RECORD)
