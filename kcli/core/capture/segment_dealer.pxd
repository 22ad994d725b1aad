# TCP segments for other processes, which read their share of a capture's connections.
cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcli.core.capture.packets cimport Ends, Segment


# A segment for the process that reads its connection. The captured bytes follow, padded to a multiple of 8.
cdef struct Dealt:
    uint64_t ts            # with DEALT
    Ends ends
    uint32_t seq, ack, captured, length, flags, sender, path, unused


cdef extern from *:
    """
    #define KC_DEALT ((uint64_t)1 << 63)   /* times are below */
    """
    const uint64_t DEALT "KC_DEALT"


# The room for the segments of one process.
cdef struct Hand:
    uint8_t* start
    uint8_t* at
    uint8_t* end


@cython.final
cdef class SegmentDealer:
    cdef Hand* hands       # that of the first process is not used
    cdef int count         # processes
    cdef list rooms
    cdef uint8_t* owners   # of buckets
    cdef uint64_t* loads   # the work of each process so far
    cdef readonly bint full
    cdef readonly int first_share

    cdef int deal(self, const Segment* s) noexcept


cdef inline const uint8_t* read_dealt(const uint8_t* p, const uint8_t* end, Segment* s) noexcept nogil:
    """Read a dealt segment and return the byte after it; NULL if there is no whole one."""
    cdef const Dealt* dealt = <const Dealt*>p
    if end - p < <ssize_t>sizeof(Dealt) or end - p - <ssize_t>sizeof(Dealt) < dealt.captured:
        return NULL
    s.ts, s.ends, s.sender = dealt.ts & ~DEALT, dealt.ends, <int>dealt.sender
    s.seq, s.ack, s.flags, s.path = dealt.seq, dealt.ack, <uint8_t>dealt.flags, dealt.path
    s.data, s.captured, s.length = p + sizeof(Dealt), dealt.captured, dealt.length
    return s.data + padded(dealt.captured)


cdef inline size_t padded(size_t size) noexcept nogil:
    return (size + 7) & ~<size_t>7
