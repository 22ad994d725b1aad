# Open connections as plain values, from one engine to a later one, for a capture that continues in later files.


cdef list dump_flows(Streams streams):
    """Return the open connections in order, each as (ends, client, last, reset, waits, sides, state, handshake).

    ends: bytes that identify a connection. waits: for missing packets, as (since, deadline, packets of the capture and
    of the connection since then), or None. state: the handler's; None if no bytes were passed on yet. handshake: (syn,
    round trip, segments retransmitted by each end that were not reported; twin).
    """
    cdef Flow* flow = streams.flows.first
    made = []
    while flow != NULL:
        if not flow.done:
            waits = (flow.since, flow.deadline, streams.segments - flow.mark, flow.packets) if flow.waiting else None
            ends = (<const char*>&flow.ends)[: sizeof(Ends)]
            sides, state = streams.reassembly.dump(flow)
            handshake = flow.syn, flow.round_trip, flow.side[0].retransmitted, flow.side[1].retransmitted, flow.twin
            made.append((ends, flow.client, flow.last, bool(flow.reset), waits, sides, state, handshake))
        flow = flow.newer
    return made


cdef int restore_flows(Streams streams, list dumped, uint64_t clock) except -1:
    """Restore the connections that another engine dumped. clock: that engine's, in ns."""
    streams.clock = max(streams.clock, clock)
    for each in dumped:
        restore_flow(streams, each)
    return 0


cdef int restore_flow(Streams streams, tuple dumped) except -1:
    cdef Segment s
    cdef Flow* flow
    cdef uint64_t passed
    ends, client, last, reset, waits, sides, state, handshake = dumped
    if len(ends) != sizeof(Ends):
        raise ValueError("no connection of this machine's core")
    memcpy(&s.ends, PyBytes_AS_STRING(ends), sizeof(Ends))
    s.path, s.sender = 0, 0                   # other connections may have the same ends; the next packets decide
    flow = streams.flows.add(&s, place_ends(&s.ends))
    flow.client, flow.last, flow.reset = client, last, reset
    streams.reassembly.restore(flow, sides, state)
    flow.syn, flow.round_trip, flow.side[0].retransmitted, flow.side[1].retransmitted = handshake[:4]
    flow.twin = handshake[4] if len(handshake) > 4 else 0    # the state of an older kcli has none
    if waits is not None:
        since, deadline, passed, packets = waits
        streams.wait(flow, 0)
        pull_timer(flow)
        flow.since, flow.deadline, flow.packets = since, deadline, packets
        flow.mark = streams.segments - passed
        push_timer(&streams.timers, flow)
        streams.alarm = min(streams.alarm, flow.deadline)
    return 0


cdef tuple dump_side(Side* side):
    waiting = []
    list_held(side.root, waiting)
    flags = (bool(side.seen), bool(side.known), bool(side.syn), bool(side.closed), bool(side.answered))
    return flags, (side.first, side.next, side.acked, side.offset, side.below), waiting


cdef int64_t restore_side(Reassembly reassembly, Side* side, tuple values) except -1:
    """Restore a side, and return the bytes of memory that it holds."""
    cdef Held* held
    flags, numbers, waiting = values
    side.seen, side.known, side.syn, side.closed, side.answered = flags
    side.first, side.next, side.acked, side.offset, side.below = numbers
    for ts, seq, ack, length, bits, data in waiting:
        held = <Held*>malloc(sizeof(Held) + <size_t>len(data))
        if held == NULL:
            raise MemoryError
        held.ts, held.seq, held.ack, held.length, held.flags = ts, seq, ack, length, bits
        held.captured, held.rank = len(data), reassembly.next_rank()
        memcpy(held + 1, PyBytes_AS_STRING(data), held.captured)
        put_held(side, held)
    return <int64_t>side.held_bytes
