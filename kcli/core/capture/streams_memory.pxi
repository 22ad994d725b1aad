# Keeps connections within the memory limit.


cdef int relieve(Streams streams) except -1:
    """Make the connections that hold most pass on or drop their data; if that is not enough, end those that were
    silent longest.
    """
    cdef uint64_t enough = streams.memory - streams.memory // 4
    cdef Flow* flow = streams.flows.first
    cdef size_t at
    if streams.order is not None:
        streams.order.exceeded = True
        return 0
    live = []
    while flow != NULL:
        if not flow.done:
            live.append((-<int64_t>streams.reassembly.weight(flow), len(live), <size_t>flow, flow.last))
        flow = flow.newer
    for weight, _, at, _ in sorted(live):
        if streams.held() <= enough or not weight:
            break
        give_up(streams, <Flow*>at)
    for _, _, at, _ in sorted(live, key=itemgetter(3, 1)):
        if streams.held() <= enough:
            break
        flow = <Flow*>at
        streams.end(flow, flow.last, LOSS_GIVEN_UP)
    return streams.forget_done()


cdef int give_up(Streams streams, Flow* flow) except -1:
    """Pass on or drop the held data of a connection, as too much memory is held."""
    streams.reassembly.give_up(flow)
    if flow.waiting and not flow.reset and not blocked(flow):
        streams.unwait(flow)
    return 0
