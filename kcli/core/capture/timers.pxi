# Waiting connections in two heaps: by the time at which they have waited long enough and, after that, by the packet of
# the capture since which they wait. Connections whose time has not come cost nothing.


cdef inline uint64_t due(Timers* heap, size_t at) noexcept:
    return heap.flows[at].mark if heap.by_mark else heap.flows[at].deadline


cdef inline void set_flow(Timers* heap, size_t at, Flow* flow) noexcept:
    heap.flows[at] = flow
    flow.timers, flow.place = heap, at


cdef void sift(Timers* heap, size_t at) noexcept:
    """Move the flow at this place to its correct place."""
    cdef Flow* flow = heap.flows[at]
    cdef uint64_t key = due(heap, at)
    cdef size_t child
    while at and due(heap, (at - 1) // 2) > key:
        set_flow(heap, at, heap.flows[(at - 1) // 2])
        at = (at - 1) // 2
    while 2 * at + 1 < heap.count:
        child = 2 * at + 1
        if child + 1 < heap.count and due(heap, child + 1) < due(heap, child):
            child += 1
        if due(heap, child) >= key:
            break
        set_flow(heap, at, heap.flows[child])
        at = child
    set_flow(heap, at, flow)


cdef int push_timer(Timers* heap, Flow* flow) except -1:
    cdef Flow** grown
    cdef size_t room
    if heap.count == heap.room:
        room = max(<size_t>64, 2 * heap.room)
        grown = <Flow**>realloc(heap.flows, room * sizeof(Flow*))
        if grown == NULL:
            raise MemoryError
        heap.flows, heap.room = grown, room
    heap.count += 1
    set_flow(heap, heap.count - 1, flow)
    sift(heap, heap.count - 1)
    return 0


cdef void pull_timer(Flow* flow) noexcept:
    """Remove a flow from its heap, if it is in one."""
    cdef Timers* heap = flow.timers
    cdef size_t at = flow.place
    if heap == NULL:
        return
    flow.timers = NULL
    heap.count -= 1
    if at < heap.count:
        set_flow(heap, at, heap.flows[heap.count])
        sift(heap, at)
