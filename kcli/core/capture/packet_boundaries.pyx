"""Finds boundaries of packets in the middle of a capture file, so that its parts can be read separately, as
kcli/pipeline does.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from kcli.core.capture.packets cimport Packet, PacketReader

cdef enum:
    NANO = 1000000000
    DAYS = 30 * 86400     # most seconds between two packets of one file


cdef class Boundaries:
    """Finds the start of packets by chains of plausible headers."""

    cdef PacketReader reader
    cdef bint blocks

    def __cinit__(self, const uint8_t[::1] head not None):
        """Read the file's header and first blocks. head: the start of the file."""
        cdef Packet packet
        cdef size_t used
        cdef size_t at = 0
        self.reader = PacketReader()
        while at < <size_t>head.shape[0]:
            if self.reader.take(&head[at], head.shape[0] - at, &used, &packet) <= 0:
                break
            at += used
        self.blocks = self.reader.blocks

    def find(self, const uint8_t[::1] data not None, int chain, bint whole):
        """Return the first offset in `data` from which `chain` packets or blocks follow each other; -1: none.

        whole: the data goes to the file's end, where a chain may be shorter.
        """
        cdef size_t at, n = data.shape[0]
        for at in range(n):
            if self.follows(&data[0], at, n, chain, whole):
                return at
        return -1

    cdef bint follows(self, const uint8_t* p, size_t at, size_t n, int chain, bint whole) noexcept:
        cdef size_t size
        cdef int i
        for i in range(chain):
            if at == n and whole and i > 0:
                return True
            size = self.block_size(p + at, n - at) if self.blocks else self.record_size(p + at, n - at)
            if not size:
                return False
            at += size
            if at > n:
                return False
        return True

    cdef size_t record_size(self, const uint8_t* p, size_t n) noexcept:
        cdef uint32_t captured, length
        cdef uint64_t seconds
        if n < self.reader.head:
            return 0
        captured, length, seconds = self.reader.u32(p + 8), self.reader.u32(p + 12), self.reader.u32(p)
        if (
            captured < 14
            or captured > length
            or length > 1 << 20
            or self.reader.u32(p + 4) >= self.reader.interfaces[0].divisor
        ):
            return 0
        if (
            self.reader.last
            and not (seconds + DAYS > self.reader.last // NANO and seconds < self.reader.last // NANO + DAYS)
        ):
            return 0
        return self.reader.head + captured

    cdef size_t block_size(self, const uint8_t* p, size_t n) noexcept:
        cdef uint32_t kind, size
        if n < 12:
            return 0
        kind, size = self.reader.u32(p), self.reader.u32(p + 4)
        if size < 12 or size & 3 or size > n or self.reader.u32(p + size - 4) != size:
            return 0
        return size if kind == 0x0A0D0D0A or 1 <= kind <= 11 or kind & 0x80000000 else 0
