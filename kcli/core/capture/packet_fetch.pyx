"""Reads the packets of one bucket at their places in a capture file, as pcap records.

`kcli.core.capture.packet_shuffle.Scatter` has noted the places; the records are those that it would have copied.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cdef extern from "<unistd.h>" nogil:
    ssize_t pread(int file, void* room, size_t size, long long at)

cdef extern from "packet_index.h" nogil:
    ctypedef struct Extent "kx_extent":
        uint64_t at, ts
        uint32_t captured, length
    const uint8_t* read_extent "kx_read"(const uint8_t* p, const uint8_t* end, Extent* packet)

cdef enum:
    NANO = 1000000000
    RECORD = 16           # bytes of a pcap record's header
    SPAN = 1 << 18        # bytes of the file to read at once, from which packets are taken
    NEAR = 1 << 12        # bytes between two packets that are read rather than skipped
    LONG = 1 << 13        # bytes of a packet that are read directly to their destination


cdef class Gatherer:
    """The packets of an index, read from the capture with this file descriptor.

    index: the bytes that `Scatter` passed on with `refer`, from the start of a part on.
    """

    cdef int file
    cdef const uint8_t[::1] held       # the index
    cdef const uint8_t* index
    cdef const uint8_t* end
    cdef Extent packet                 # the next packet, if `waiting`
    cdef bint waiting
    cdef uint8_t* span
    cdef uint64_t span_at
    cdef size_t span_size
    cdef bytes rest                    # the part of a record that did not fit into the room

    def __cinit__(self, int file, const uint8_t[::1] index not None):
        self.file, self.held, self.rest = file, index, b""
        self.index = &index[0] if index.shape[0] else NULL
        self.end = self.index + index.shape[0]
        self.span = <uint8_t*>malloc(SPAN)
        if self.span == NULL:
            raise MemoryError
        self.step()

    def __dealloc__(self):
        free(self.span)

    def readinto(self, uint8_t[::1] room not None):
        """Fill `room` with the next records, which are whole except for the last; return the number of bytes, 0 at the
        end. Raises EOFError if the file was truncated meanwhile.
        """
        cdef size_t at = 0, n = room.shape[0]
        cdef size_t size
        cdef bytes record
        if self.rest:
            at = min(n, <size_t>len(self.rest))
            memcpy(&room[0], <const char*>self.rest, at)
            self.rest = self.rest[at:]
        while self.waiting and at < n:
            size = RECORD + <size_t>self.packet.captured
            if size <= n - at:
                self.put(&room[at])
                at += size
            elif at:
                break
            else:
                record = bytes(size)
                self.put(<uint8_t*><char*>record)
                memcpy(&room[0], <const char*>record, n)
                self.rest, at = record[n:], n
            self.step()
        return at

    cdef void step(self) noexcept:
        cdef const uint8_t* p = read_extent(self.index, self.end, &self.packet)
        self.waiting = p != NULL
        self.index = p

    cdef int put(self, uint8_t* room) except -1:
        """Write the record of the next packet."""
        cdef uint32_t[4] record
        record[0], record[1] = <uint32_t>(self.packet.ts // NANO), <uint32_t>(self.packet.ts % NANO)
        record[2], record[3] = self.packet.captured, self.packet.length
        memcpy(room, record, RECORD)
        if self.packet.captured >= LONG:
            return self.read(room + RECORD, self.packet.captured, self.packet.at)
        if self.packet.at < self.span_at or self.packet.at + self.packet.captured > self.span_at + self.span_size:
            self.fill()
        memcpy(room + RECORD, self.span + (self.packet.at - self.span_at), self.packet.captured)
        return 0

    cdef int fill(self) except -1:
        """Read the span from the next packet on, as long as near and short packets follow."""
        cdef Extent after = self.packet
        cdef uint64_t end = after.at + after.captured
        cdef const uint8_t* p = self.index
        while True:
            p = read_extent(p, self.end, &after)
            if p == NULL or after.at < end or after.at - end > NEAR or after.captured >= LONG:
                break
            if after.at + after.captured - self.packet.at > SPAN:
                break
            end = after.at + after.captured
        self.span_at, self.span_size = self.packet.at, 0
        self.read(self.span, <size_t>(end - self.packet.at), self.packet.at)
        self.span_size = <size_t>(end - self.packet.at)
        return 0

    cdef int read(self, uint8_t* room, size_t size, uint64_t at) except -1:
        cdef ssize_t count
        while size:
            with nogil:
                count = pread(self.file, room, size, <long long>at)
            if count <= 0:
                raise EOFError(f"{size:,} bytes at {at:#x} can't be read")
            room += count
            at += count
            size -= count
        return 0
