# Connections that are under way, as plain values from one engine to a later one: a capture goes on in files to come.


def carry(CaptureEngine engine not None):
    """What is under way, in order: (ends, client, last, reset, waits, sides, state) of each connection.

    ends: bytes that tell a connection from others. waits: for packets that are missing, as (since, deadline, packets of
    the capture and of the connection since then), or None. state: None where no bytes were passed on yet; else (ignored, foreign,
    passed, client, connection), connection a kcli.capture.connection.CapturedConnection or None. The engine can go on, slower.
    """
    cdef Flow* flow = engine.first
    made = []
    while flow != NULL:
        if not flow.done:
            made.append(carried(engine, flow))
        flow = flow.newer
    return made


cdef tuple carried(CaptureEngine engine, Flow* flow):
    cdef ConnectionState* state = <ConnectionState*>flow.state
    values = None
    if state != NULL:
        if state.steady:
            hand_over(engine, flow, state, 0, 0)
        connection = <object>state.connection if state.connection != NULL else None
        values = (bool(state.ignored), bool(state.foreign), (state.passed[0], state.passed[1]), state.client, connection)
    sides = (carried_side(&flow.side[0]), carried_side(&flow.side[1]))
    waits = (flow.since, flow.deadline, engine.segments - flow.mark, flow.packets) if flow.waiting else None
    return (<const char*>&flow.ends)[: sizeof(Ends)], flow.client, flow.last, bool(flow.reset), waits, sides, values


cdef tuple carried_side(Side* side):
    waiting = []
    list_held(side.root, waiting)
    flags = (bool(side.seen), bool(side.known), bool(side.syn), bool(side.closed), bool(side.answered))
    return flags, (side.first, side.next, side.acked, side.offset, side.below), waiting


def resume(CaptureEngine engine not None, list carried, uint64_t clock):
    """Take up connections that another engine left. clock: nanoseconds, of that engine."""
    engine.clock = max(engine.clock, clock)
    for each in carried:
        resume_one(engine, each)


cdef int resume_one(CaptureEngine engine, tuple each) except -1:
    cdef Segment s
    cdef Flow* flow
    cdef int d
    cdef uint64_t passed
    ends, client, last, reset, waits, sides, values = each
    if len(ends) != sizeof(Ends):
        raise ValueError("no connection of this machine's core")
    memcpy(&s.ends, PyBytes_AS_STRING(ends), sizeof(Ends))
    flow = engine.find(&s)
    flow.client, flow.last, flow.reset = client, last, reset
    for d in range(2):
        resume_side(engine, &flow.side[d], sides[d])
    if values is not None:
        resume_state(engine, flow, values)
    if waits is not None:
        since, deadline, passed, packets = waits
        engine.wait(flow, 0)
        pull_timer(flow)
        flow.since, flow.deadline, flow.packets = since, deadline, packets
        flow.mark = engine.segments - passed
        push_timer(&engine.timers, flow)
        engine.alarm = min(engine.alarm, flow.deadline)
    return 0


cdef int resume_side(CaptureEngine engine, Side* side, tuple values) except -1:
    cdef Held* held
    flags, numbers, waiting = values
    side.seen, side.known, side.syn, side.closed, side.answered = flags
    side.first, side.next, side.acked, side.offset, side.below = numbers
    for ts, seq, ack, length, bits, data in waiting:
        held = <Held*>malloc(sizeof(Held) + <size_t>len(data))
        if held == NULL:
            raise MemoryError
        held.ts, held.seq, held.ack, held.length, held.flags = ts, seq, ack, length, bits
        held.captured, held.rank = len(data), engine.next_rank()
        memcpy(held + 1, PyBytes_AS_STRING(data), held.captured)
        put_held(side, held)
        engine.held += sizeof(Held) + held.captured
    return 0


cdef int resume_state(CaptureEngine engine, Flow* flow, tuple values) except -1:
    cdef ConnectionState* state = <ConnectionState*>calloc(1, sizeof(ConnectionState))
    if state == NULL:
        raise MemoryError
    flow.state = state
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
        take_back(engine, state, connection)
    engine.weigh(state)
    return 0
