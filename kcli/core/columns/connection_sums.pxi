# The sums over a connection's exchanges, and its TCP figures.

# client: of the first exchange with one, by number from 0 on; -1: none. completed: when that exchange was complete.
# first, last: times of requests (ns); round_trip: ns, -1: unknown.
cdef struct Sums:
    int64_t client, completed, first, last, requests, unanswered, failed, request_bytes, response_bytes, round_trip


cdef inline void sums_begin(Sums* sums) noexcept:
    memset(sums, 0, sizeof(Sums))
    sums.client = sums.round_trip = -1
    sums.first = sums.completed = INT64_MAX


cdef inline void sums_add(Sums* sums, Exchange* e, uint32_t client, int64_t completed, bint failed) noexcept:
    """Add an exchange. client: a number, 0: null; failed: its response has an error."""
    sums.requests += 1
    sums.failed += failed
    sums.request_bytes += e.request_size + 4
    if e.response != NULL:
        sums.response_bytes += e.response_size + 4
    else:
        sums.unanswered += 1
    sums.first, sums.last = min(sums.first, <int64_t>e.ts), max(sums.last, <int64_t>e.ts)
    if client and completed < sums.completed:
        sums.client, sums.completed = <int64_t>client - 1, completed


cdef inline void sums_end(Sums* sums, int64_t round_trip) noexcept:
    """Add the round trip (ns; below 0: unknown) of a connection that ended, or of the latest with that name."""
    if round_trip >= 0:
        sums.round_trip = round_trip if sums.round_trip < 0 else min(sums.round_trip, round_trip)
