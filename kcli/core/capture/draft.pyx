"""The redacted packets of a draft, in a temporary file, each with redacted headers."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_SetFromErrnoWithFilenameObject
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memmove, memset
from posix.unistd cimport pread, pwrite

from kcli.core.capture.packets cimport Packet, Segment, be16
from kcli.core.codec.messages cimport Out, out_free, out_put, out_reserve

include "extents.pxi"
include "packet_blanking.pxi"

cdef enum:
    TAIL = 1 << 20               # bytes at the end that are kept in memory
    PIECE = 1 << 20              # bytes to read and write at a time
    BLOCK = 32                   # bytes of a packet block of pcapng besides the packet
    ENHANCED = 6
    CAPTURED = 0
    MADE = 2


cdef class Draft:
    """Packets in a temporary file. Raises OSError if there is no room for it."""

    def __init__(self, folder=None):
        import tempfile     # here, as every capture loads this module

        self.folder = folder or tempfile.gettempdir()  # the name in errors
        self.file = tempfile.TemporaryFile(dir=folder)
        self.fd = self.file.fileno()

    def __dealloc__(self):
        out_free(&self.tail)

    def close(self):
        """Close the file."""
        self.file.close()

    def add(self, packet):
        """Append a packet (kcli.redact.draft_packets.DraftPacket); return the place of its first byte."""
        cdef DraftHead head
        cdef int64_t place
        cdef bytes data = bytes(packet.data)
        head.ns, head.link, head.flow, head.length, head.kind = (
            packet.ns, packet.link, packet.flow, packet.length, packet.kind
        )
        head.ip, head.tcp, head.payload = packet.places
        head.captured = PyBytes_GET_SIZE(data)
        memcpy(self.room(&head, &place), PyBytes_AS_STRING(data), head.captured)
        return place

    cdef uint8_t* room(self, const DraftHead* head, int64_t* place) except NULL:
        """Append a packet's head; return the room for its bytes, which the caller writes."""
        cdef uint8_t* to
        if self.tail.size > TAIL:
            self.flush()
        if out_reserve(&self.tail, sizeof(DraftHead) + head.captured):
            raise MemoryError
        to = <uint8_t*>self.tail.data + self.tail.size
        memcpy(to, head, sizeof(DraftHead))
        place[0] = self.start + self.tail.size + sizeof(DraftHead)
        self.tail.size += sizeof(DraftHead) + head.captured
        return to + sizeof(DraftHead)

    cpdef int flush(self) except -1:
        """Write the part in memory to the file."""
        self.store(self.start, <const uint8_t*>self.tail.data, self.tail.size)
        self.start += self.tail.size
        self.tail.size = 0
        return 0

    cdef int store(self, int64_t place, const uint8_t* data, size_t n) except -1:
        cdef ssize_t done
        while n:
            done = pwrite(self.fd, data, n, place)
            if done < 0:
                PyErr_SetFromErrnoWithFilenameObject(OSError, self.folder)
            place += done
            data += done
            n -= done
        return 0

    cdef int64_t load(self, uint8_t* data, int64_t place, size_t n) except -1:
        """Read up to n bytes of the file; return their number."""
        cdef ssize_t done
        cdef int64_t got = 0
        while n:
            done = pread(self.fd, data + got, n, place + got)
            if done < 0:
                PyErr_SetFromErrnoWithFilenameObject(OSError, self.folder)
            if done == 0:
                break
            got += done
            n -= done
        return got

    def fill(self, int64_t place, bytes data not None):
        """Write over existing bytes at a place."""
        self.fill_at(place, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))

    cdef int fill_at(self, int64_t place, const uint8_t* data, size_t n) except -1:
        if <uint64_t>place >= self.start:
            memcpy(self.tail.data + (place - self.start), data, n)
            return 0
        return self.store(place, data, n)

    def read(self, int64_t place, Py_ssize_t size):
        """Return `size` bytes of the draft at `place`."""
        cdef bytes made = PyBytes_FromStringAndSize(NULL, size)
        self.read_at(place, <uint8_t*>PyBytes_AS_STRING(made), size)
        return made

    cdef int read_at(self, int64_t place, uint8_t* data, size_t n) except -1:
        if <uint64_t>place >= self.start:
            memcpy(data, self.tail.data + (place - self.start), n)
            return 0
        self.load(data, place, n)
        return 0

    def write(self, out, interface, left_out, made_clear):
        """Write the packets to `out` as blocks of pcapng with checksums; return (packets written, captured packets left
        out).

        interface(link): returns the block that describes a link type. left_out: numbers of connections; made_clear:
        numbers of decrypted connections, of whose own packets only those of the handshake are written.
        """
        cdef Out made = Out(NULL, 0, 0)
        cdef uint64_t at = 0, written = 0, omitted = 0
        cdef size_t got = 0, used = 0, capacity = PIECE, wanted
        cdef int64_t fresh
        cdef uint8_t* piece = <uint8_t*>malloc(capacity)
        cdef uint8_t* grown
        cdef DraftHead head
        self.flush()
        self.interfaces = {}
        try:
            if piece == NULL:
                raise MemoryError
            while True:
                if got - used >= sizeof(DraftHead):
                    memcpy(&head, piece + used, sizeof(DraftHead))
                    wanted = sizeof(DraftHead) + head.captured
                else:
                    wanted = sizeof(DraftHead)
                if got - used < wanted:
                    memmove(piece, piece + used, got - used)
                    got, used = got - used, 0
                    if wanted > capacity:
                        capacity = wanted + PIECE
                        grown = <uint8_t*>realloc(piece, capacity)
                        if grown == NULL:
                            raise MemoryError
                        piece = grown
                    fresh = self.load(piece + got, at, capacity - got)
                    if fresh == 0:
                        break
                    at += fresh
                    got += fresh
                    continue
                used += sizeof(DraftHead)
                if head.flow in left_out or (head.kind == CAPTURED and head.flow in made_clear):
                    omitted += head.kind != MADE
                else:
                    if head.link not in self.interfaces:
                        self.interfaces[head.link] = len(self.interfaces)
                        block = <bytes>interface(head.link)
                        if out_put(&made, PyBytes_AS_STRING(block), PyBytes_GET_SIZE(block)):
                            raise MemoryError
                    set_checksums(piece + used, &head)
                    self.put_block(&made, &head, piece + used)
                    written += 1
                used += head.captured
                if made.size > PIECE:
                    out.write(made.data[: made.size])
                    made.size = 0
            if made.size:
                out.write(made.data[: made.size])
        finally:
            free(piece)
            out_free(&made)
        return written, omitted

    cdef int put_block(self, Out* out, DraftHead* head, const uint8_t* data) except -1:
        """Write an enhanced packet block (pcapng), little-endian like all of kcli's output."""
        cdef uint32_t padding = -head.captured & 3
        cdef uint32_t total = BLOCK + head.captured + padding
        cdef uint32_t[7] fields
        if out_reserve(out, total):
            raise MemoryError
        fields[0], fields[1], fields[2] = ENHANCED, total, self.interfaces[head.link]
        fields[3], fields[4] = <uint32_t>(head.ns >> 32), <uint32_t>head.ns
        fields[5], fields[6] = head.captured, head.length
        out_put(out, fields, sizeof(fields))
        out_put(out, data, head.captured)
        fields[0] = 0
        out_put(out, fields, padding)
        out_put(out, &total, 4)
        return 0
