"""The order of lines that several processes make, each for a share of the connections.

Every process counts all TCP segments (see segment_dealer.pyx) in the same way. With these counts all lines can be put
into the order in which one process would write them (see line_merger.pyx).
"""

cimport cython
from cpython.buffer cimport PyBUF_READ
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcli.core.capture.exchange_json cimport ExchangeWriter
from kcli.core.codec.messages cimport NameTable, Out, out_free, out_is_lent, out_lend, out_put

__all__ = ["LineOrder"]


@cython.final
cdef class LineOrder:
    """The order of an ExchangeWriter's lines. exceeded: this process holds more than its share of the memory, so a
    single process has to do the work.
    """

    def __cinit__(self, ExchangeWriter lines not None):
        self.lines = lines
        self.rank = <uint64_t>RECEIVED << 62
        lines.names.table.logging = True

    def __dealloc__(self):
        out_free(&self.marks)

    def open(self, room):
        """Write the next text to this room, as long as it suffices. Call it when all text has been taken."""
        cdef uint8_t[::1] memory = room
        self.room = memory
        out_lend(&self.lines.out, <char*>&memory[0], memory.shape[0])

    def close(self):
        """Append marks and log to the text in the room; return (bytes of text, of marks, of the log), or None if they
        do not fit.
        """
        cdef Out* text = &self.lines.out
        cdef NameTable* names = &self.lines.names.table
        cdef Out* marks = &self.marks
        self.note_others()
        sizes = (text.size, marks.size, names.log_size)
        if not out_is_lent(text) or text.capacity - text.size < marks.size + names.log_size:
            return None
        memcpy(text.data + text.size, marks.data, marks.size)
        memcpy(text.data + text.size + marks.size, names.log, names.log_size)
        self.begin_anew()
        return sizes

    cdef int place(self, uint64_t segment, Cause cause, uint64_t number=0) except -1:
        """Set the place of the next lines: segment, cause and number."""
        self.note(segment)
        self.rank = <uint64_t>cause << 62 | number
        return 0

    cdef int note(self, uint64_t segment) except -1:
        """Note the place of the lines since the last call."""
        cdef NameTable* names = &self.lines.names.table
        cdef Mark mark
        self.segment = segment
        if self.lines.out.size != self.noted or names.log_size != self.learnt:
            mark.segment, mark.rank, mark.size = segment, self.rank, self.lines.out.size - self.noted
            mark.learnt, mark.missed = <uint32_t>(names.log_size - self.learnt), names.missed != self.missed
            if out_put(&self.marks, <const char*>&mark, sizeof(Mark)):
                raise MemoryError
            self.noted, self.learnt = self.lines.out.size, names.log_size
        self.missed = names.missed
        return 0

    cdef int note_others(self) except -1:
        """Note the place of lines that follow a segment, but were not caused by it."""
        self.rank = <uint64_t>BEHIND << 62
        return self.place(self.segment, RECEIVED)

    def take(self, give):
        """Pass the text so far, its marks, and the log of learned names to `give`, as memoryviews that are valid only
        during the call.
        """
        cdef Out* text = &self.lines.out
        cdef NameTable* names = &self.lines.names.table
        self.note_others()
        give(
            bytes_at(text.data, text.size), bytes_at(self.marks.data, self.marks.size),
            bytes_at(names.log, names.log_size)
        )
        self.begin_anew()

    cdef void begin_anew(self) noexcept:
        self.lines.out.size = self.marks.size = self.lines.names.table.log_size = self.noted = self.learnt = 0


cdef object bytes_at(const char* data, size_t size):
    return PyMemoryView_FromMemory(<char*>data, size, PyBUF_READ) if size else memoryview(b"")
