# Decides whether an exchange is steady, in passes; each prefetches the memory that the next one needs.

cdef enum:
    BIG_BATCH = 1 << 20   # no batch is bigger unless a topic is configured so
    SEAT_BYTES = 128


cdef bint find_seats(Kernel kernel, Counts session, Found* found) noexcept:
    """Find the seats of all partitions; return whether each is the session's."""
    cdef size_t i
    for i in range(found.reported):
        kernel.reported[i].seat = seat_ahead(&session.by_number, kernel.reported[i].number)
        if kernel.reported[i].seat == NULL:
            return False
    for i in range(found.asked):
        kernel.asked[i].seat = seat_ahead(&session.by_number, kernel.asked[i].number)
        if kernel.asked[i].seat == NULL:
            return False
    return True


cdef bint may_pass(Kernel kernel, Counts session, Found* found) except -1:
    cdef size_t i
    for i in range(found.asked):
        if not may_ask(kernel, session, &kernel.asked[i], found):
            return False
    for i in range(found.reported):
        if not may_tell(kernel, session, &kernel.reported[i], found):
            return False
    return is_steady(session, found)


cdef bint may_ask(Kernel kernel, Counts session, Asked* asked, Found* found) noexcept:
    """Note a request's new position; return whether it moved over delivered records, as in the steady way."""
    cdef PartitionState seat = <PartitionState>asked.seat
    cdef Position* at = &asked.position
    cdef bint late
    if seat.asked_in == kernel.serial or not seat.placed or seat.answered < 0:
        return False
    if same(at, &seat.position):
        return False
    if at.offset > seat.position.offset and not seat.delivered and seat.informed:
        return False
    late = not session.privileged_ and seat.behind_at(at.offset, found.request[ISOLATION])
    found.late += <int>late - <int>seat.late
    seat.will_be_late = late
    seat.asked_in = kernel.serial
    return True


cdef bint may_tell(Kernel kernel, Counts session, Reported* reported, Found* found) except -1:
    """Return whether a response's row has news of the partition, and none that earlier responses withheld."""
    cdef PartitionState seat = <PartitionState>reported.seat
    if seat.reported_in == kernel.serial or not seat.informed:
        return False
    if not reported.size and reported.high == seat.high and reported.start == seat.start:
        return False
    if (
        reported.shared
        and reported.high > seat.high
        and seat.high >= 0
        and seat.answered != session.fetches
        and session.quiet_since
    ):
        if seat.mark == 0:
            seat.mark = kernel.marks.place(session.server_, reported.number)
        if kernel.marks.moved_past_at(seat.mark, seat.high, session.quiet_since) >= 0:
            return False
    seat.reported_in = kernel.serial
    found.reported_late += seat.will_be_late if seat.asked_in == kernel.serial else seat.late
    found.records += reported.size
    return True


cdef bint is_steady(Counts session, Found* found) noexcept:
    """Return whether every partition with more records was in the response, or there was no room."""
    if found.late <= found.reported_late:
        return True
    return found.records > 0 and found.records + BIG_BATCH > found.request[MAX_BYTES]


cdef inline void* seat_ahead(const Map* seats, uint64_t number) noexcept:
    """Return a partition's PartitionState, and prefetch it into the cache; NULL if it has none."""
    cdef void* seat = <void*>map_find(seats, number, 0)
    if seat != NULL:
        ahead(seat, SEAT_BYTES)
    return seat


cdef inline bint same(const Position* one, const Position* other) noexcept:
    return (
        one.offset == other.offset and one.log_start == other.log_start and one.max_bytes == other.max_bytes
        and one.leader_epoch == other.leader_epoch and one.last_fetched_epoch == other.last_fetched_epoch
    )
