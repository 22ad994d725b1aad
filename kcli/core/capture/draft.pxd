# The redacted packets of a draft, and the places of a connection's bytes among them.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from kcli.core.capture.packets cimport Packet, Segment
from kcli.core.codec.messages cimport Out


cdef struct DraftHead:
    uint64_t ns
    uint32_t link, flow, length, captured
    uint32_t ip, tcp, payload    # offsets in the packet
    uint32_t kind


cdef class Draft:
    cdef object file, folder
    cdef int fd
    cdef Out tail
    cdef uint64_t start          # of the tail, in the file
    cdef dict interfaces         # numbers by link type, while packets are written

    cdef uint8_t* room(self, const DraftHead* head, int64_t* place) except NULL
    cdef int fill_at(self, int64_t place, const uint8_t* data, size_t n) except -1
    cdef int read_at(self, int64_t place, uint8_t* data, size_t n) except -1
    cdef int store(self, int64_t place, const uint8_t* data, size_t n) except -1
    cpdef int flush(self) except -1
    cdef int64_t load(self, uint8_t* data, int64_t place, size_t n) except -1
    cdef int put_block(self, Out* out, DraftHead* head, const uint8_t* data) except -1


# Adjacent bytes of one direction: the first one's offset in the direction, and its place in the draft.
cdef struct Extent:
    int64_t first, place, size


cdef struct Extents:
    Extent* items                # sorted by first byte
    size_t count, capacity, pruned
    int64_t longest, end, settled


cdef int extents_add(Draft draft, Extents* extents, int64_t first, int64_t size, int64_t place) except -1
cdef int extents_fill(Draft draft, Extents* extents, int64_t first, const uint8_t* data, int64_t size) except -1
cdef void extents_free(Extents* extents) noexcept

# Append a packet with redacted headers and a blank payload; return the place of its first byte. head: its `flow` and
# `kind` are set; the other fields are set here.
cdef int64_t put_blank(
    Draft draft, object names, bint keep, const Packet* packet, const Segment* segment, DraftHead* head
) except -1
