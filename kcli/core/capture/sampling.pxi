# Samples of connections, which are the same wherever packets are read.

cdef extern from "packets.h" nogil:
    uint64_t mix "kc_mix"(uint64_t h)


cdef uint64_t sample_of(double fraction) except 0:
    """Return how many of 2^32 connections a fraction is."""
    if not 0 < fraction <= 1:
        raise ValueError("a fraction of the connections: more than 0, and 1 at most")
    return max(<uint64_t>1, <uint64_t>(fraction * (<uint64_t>1 << 32)))


cdef inline bint in_sample(uint64_t hash, uint64_t sampled) noexcept:
    return mix(hash) >> 32 < sampled    # shares and tables of connections use bits of the hash itself
