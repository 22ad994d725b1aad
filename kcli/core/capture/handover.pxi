# A connection passed to the slower way, and taken back: see kcli.capture.handover.

GIVEN_UP = "given up, as more is held than --memory allows"
LOSSES = {
    LOSS_GAP: ("gap", "not in the capture"),
    LOSS_CUT: ("truncated", "cut off by the snapshot length"),
    LOSS_GIVEN_UP: ("gap", GIVEN_UP),
}
ENDINGS = {
    END_OF_CAPTURE: "the capture ends",
    END_CLOSED: "the connection ends",
    END_RESET: "the connection was reset",
    END_GIVEN_UP: GIVEN_UP,
}
JUMP = ("gap", "sequence numbers jump: how much is missing can't be told")


cdef int give(
    Correlator correlator, Flow* flow, ConnectionState* state, int d, uint64_t ts, const uint8_t* data, size_t n
) except -1:
    """Pass the connection to the slower way, with bytes that were not read yet."""
    hand_over(correlator, flow, state, d, n)
    if state.sealed:
        (<object>state.connection).unsealed(d, ts, PyBytes_FromStringAndSize(<const char*>data, n))
        return 0
    return pass_to_connection(correlator, state, d, ts, data, n)


cdef int connect(Correlator correlator, Flow* flow, ConnectionState* state) except -1:
    if state.connection == NULL:
        client = None if state.client < 0 else state.client
        made = correlator.handover.connect(
            (end_text(flow, 0), end_text(flow, 1)), client, (flow.side[0].syn, flow.side[1].syn)
        )
        Py_INCREF(made)
        state.connection = <PyObject*>made
    return 0


cdef int hand_over(Correlator correlator, Flow* flow, ConnectionState* state, int d, size_t left) except -1:
    """Pass the connection to Python, with its pending requests and partial frames.

    left: bytes of direction `d` that its stream has counted, but that were not read.
    """
    cdef int side
    cdef PartialFrame* half
    cdef Request* request = state.first
    cdef uint64_t[2] offsets
    connect(correlator, flow, state)
    pending = []
    while request != NULL:
        pending.append((
            request.correlation_id, request.key, request.version, request.ts, request.frame[: request.size], False,
            request.began, request.pause, request.in_flight,
        ))
        state.first = request.next
        drop(&correlator.spare, request)
        request = state.first
    state.last, state.waiting, state.waiting_bytes = NULL, 0, 0
    buffers = []
    for side in range(2):
        half = &state.half[side]
        buffers.append(half.data[: half.size])
        offsets[side] = (
            state.unsealed[side] if state.sealed else flow.side[side].offset
        ) - half.size - (left if side == d else 0)
        empty(&correlator.spare, half)
    state.steady = False
    (<object>state.connection).restore(
        state.greeted, pending, buffers, (offsets[0], offsets[1]), (state.heard[0], state.heard[1]), state.began,
        state.proved, (state.begun[0], state.begun[1]), state.answered,
        PyBytes_FromStringAndSize(<const char*>state.client_id, state.client_id_size)
    )
    for side in range(2):
        half = &state.record[side]
        if half.size:
            (<object>state.connection).data(
                side, state.came[side], PyBytes_FromStringAndSize(<const char*>half.data, half.size)
            )
            empty(&correlator.spare, half)
    return 0


cdef int pass_to_connection(
    Correlator correlator, ConnectionState* state, int d, uint64_t ts, const uint8_t* data, size_t n
) except -1:
    (<object>state.connection).data(d, ts, PyBytes_FromStringAndSize(<const char*>data, n))
    return look_again(correlator, state)


cdef int look_again(Correlator correlator, ConnectionState* state) except -1:
    """Note a connection that Python found not to be Kafka's, and take back one that is steady now."""
    connection = <object>state.connection
    state.foreign = connection.foreign is not None
    if not state.foreign and connection.steady:
        take_back(correlator, state, connection)
    return 0


cdef int take_back(Correlator correlator, ConnectionState* state, connection) except -1:
    cdef Request* request
    cdef bytes frame, buffer, link, client_id
    cdef int d
    state.client, state.sealed = connection.client, connection.sealed
    state.greeted = state.proved = not connection.fresh
    if connection.proxied and state.link == NULL:
        link = str(connection.link).encode()
        set_link(state, PyBytes_AS_STRING(link), PyBytes_GET_SIZE(link))
    if state.sealed:
        if connection.fresh:
            state.began = 0     # the contents of records begin later
        (state.unsealed[0], state.unsealed[1]), records = connection.release_records()
        for d in range(2):
            buffer = records[d]
            if buffer:
                join(
                    &correlator.spare, &state.record[d], <const uint8_t*>PyBytes_AS_STRING(buffer), len(buffer),
                    len(buffer)
                )
    pending, buffers, (
        state.heard[0], state.heard[1]
    ), (state.begun[0], state.begun[1]), state.answered, client_id = connection.release()
    state.client_id_size = len(client_id)
    memcpy(state.client_id, PyBytes_AS_STRING(client_id), len(client_id))
    for number, key, version, ts, frame, _, began, pause, in_flight, _ in pending:
        request = <Request*>malloc(sizeof(Request) + len(frame))
        if request == NULL:
            raise MemoryError
        request.next, request.ts, request.size, request.capacity = NULL, ts, len(frame), 0
        request.began, request.pause, request.in_flight = began, pause, in_flight
        request.key, request.version, request.correlation_id = key, version, number
        request.frame = <uint8_t*>(request + 1)
        memcpy(request.frame, PyBytes_AS_STRING(frame), len(frame))
        append_request(state, request)
    for d in range(2):
        buffer = buffers[d]
        if buffer:
            join(&correlator.spare, &state.half[d], <const uint8_t*>PyBytes_AS_STRING(buffer), len(buffer), len(buffer))
    state.steady = True
    return 0


cdef int report_end(Correlator correlator, Flow* flow, ConnectionState* state) except -1:
    """Report a connection's round trip (ns; -1: unknown) and its retransmitted segments."""
    if state.steady and state.link == NULL:
        name_link(flow, state)
    link = state.link[: state.link_size].decode() if state.steady else str((<object>state.connection).link)
    correlator.connection_end(link, flow.round_trip, flow.side[0].retransmitted + flow.side[1].retransmitted)
    return 0


cdef tuple dump_state(Correlator correlator, Flow* flow):
    """Return (ignored, foreign, passed, client, connection); connection is a kcli.capture.tls.layer.TlsLayer or None.
    The correlator can go on, but slower. TCP's figures so far are reported, and counted anew from here on.
    """
    cdef ConnectionState* state = <ConnectionState*>flow.state
    if state == NULL:
        return None
    if state.steady:
        hand_over(correlator, flow, state, 0, 0)
    connection = <object>state.connection if state.connection != NULL else None
    if correlator.connection_end is not None and not state.ignored and connection is not None:
        report_end(correlator, flow, state)
        flow.round_trip, flow.side[0].retransmitted, flow.side[1].retransmitted = -1, 0, 0
    return bool(state.ignored), bool(state.foreign), (state.passed[0], state.passed[1]), state.client, connection


cdef int restore_state(Correlator correlator, Flow* flow, tuple values) except -1:
    cdef ConnectionState* state = correlator.add(flow)
    ignored, foreign, passed, client, connection = values
    state.ignored, state.foreign, state.client = ignored, foreign, client
    state.passed[0], state.passed[1] = passed
    if connection is None:
        return 0
    Py_INCREF(connection)
    state.connection = <PyObject*>connection
    if connection.began:
        state.began = connection.began
    if not state.foreign and connection.steady:
        take_back(correlator, state, connection)
    return correlator.weigh(state)
