# IP fragments of incomplete datagrams.
cimport cython
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from kcli.core.capture.packets cimport Ends, Packet, Segment


# Received bytes of a datagram's payload, up to `end`.
cdef struct Run:
    uint32_t start, end


cdef struct Queue


cdef struct Datagram:
    uint64_t hash
    Ends ends
    int sender
    uint32_t id, path
    uint16_t protocol
    Datagram* chain            # in its slot of the table
    Datagram* newer            # in its queue
    Datagram* older
    Queue* queue
    uint64_t born              # time of its first fragment
    uint32_t counted           # fragments that the capture counts as such
    uint32_t whole             # bytes of its payload; 0: the last fragment has not come
    uint32_t here              # bytes from its start that were captured, once it is complete
    Run* runs                  # in order; none touches another
    uint32_t run_count, run_room
    uint8_t* data              # its payload
    uint32_t room
    uint8_t* head              # the bytes before the payload in the packet of the first fragment
    uint32_t head_size, ip     # ip: the offset of its IP header
    int link
    uint32_t interface


# Datagrams by age. bytes: memory that they hold.
cdef struct Queue:
    Datagram* first
    Datagram* latest
    uint32_t count
    uint64_t bytes


@cython.final
cdef class Fragments:
    cdef Datagram** slots
    cdef Queue waiting, settled    # settled: complete, or not of interest
    cdef uint8_t* frame            # the packet made of the last complete datagram
    cdef uint32_t frame_room
    cdef bint trusted              # checksums have been right
    cdef readonly uint64_t joined, refused, crowded

    cdef int join(self, Packet* packet, Segment* s) except -1
    cdef bint add(self, Packet* packet, Segment* s) except -1
    cdef Datagram* find(self, uint64_t ts, uint64_t hash, const Segment* s) noexcept
    cdef Datagram* begin(self, uint64_t ts, uint64_t hash, const Segment* s) except NULL
    cdef bint put(self, Datagram* d, const Packet* packet, const Segment* s) except -1
    cdef int copy(self, Datagram* d, const Packet* packet, const Segment* s) except -1
    cdef bint is_sound(self, Datagram* d) noexcept
    cdef int build(self, Datagram* d, Packet* packet) except -1
    cdef void move(self, Datagram* d, Queue* queue) noexcept
    cdef void drop(self, Datagram* d) noexcept
    cdef void make_room(self) noexcept
