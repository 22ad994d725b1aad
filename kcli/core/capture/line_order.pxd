# Where the lines that one process makes stand among those of others.
cimport cython
from libc.stdint cimport uint32_t, uint64_t

from kcli.core.capture.exchange_json cimport ExchangeWriter
from kcli.core.codec.messages cimport Out


# Some lines, and what was learnt while they were made: bytes of text, of the log of names; whether a name was missed.
# They stand by the TCP segment of the capture that gave rise to them, and by rank where there are more.
cdef struct Mark:
    uint64_t segment, rank, size
    uint32_t learnt, missed


# What a segment gives rise to, in order. The first two are ranked among each other by a number of 62 bits.
cdef enum Cause:
    OVERDUE                # connections that have waited long enough
    SILENT                 # connections that ended, by when they began
    RECEIVED               # what it brings
    BEHIND                 # what is wrong with the file behind it


@cython.final
cdef class LineOrder:
    cdef ExchangeWriter lines
    cdef uint64_t segment, rank
    cdef size_t noted, learnt, missed
    cdef Out marks
    cdef object room       # where the text is written, None: where there is memory
    cdef public bint exceeded  # more is held than this share of all may hold

    cdef int note(self, uint64_t segment) except -1
    cdef int place(self, uint64_t segment, Cause cause, uint64_t number=*) except -1
    cdef int note_others(self) except -1
    cdef void begin_anew(self) noexcept


cdef inline int place(LineOrder order, uint64_t segment, Cause cause, uint64_t number=0) except -1:
    """Place the next lines as the method does; do nothing for None, where no other process shares the work."""
    return 0 if order is None else order.place(segment, cause, number)


cdef inline int note(LineOrder order, uint64_t segment) except -1:
    """Note the lines of a segment as the method does, quickly for one that gives rise to nothing."""
    cdef ExchangeWriter lines = order.lines
    if lines.out.size != order.noted or lines.names.table.log_size != order.learnt or lines.names.table.missed != order.missed:
        return order.note(segment)
    order.segment = segment
    return 0
