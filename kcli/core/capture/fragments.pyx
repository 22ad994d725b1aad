"""Joins IP fragments to datagrams, as the receiving host does (RFC 791, RFC 8200; Linux, inet_fragment.c).

- Fragments belong together by addresses, protocol and identification, and by the path that they took (VLANs, tunnels,
  interfaces), so a datagram captured on two interfaces is joined twice.
- They may come in any order. One that lies within received bytes is a repetition, and the first bytes stay. One that
  overlaps them otherwise ends its datagram, as do one that contradicts its length and one beyond the largest datagram;
  no host would accept those (RFC 5722).
- A datagram is complete for the capture's clock when its last missing fragment comes, and has that packet's time. One
  that is incomplete after half a minute, in IPv6 a minute, stays so.
- Identifications repeat after 65,536 datagrams. If the checksums of a capture have been right, a wrong one means that
  older fragments belong to another datagram. A fragment of a datagram that was complete is a repetition only with the
  same bytes.
- Memory is bounded by bytes and datagrams; the oldest ones are dropped. Fragments of UDP without a tunnel are not kept.
- A complete datagram becomes a packet with the first fragment's headers. The length in IP headers around it is set to
  0, as it no longer holds.
"""

cimport cython
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memmove

from kcli.core.capture.packets cimport KC_FRAGMENT, KC_MORE, KC_NOT_TCP, be16, dissect, place_ends

cdef enum:
    SLOTS = 1 << 12
    MOST_WAITING = 1 << 12         # datagrams
    MOST_BYTES = 1 << 24
    MOST_SETTLED = 1 << 8          # datagrams whose repetitions are recognized
    MOST_SETTLED_BYTES = 1 << 22
    LARGEST = 65535                # bytes of a datagram, in IPv6 of its payload
    MOST_HEAD = 1 << 12            # bytes before a fragment's payload; no tunnels need more
    LEAST_ROOM = 1 << 11
    TCP = 6
    UDP = 17

cdef uint64_t LIFE = 30000000000   # ns; in IPv6 twice as long


@cython.final
cdef class Fragments:
    """Datagrams whose fragments are being received.

    joined: fragments of complete datagrams, except those that completed them. refused: fragments that contradict each
    other, or their checksum. crowded: fragments dropped for newer ones. All count fragments that `join` has reported
    (KC_FRAGMENT).
    """

    def __dealloc__(self):
        while self.waiting.first != NULL:
            self.drop(self.waiting.first)
        while self.settled.first != NULL:
            self.drop(self.settled.first)
        free(self.slots)
        free(self.frame)

    cdef int join(self, Packet* packet, Segment* s) except -1:
        """Add a fragment; return the kind of packet (packets.h). If it completes a datagram, `packet` and `s` become
        the datagram.
        """
        cdef int kind = KC_FRAGMENT
        while kind == KC_FRAGMENT and self.add(packet, s):     # a datagram in a tunnel may hold a fragment itself
            kind = dissect(packet, s)
        return KC_NOT_TCP if kind == KC_FRAGMENT and s.unread else kind

    cdef bint add(self, Packet* packet, Segment* s) except -1:
        """Add a fragment; return whether it completed its datagram."""
        cdef uint64_t hash = (place_ends(&s.ends) ^ s.path) + s.seq * <uint64_t>0x9E3779B97F4A7C15
        cdef Datagram* d = self.find(packet.ts, hash, s)
        if d != NULL and d.queue == &self.settled:
            if not d.whole:
                return False
            if repeats(d, s):
                s.unread = 0
                self.joined += 1
                return False
            self.drop(d)
            d = NULL
        if d == NULL:
            d = self.begin(packet.ts, hash, s)
        if s.unread and not s.ack:
            forget(d)
            d.whole = 0
            self.move(d, &self.settled)
            return False
        if d.head != NULL:
            s.unread = 0                   # its first fragment was in a tunnel
        if not fits(d, packet, s) or not self.put(d, packet, s):
            self.refused += d.counted + (not s.unread)
            self.drop(d)
            return False
        if is_whole(d):
            if self.is_sound(d):
                self.build(d, packet)
                return True
            self.refused += d.counted      # they are of an older datagram
            self.drop(d)
            d = self.begin(packet.ts, hash, s)
            self.put(d, packet, s)
        d.counted += not s.unread
        self.make_room()
        return False

    cdef Datagram* find(self, uint64_t ts, uint64_t hash, const Segment* s) noexcept:
        """Return the datagram of a fragment; NULL if there is none, or only an expired one."""
        cdef Datagram* d = NULL if self.slots == NULL else self.slots[hash & (SLOTS - 1)]
        while d != NULL and not (
            d.hash == hash and d.id == s.seq and d.path == s.path and d.protocol == s.window and d.sender == s.sender
            and memcmp(&d.ends, &s.ends, sizeof(Ends)) == 0
        ):
            d = d.chain
        if d != NULL and is_late(d, ts):
            self.drop(d)
            return NULL
        return d

    cdef Datagram* begin(self, uint64_t ts, uint64_t hash, const Segment* s) except NULL:
        cdef Datagram* d
        if self.slots == NULL:
            self.slots = <Datagram**>calloc(SLOTS, sizeof(Datagram*))
        while self.waiting.first != NULL and is_late(self.waiting.first, ts):
            self.drop(self.waiting.first)
        d = <Datagram*>calloc(1, sizeof(Datagram))
        if d == NULL or self.slots == NULL:
            free(d)
            raise MemoryError
        d.hash, d.ends, d.sender, d.id, d.path, d.protocol, d.born = hash, s.ends, s.sender, s.seq, s.path, s.window, ts
        d.here = LARGEST
        d.chain, self.slots[hash & (SLOTS - 1)] = self.slots[hash & (SLOTS - 1)], d
        self.move(d, &self.waiting)
        return d

    cdef bint put(self, Datagram* d, const Packet* packet, const Segment* s) except -1:
        """Add a fragment's bytes to its datagram; return False if they overlap others."""
        cdef uint32_t start = s.ack, end = s.ack + s.length, at = d.run_count
        cdef bint after, before
        cdef Run* runs
        if not s.flags & KC_MORE:
            d.whole = end
        while at and d.runs[at - 1].start > start:
            at -= 1
        # Runs before `at` begin at `start` or earlier.
        if at and d.runs[at - 1].end >= end:
            return True
        if (at and d.runs[at - 1].end > start) or (at < d.run_count and d.runs[at].start < end):
            return False
        after = at and d.runs[at - 1].end == start
        before = at < d.run_count and d.runs[at].start == end
        if after and before:
            d.runs[at - 1].end = d.runs[at].end
            d.run_count -= 1
            memmove(d.runs + at, d.runs + at + 1, (d.run_count - at) * sizeof(Run))
        elif after:
            d.runs[at - 1].end = end
        elif before:
            d.runs[at].start = start
        else:
            if d.run_count == d.run_room:
                runs = <Run*>realloc(d.runs, (d.run_room * 2 + 2) * sizeof(Run))
                if runs == NULL:
                    raise MemoryError
                d.queue.bytes += (d.run_room + 2) * sizeof(Run)
                d.runs, d.run_room = runs, d.run_room * 2 + 2
            memmove(d.runs + at + 1, d.runs + at, (d.run_count - at) * sizeof(Run))
            d.runs[at].start, d.runs[at].end = start, end
            d.run_count += 1
        self.copy(d, packet, s)
        return True

    cdef int copy(self, Datagram* d, const Packet* packet, const Segment* s) except -1:
        """Copy a fragment's bytes, and those before them in the packet of the first fragment."""
        cdef uint32_t room = d.room if d.room else LEAST_ROOM
        cdef uint8_t* data
        while room < s.ack + s.length:
            room *= 2
        if room > d.room:
            data = <uint8_t*>realloc(d.data, room)
            if data == NULL:
                raise MemoryError
            d.queue.bytes += room - d.room
            d.data, d.room = data, room
        memcpy(d.data + s.ack, s.data, s.captured)
        if s.captured < s.length:
            d.here = min(d.here, s.ack + s.captured)
        if s.ack == 0:
            d.head_size = <uint32_t>(s.data - packet.data)
            d.head = <uint8_t*>malloc(d.head_size)
            if d.head == NULL:
                raise MemoryError
            memcpy(d.head, packet.data, d.head_size)
            d.queue.bytes += d.head_size
            d.ip, d.link, d.interface = s.ip, packet.link, packet.interface
        return 0

    cdef bint is_sound(self, Datagram* d) noexcept:
        """Return whether a complete datagram has no wrong checksum."""
        if d.here < d.whole or not has_checksum(d):
            return True
        if checksum(d) == 0:
            self.trusted = True
            return True
        return not self.trusted

    cdef int build(self, Datagram* d, Packet* packet) except -1:
        """Make a packet of a complete datagram."""
        cdef uint32_t size = d.head_size + d.whole
        cdef uint8_t* frame
        d.here = min(d.here, d.whole)
        if size > self.frame_room:
            frame = <uint8_t*>realloc(self.frame, size)
            if frame == NULL:
                raise MemoryError
            self.frame, self.frame_room = frame, size
        frame = self.frame
        memcpy(frame, d.head, d.head_size)
        memcpy(frame + d.head_size, d.data, d.here)
        if d.ends.version == 4:
            put16(frame + d.ip + 2, d.head_size - d.ip + d.whole)
            frame[d.ip + 6] &= 0x40
            frame[d.ip + 7] = 0
        else:
            put16(frame + d.ip + 4, d.head_size - d.ip - 40 + d.whole)
            put16(frame + d.head_size - 6, 0)
        packet.data, packet.captured, packet.length = frame, d.head_size + d.here, size
        packet.link, packet.interface = d.link, d.interface
        unlimit(packet, frame, d.ip)
        self.joined += d.counted
        self.move(d, &self.settled)
        return 0

    # Memory

    cdef void move(self, Datagram* d, Queue* queue) noexcept:
        """Move a datagram to the end of a queue; NULL: remove it from its queue."""
        cdef uint64_t held = weight(d)
        if d.queue != NULL:
            if d.older != NULL:
                d.older.newer = d.newer
            else:
                d.queue.first = d.newer
            if d.newer != NULL:
                d.newer.older = d.older
            else:
                d.queue.latest = d.older
            d.queue.count -= 1
            d.queue.bytes -= held
        d.queue, d.newer = queue, NULL
        if queue == NULL:
            return
        d.older = queue.latest
        if queue.latest != NULL:
            queue.latest.newer = d
        else:
            queue.first = d
        queue.latest = d
        queue.count += 1
        queue.bytes += held
        if queue == &self.settled:
            while queue.first != d and (queue.count > MOST_SETTLED or queue.bytes > MOST_SETTLED_BYTES):
                self.drop(queue.first)

    cdef void drop(self, Datagram* d) noexcept:
        """Remove a datagram from its table and queue, and free it."""
        cdef Datagram** place = &self.slots[d.hash & (SLOTS - 1)]
        while place[0] != d:
            place = &place[0].chain
        place[0] = d.chain
        self.move(d, NULL)
        forget(d)
        free(d)

    cdef void make_room(self) noexcept:
        """Drop the oldest datagrams if there are too many, or they hold too much memory."""
        while self.waiting.count > MOST_WAITING or self.waiting.bytes > MOST_BYTES:
            self.crowded += self.waiting.first.counted
            self.drop(self.waiting.first)


cdef inline bint is_late(const Datagram* d, uint64_t ts) noexcept:
    return ts > d.born + (LIFE if d.ends.version == 4 else 2 * LIFE)


cdef inline bint is_whole(const Datagram* d) noexcept:
    return d.whole and d.run_count == 1 and d.runs[0].start == 0 and d.runs[0].end == d.whole


cdef uint64_t weight(const Datagram* d) noexcept:
    """Return the bytes of memory that a datagram holds."""
    return sizeof(Datagram) + d.room + d.run_room * sizeof(Run) + (d.head_size if d.head != NULL else 0)


cdef void forget(Datagram* d) noexcept:
    """Free the buffers of a datagram."""
    cdef uint64_t held = weight(d)
    free(d.data)
    free(d.runs)
    free(d.head)
    d.data, d.runs, d.head = NULL, NULL, NULL
    d.room = d.run_count = d.run_room = d.head_size = 0
    if d.queue != NULL:
        d.queue.bytes -= held - weight(d)


cdef bint fits(const Datagram* d, const Packet* packet, const Segment* s) noexcept:
    """Return whether a datagram can have this fragment."""
    cdef uint32_t end = s.ack + s.length, head = <uint32_t>(s.data - packet.data)
    cdef uint32_t reach = d.runs[d.run_count - 1].end if d.run_count else 0
    if not s.length or head > MOST_HEAD or head - s.ip + end > LARGEST + (40 if d.ends.version == 6 else 0):
        return False
    if s.flags & KC_MORE:
        return s.length % 8 == 0 and (not d.whole or end <= d.whole)
    return end == d.whole if d.whole else end >= reach


cdef bint repeats(const Datagram* d, const Segment* s) noexcept:
    """Return whether a fragment is of a datagram that was complete before."""
    cdef uint32_t end = s.ack + s.length
    if end > d.whole or (end == d.whole) == <bint>(s.flags & KC_MORE):
        return False
    return s.ack >= d.here or memcmp(d.data + s.ack, s.data, min(s.captured, d.here - s.ack)) == 0


cdef void unlimit(const Packet* packet, uint8_t* frame, uint32_t ip) noexcept:
    """Set the length to 0 in IP headers before the one at `ip`, by the headers that precede them."""
    cdef Packet before = packet[0]
    cdef Segment s
    while True:
        before.captured = before.length = s.ip = ip
        dissect(&before, &s)
        if s.ip >= ip:
            return
        ip = s.ip
        put16(frame + ip + (2 if frame[ip] >> 4 == 4 else 4), 0)


cdef inline void put16(uint8_t* p, uint32_t value) noexcept:
    p[0], p[1] = value >> 8 & 255, value & 255


# Checksums

cdef bint has_checksum(const Datagram* d) noexcept:
    """Return whether there is a checksum over the whole payload (0 is none), and no header that changes its scope."""
    cdef uint32_t at = 16 if d.protocol == TCP else 6
    if (d.protocol != TCP and d.protocol != UDP) or d.head_size - d.ip != (20 if d.ends.version == 4 else 48):
        return False
    return d.whole >= at + 2 and be16(d.data + at) != 0


cdef uint32_t checksum(const Datagram* d) noexcept:
    """Return 0 if the checksum of TCP or UDP is right (RFC 1071)."""
    cdef const uint8_t* ip = d.head + d.ip
    cdef uint64_t total = d.protocol + d.whole
    total += sum16(ip + 12, 8) if d.ends.version == 4 else sum16(ip + 8, 32)
    total += sum16(d.data, d.whole)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


cdef uint64_t sum16(const uint8_t* p, uint32_t n) noexcept:
    cdef uint64_t total = 0
    cdef uint32_t at = 0
    while at + 1 < n:
        total += be16(p + at)
        at += 2
    return total + (<uint64_t>p[at] << 8 if at < n else 0)
