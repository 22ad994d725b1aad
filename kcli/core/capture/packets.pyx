"""Reads packets from pcap and pcapng bytes.

The formats are draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. Tests compare this with their grammar,
kcli/grammar/files/capture_formats.py.
"""

from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from kcli.legible import start_text

cdef extern from *:
    """
    typedef __int128 kc_i128;
    /* Times are kept to 1970 to 2261, so that int64 holds what is calculated with them: a damaged one is wrong either
       way, and its packet may be whole. */
    #define KC_LAST_NS INT64_C(9214646399999999999)
    static inline uint64_t kc_scale(uint64_t value, uint64_t divisor, int64_t seconds) {
        kc_i128 ns;
        if (divisor == 1000000 && !seconds && value <= KC_LAST_NS / 1000) return value * 1000;
        ns = (kc_i128)value * 1000000000 / divisor + (kc_i128)seconds * 1000000000;
        return ns < 0 ? 0 : ns > KC_LAST_NS ? KC_LAST_NS : (uint64_t)ns;
    }
    """
    uint64_t scale "kc_scale"(uint64_t value, uint64_t divisor, int64_t seconds) noexcept nogil

# First four bytes of a pcap file -> (big-endian, timestamp units per second, bytes of a record's header)
MAGICS = {
    b"\xd4\xc3\xb2\xa1": (False, 1000000, 16),
    b"\xa1\xb2\xc3\xd4": (True, 1000000, 16),
    b"\x4d\x3c\xb2\xa1": (False, NANO, 16),
    b"\xa1\xb2\x3c\x4d": (True, NANO, 16),
    b"\x34\xcd\xb2\xa1": (False, 1000000, 24),   # modified: interface, protocol and packet type after the lengths
    b"\xa1\xb2\xcd\x34": (True, 1000000, 24),
}


cdef class PacketReader:
    """The reader of one capture file: its byte order, interfaces and time resolutions."""

    def __init__(self, found_secrets=None):
        self.found_secrets = found_secrets      # (block): called with parts of TLS key logs in a pcapng file

    def __dealloc__(self):
        free(self.interfaces)

    cdef uint16_t u16(self, const uint8_t* p) noexcept:
        return be16(p) if self.swapped else p[0] | (<uint16_t>p[1] << 8)

    cdef uint32_t u32(self, const uint8_t* p) noexcept:
        cdef uint32_t value
        if self.swapped:
            return be32(p)
        memcpy(&value, p, 4)
        return value

    cdef int damage(self, str text) except -2:
        self.problem = text
        return FOUND_DAMAGE

    cdef bint add_interface(self, int link, uint32_t snaplen, uint64_t divisor) except False:
        cdef Interface* grown
        if self.count & (self.count - 1) == 0:
            grown = <Interface*>realloc(self.interfaces, max(1, 2 * self.count) * sizeof(Interface))
            if grown == NULL:
                raise MemoryError
            self.interfaces = grown
        self.interfaces[self.count] = Interface(link, snaplen, divisor, 0)
        self.count += 1
        return True

    cdef int take(self, const uint8_t* p, size_t n, size_t* used, Packet* packet) except -2:
        """Read the next packet or other block at the start of these bytes. used: set to its size in bytes."""
        if not self.started:
            return self.take_header(p, n, used)
        if self.blocks:
            return self.take_block(p, n, used, packet)
        return self.take_record(p, n, used, packet)

    cdef int take_header(self, const uint8_t* p, size_t n, size_t* used) except -2:
        if n >= 4 and be32(p) == SECTION:
            self.started = self.blocks = True
            used[0] = 0
            return FOUND_OTHER
        if n < 24:
            return FOUND_END
        found = MAGICS.get(p[:4])
        if found is None:
            return self.damage(f"starts with {start_text(bytes(p[:8]))}")
        self.swapped, self.head = found[0], found[2]
        self.add_interface(self.u32(p + 20) & 0xffff, self.u32(p + 16), found[1])
        self.started = True
        used[0] = 24
        return FOUND_OTHER

    cdef int take_record(self, const uint8_t* p, size_t n, size_t* used, Packet* packet) noexcept:
        cdef uint32_t captured
        cdef Interface* interface = self.interfaces
        if n < self.head:
            return FOUND_END
        captured = self.u32(p + 8)
        # Some writers let the fraction reach a second or more, which is accepted if all else fits.
        if captured > LARGEST or self.u32(p + 4) >= interface.divisor and not self.makes_sense(p, 0):
            self.problem = "a packet's header makes no sense"
            return FOUND_DAMAGE
        if n < self.head + captured:
            return FOUND_END
        packet.ts = self.u32(p) * <uint64_t>NANO + self.u32(p + 4) * (NANO // interface.divisor)
        packet.data = p + self.head
        packet.captured = captured
        packet.length = self.u32(p + 12)
        packet.link, packet.interface = interface.link, 0
        self.last = packet.ts
        used[0] = self.head + captured
        return FOUND_PACKET

    cdef int take_block(self, const uint8_t* p, size_t n, size_t* used, Packet* packet) except -2:
        cdef uint32_t kind, size
        if n < 12:
            return FOUND_END
        kind = self.u32(p)
        if kind == SECTION:      # the same in both byte orders
            if be32(p + 8) == 0x1A2B3C4D:
                self.swapped = True
            elif be32(p + 8) == 0x4D3C2B1A:
                self.swapped = False
            else:
                return self.damage("a section header without its byte-order magic")
        size = self.u32(p + 4)
        if size < 12 or size > LARGEST or size & 3:
            return self.damage(f"a block of {size} bytes")
        if n < size:
            return FOUND_END
        if self.u32(p + size - 4) != size:
            return self.damage(f"a block that begins with a length of {size} and ends with {self.u32(p + size - 4)}")
        used[0] = size
        if kind == 6:
            return self.enhanced(p + 8, size - 12, packet)
        if kind == SECTION:
            self.count = 0
        elif kind == 1 and size >= 20:
            self.add_interface(self.u16(p + 8), self.u32(p + 12), 1000000)
            self.describe_interface(p + 16, size - 20)
        elif kind == 2 and size >= 32:
            return self.obsolete(p + 8, size - 12, packet)
        elif kind == 3 and size >= 16:
            return self.simple(p + 8, size - 12, packet)
        elif kind == 10 and size >= 20 and self.u32(p + 8) == TLS_KEY_LOG and self.found_secrets is not None:
            self.found_secrets(p[16 : 16 + min(self.u32(p + 12), size - 20)])
        return FOUND_OTHER

    cdef void describe_interface(self, const uint8_t* p, size_t n) noexcept:
        """Read the options if_tsresol (9) and if_tsoffset (14) of the latest interface."""
        cdef size_t at = 0, size
        cdef int code, i
        cdef Interface* interface = &self.interfaces[self.count - 1]
        while at + 4 <= n:
            code = self.u16(p + at)
            size = self.u16(p + at + 2)
            at += 4
            if code == 0 or at + size > n:
                return
            if code == 9 and size == 1:
                if p[at] & 0x80:
                    interface.divisor = (<uint64_t>1) << min(p[at] & 0x7f, 63)
                else:
                    interface.divisor = 1
                    for i in range(min(p[at], 19)):
                        interface.divisor *= 10
            elif code == 14 and size == 8:
                interface.offset = <int64_t>(self.u32(p + at) | (<uint64_t>self.u32(p + at + 4) << 32))
                if self.swapped:
                    interface.offset = <int64_t>be64(p + at)
            at += (size + 3) & ~<size_t>3

    cdef int enhanced(self, const uint8_t* p, size_t n, Packet* packet) except -2:
        cdef uint32_t number
        if n < 20:
            return self.damage("a packet block without its header")
        number = self.u32(p)
        packet.captured = self.u32(p + 12)
        packet.length = self.u32(p + 16)
        packet.data = p + 20
        return self.stamp(number, self.u32(p + 4), self.u32(p + 8), n - 20, packet)

    cdef int simple(self, const uint8_t* p, size_t n, Packet* packet) except -2:
        """Read a simple packet block; its time is that of the packet before, its snapshot length the interface's."""
        if self.count == 0:
            return self.damage("a packet of interface 0, which no block describes")
        packet.length = self.u32(p)
        packet.captured = min(packet.length, <uint32_t>(n - 4))
        if self.interfaces[0].snaplen:
            packet.captured = min(packet.captured, self.interfaces[0].snaplen)
        packet.data = p + 4
        packet.link, packet.interface = self.interfaces[0].link, 0
        packet.ts = self.last
        return FOUND_PACKET

    cdef int obsolete(self, const uint8_t* p, size_t n, Packet* packet) except -2:
        packet.captured = self.u32(p + 12)
        packet.length = self.u32(p + 16)
        packet.data = p + 20
        return self.stamp(self.u16(p), self.u32(p + 4), self.u32(p + 8), n - 20, packet)

    cdef int stamp(self, uint32_t number, uint32_t high, uint32_t low, size_t room, Packet* packet) except -2:
        cdef Interface* interface
        if number >= <uint32_t>self.count:
            return self.damage(f"a packet of interface {number}, which no block describes")
        if packet.captured > room:
            return self.damage(f"a packet of {packet.captured} bytes in a block with room for {room}")
        interface = &self.interfaces[number]
        packet.ts = scale((<uint64_t>high << 32) | low, interface.divisor, interface.offset)
        packet.link, packet.interface = interface.link, number
        self.last = packet.ts
        return FOUND_PACKET

    cdef bint plausible(self, const uint8_t* p, size_t n) noexcept:
        """Return whether a pcap record or pcapng block may begin here, while damage is being skipped."""
        cdef uint32_t size, captured
        if self.blocks:
            if n < 12:
                return False
            size = self.u32(p + 4)
            return size >= 12 and size <= LARGEST and not size & 3 and n >= size and self.u32(p + size - 4) == size
        if n < self.head:
            return False
        captured = self.u32(p + 8)
        return self.header_fits(p, self.last // NANO) and (
            n == captured + self.head
            or (n >= captured + 2 * self.head and self.header_fits(p + self.head + captured, self.u32(p)))
        )

    cdef bint header_fits(self, const uint8_t* p, uint64_t near) noexcept:
        """Return whether a packet's header may begin here, with a time within a day of `near` seconds (0: any)."""
        return self.u32(p + 4) < self.interfaces[0].divisor and self.makes_sense(p, near)

    cdef bint makes_sense(self, const uint8_t* p, uint64_t near) noexcept:
        """Return the same as `header_fits`, for any fraction of the second."""
        cdef uint32_t captured = self.u32(p + 8)
        cdef uint64_t seconds = self.u32(p)
        if captured < 20 or captured > self.u32(p + 12) or self.u32(p + 12) > 1 << 18:
            return False
        return near == 0 or (seconds + 86400 > near and seconds < near + 86400)

    def peek(self, const uint8_t[::1] data not None):
        """Return the time (ns) of the first packet, None if these bytes have none. Only for a reader that has read
        nothing.
        """
        cdef Packet packet
        cdef size_t used, at = 0
        cdef int found = FOUND_OTHER
        while found == FOUND_OTHER and at < <size_t>data.shape[0]:
            found = self.take(&data[at], data.shape[0] - at, &used, &packet)
            at += used if found > 0 else 0
        return packet.ts if found == FOUND_PACKET else None

    def rows(self, const uint8_t[::1] data not None):
        """Return (bytes used, [(offset, ns, link type, length on the wire, connection, packet)]) for the whole packets
        in `data`.

        connection: bytes that are the same for both directions of a connection, and for no others; b"" without TCP. It
        stops before damage; `problem` has the reason.
        """
        cdef Packet packet
        cdef Segment segment
        cdef size_t at = 0, used = 0, n = data.shape[0]
        cdef int found = FOUND_OTHER
        cdef list rows = []
        self.problem = None
        while at < n:
            found = self.take(&data[at], n - at, &used, &packet)
            if found <= 0:
                break
            if found == FOUND_PACKET:
                key = b""
                if dissect(&packet, &segment) == KC_TCP:
                    key = (<const char*>&segment.ends)[: sizeof(Ends)]
                rows.append((at, packet.ts, packet.link, packet.length, key, packet.data[: packet.captured]))
            at += used
        return at, rows

    def skip(self, const uint8_t[::1] data not None, int64_t until):
        """Skip packets up to time `until` (ns); return (bytes before the first later packet, its ns or None if it is
        not in `data`).
        """
        cdef Packet packet
        cdef size_t used, at = 0, n = data.shape[0]
        cdef int found
        while at < n:
            found = self.take(&data[at], n - at, &used, &packet)
            if found == FOUND_PACKET and <int64_t>packet.ts > until:
                return at, packet.ts
            if found <= 0:
                break
            at += used
        return at, None

    def resume(self, const uint8_t[::1] data not None):
        """Return the bytes of damage to skip: up to the next place at which a packet may begin, or all of them."""
        cdef size_t at, n = data.shape[0]
        if not self.started:
            return n
        for at in range(1, n):
            if self.plausible(&data[at], n - at):
                return at
        return n


def dissected(const uint8_t[::1] data not None, int link, uint32_t length):
    """Dissect a packet; return (kind, unread) without a segment, or (kind, unread, version, sequence number,
    acknowledgment, flags, captured payload, its length on the wire, offset of IP, path, wrapped).
    """
    cdef Packet packet
    cdef Segment s
    cdef int kind
    packet.ts, packet.link, packet.length, packet.interface = 0, link, length, 0
    packet.captured = data.shape[0]
    packet.data = &data[0] if packet.captured else NULL
    kind = dissect(&packet, &s)
    if kind != KC_TCP:
        return kind, s.unread
    payload = (<const char*>s.data)[: s.captured]
    return kind, s.unread, s.ends.version, s.seq, s.ack, s.flags, payload, s.length, s.ip, s.path, bool(s.wrapped)
