# The order of one process's lines among those of other processes.
cimport cython
from libc.stdint cimport uint32_t, uint64_t

from kcli.core.capture.exchange_json cimport ExchangeWriter
from kcli.core.codec.messages cimport Out


# Some lines, and the names learned while they were made: bytes of text, bytes of the log of names, and whether a name
# was missing. Their place is that of the TCP segment that caused them, and a rank among lines of the same segment.
cdef struct Mark:
    uint64_t segment, rank, size
    uint32_t learnt, missed


# The causes of lines at a segment, in the order of their lines. Lines of the first two are also ordered by a number of
# 62 bits.
cdef enum Cause:
    OVERDUE                # connections that have waited long enough
    SILENT                 # connections that ended, by when they began
    RECEIVED               # the segment's bytes
    BEHIND                 # damage of the file after it


@cython.final
cdef class LineOrder:
    cdef ExchangeWriter lines
    cdef uint64_t segment, rank
    cdef size_t noted, learnt, missed
    cdef Out marks
    cdef object room       # the room for text; None: allocated memory
    cdef public bint exceeded  # more is held than this process's share of the memory

    cdef int note(self, uint64_t segment) except -1
    cdef int place(self, uint64_t segment, Cause cause, uint64_t number=*) except -1
    cdef int note_others(self) except -1
    cdef void begin_anew(self) noexcept


cdef inline int place(LineOrder order, uint64_t segment, Cause cause, uint64_t number=0) except -1:
    """Set the place of the next lines, as the method does; do nothing for None, if no other process shares the work."""
    return 0 if order is None else order.place(segment, cause, number)


cdef inline int note(LineOrder order, uint64_t segment) except -1:
    """Note the lines of a segment, as the method does, but faster for a segment without lines."""
    cdef ExchangeWriter lines = order.lines
    if (
        lines.out.size != order.noted
        or lines.names.table.log_size != order.learnt
        or lines.names.table.missed != order.missed
    ):
        return order.note(segment)
    order.segment = segment
    return 0
