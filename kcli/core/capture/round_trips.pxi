# Round trips of a connection, counted by their logarithm: up to 4 us one by one, then four steps per octave.
# Included by tcp_facts.pyx.

cdef void sample(Sender* by, const Segment* s) noexcept:
    """Measure the round trip of the last segment that an ACK covers."""
    cdef int i, done = 0
    cdef uint64_t took = 0
    for i in range(by.waiting):
        if ahead(by.awaited[i].end, s.ack) > 0:
            break
        took, done = s.ts - by.awaited[i].ts if s.ts > by.awaited[i].ts else 0, i + 1
    if not done:
        return
    for i in range(done, by.waiting):
        by.awaited[i - done] = by.awaited[i]
    by.waiting -= done
    by.sampled += 1
    by.samples[step_of(took)] += 1
    if by.least_ns < 0 or <int64_t>took < by.least_ns:
        by.least_ns = took


cdef inline int step_of(uint64_t ns) noexcept:
    cdef uint64_t us = ns // 1000
    cdef int octave = 2
    if us < STEPS:
        return <int>us
    while us >= 2 * STEPS:
        us >>= 1
        octave += 1
    return min(octave * STEPS + <int>us - 2 * STEPS, SAMPLES - 1)


cdef int64_t quantile(const Sender* by, int percent) noexcept:
    """Return the round trip (ns) that `percent` of the samples do not exceed, to a quarter of an octave; -1 without
    samples.
    """
    cdef uint64_t rank = (by.sampled * percent + 99) // 100, seen = 0
    cdef int64_t last
    cdef int i
    for i in range(SAMPLES):
        seen += by.samples[i]
        if seen >= rank and seen:
            last = i if i < STEPS else (<int64_t>((i % STEPS) + STEPS + 1) << (i // STEPS - 1)) - 1
            return last * 1000
    return -1
