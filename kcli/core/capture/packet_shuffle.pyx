"""Distributes packets by connection: each bucket gets whole connections, as a capture of its own.

`kcli.capture.io.files` uses it as an engine, like kcli.core.capture.engine.CaptureEngine: it runs over the bytes of a
capture file. For each bucket it makes pcap records (nanoseconds, the machine's byte order) by link layer, or an index
of the packets in the file, from which `kcli.core.capture.packet_fetch` makes the same records. kcli/pipeline uses it.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from kcli.core.codec.messages cimport Out, out_free, out_reserve
from kcli.core.capture.fragments cimport Fragments
from kcli.core.capture.packets cimport (
    FOUND_DAMAGE, FOUND_END, FOUND_OTHER, FOUND_PACKET, KC_CUT, KC_FRAGMENT, KC_LINK_UNKNOWN, KC_NOT_TCP, KC_TCP, Ends,
    Packet, PacketReader, Segment, dissect, hash_ends,
)

import struct

include "sampling.pxi"

cdef extern from "packet_index.h" nogil:
    enum: EXTENT_MOST "KX_MOST"
    ctypedef struct Extent "kx_extent":
        uint64_t at, ts
        uint32_t captured, length
    size_t write_extent "kx_write"(
        uint8_t* p, Extent* last, uint64_t at, uint64_t ts, uint32_t captured, uint32_t length
    )

cdef enum:
    LINKS = 32            # link layers in one file; `dissect` knows fewer
    COPIED = 1 << 16      # added to a link layer's number: packets that are not in the file
    NANO = 1000000000
    RECORD = 16           # bytes of a pcap record's header
    CHUNK = 1 << 20       # bytes of a bucket's packets after which they are passed on
    SECTION = 0x0A0D0D0A  # block types of pcapng
    INTERFACE = 1

PCAP_MAGIC = 0xA1B23C4D


# The packets of one bucket since it was last drained. The heaviest connection is found by majority vote over bytes.
cdef struct Bucket:
    Out out
    Extent last           # of an index
    uint64_t first_ns, last_ns, packets, bytes
    uint64_t heavy        # the hash of the connection that may have most of the bytes
    uint64_t votes


cdef class Scatter:
    """Distributes packets to buckets by their connection.

    only: keep only the packets of this bucket. sample: the fraction of connections to distribute, those of
    `CaptureEngine.choose_sample`; None: all. outside, outside_bytes: the packets of other connections. refer: make an
    index; `place` is then the offset in the file of the bytes passed to `run`. end: bytes of the file, counted from the
    first `run`, after which packets to read no longer begin. known, described: the blocks of a pcapng file that
    describe its packets, as they were before the first packet read here, and those since (if they begin with a section,
    it replaces the known ones).

    write(bucket, link, copied, first_ns, last_ns, packets, bytes, heavy, votes, memoryview of records): called with
    full buckets; copied: these are records, as for datagrams joined from fragments in any case.
    """

    cdef Bucket* buckets
    cdef readonly int count, only
    cdef bint refer
    cdef const uint8_t* data              # the bytes passed to `run`
    cdef object emit
    cdef int[LINKS] links
    cdef int link_count
    cdef readonly uint64_t packets, tcp, others, cuts, fragments, unknown_links, payload, kept, wire_bytes
    cdef readonly uint64_t first_ns, last_ns, outside, outside_bytes
    cdef uint64_t sampled                 # of 2^32 connections; 0: all
    cdef public object end
    cdef readonly uint64_t done
    cdef readonly object next_ns
    cdef public uint64_t place
    cdef list known_blocks, described_blocks
    cdef Fragments joiner

    def __cinit__(self, int count, write, *, int only=-1, bint refer=False, sample=None):
        self.sampled = 0 if sample is None else sample_of(sample)
        self.count, self.only, self.emit, self.refer = count, only, write, refer
        self.buckets = <Bucket*>calloc(<size_t>count * LINKS, sizeof(Bucket))
        if self.buckets == NULL:
            raise MemoryError
        self.end = None
        self.known_blocks, self.described_blocks, self.joiner = [], [], Fragments()

    def __dealloc__(self):
        cdef int i
        if self.buckets != NULL:
            for i in range(self.count * LINKS):
                out_free(&self.buckets[i].out)
            free(self.buckets)

    def run(self, PacketReader reader not None, const uint8_t[::1] data not None, limit):
        """Sort packets into buckets, as CaptureEngine.run does; return (bytes used, reason to stop), "limit" also at
        the range's end.
        """
        cdef Packet packet
        cdef size_t at = 0, used = 0, n = data.shape[0]
        cdef const uint8_t* p = &data[0] if n else NULL
        cdef uint64_t stop = <uint64_t>-1 if self.end is None else self.end
        cdef uint64_t last = limit
        cdef int found
        self.data = p
        while at < n:
            if self.done + at >= stop:
                self.done += at
                self.next_ns = None
                return at, "limit"
            found = reader.take(p + at, n - at, &used, &packet)
            if found == FOUND_PACKET:
                if packet.ts > last:
                    self.next_ns = packet.ts
                    self.done += at
                    return at, "limit"
                self.packet(&packet)
            elif found == FOUND_END:
                break
            elif found == FOUND_DAMAGE:
                self.done += at
                return at, "damage"
            elif reader.blocks:
                note_block(reader, p + at, used, self.described_blocks)
            at += used
        self.done += at
        return at, "end"

    def prime(self, PacketReader reader not None, const uint8_t[::1] data not None):
        """Read the headers before a range, without counting them."""
        cdef Packet packet
        cdef size_t at = 0, used = 0, n = data.shape[0]
        while at < n:
            found = reader.take(&data[at], n - at, &used, &packet)
            if found <= 0:
                break
            if found == FOUND_OTHER and reader.blocks:
                note_block(reader, &data[at], used, self.known_blocks)
            at += used
        return at

    @property
    def known(self):
        return b"".join(self.known_blocks)

    @property
    def described(self):
        return b"".join(self.described_blocks)

    def passed(self, size_t size):
        """Count bytes that were read elsewhere (skipped damage)."""
        self.done += size

    def finish(self):
        """Pass on the remaining packets."""
        cdef int i
        for i in range(self.count * LINKS):
            if self.buckets[i].out.size:
                self.hand_on(i)

    cdef int packet(self, Packet* packet) except -1:
        cdef Segment s
        cdef uint64_t hash
        cdef int kind = dissect(packet, &s), copied = 0
        self.packets += 1
        self.wire_bytes += packet.length
        if kind == KC_FRAGMENT:
            kind, copied = self.joiner.join(packet, &s), COPIED
        if not self.first_ns or packet.ts < self.first_ns:
            self.first_ns = packet.ts
        self.last_ns = max(self.last_ns, packet.ts)
        if kind == KC_TCP:
            self.tcp += 1
            self.payload += s.captured
            hash = hash_ends(&s.ends)
            if self.sampled and not in_sample(hash, self.sampled):
                self.outside += 1
                self.outside_bytes += s.captured
                return 0
            # Not the low bits, as the engine's own table of connections uses those.
            return self.keep(packet, <int>((hash >> 40) % <uint64_t>self.count), hash, copied)
        self.others += kind == KC_NOT_TCP
        self.cuts += kind == KC_CUT
        self.fragments += kind == KC_FRAGMENT
        self.unknown_links += kind == KC_LINK_UNKNOWN
        return 0

    cdef int keep(self, Packet* packet, int number, uint64_t hash, int copied) except -1:
        cdef Bucket* bucket
        cdef int link
        if self.only >= 0 and number != self.only:
            return 0
        link = self.link(packet.link | copied)
        bucket = &self.buckets[number * LINKS + link]
        if bucket.bytes > CHUNK:
            self.hand_on(number * LINKS + link)
        if self.refer and not copied:
            self.note(bucket, packet)
        else:
            self.copy(bucket, packet)
        if not bucket.packets or packet.ts < bucket.first_ns:
            bucket.first_ns = packet.ts
        bucket.last_ns = max(bucket.last_ns, packet.ts)
        bucket.packets += 1
        bucket.bytes += packet.captured
        self.kept += 1
        self.vote(bucket, hash, packet.captured)
        return 0

    cdef int copy(self, Bucket* bucket, Packet* packet) except -1:
        cdef uint32_t record[4]
        if out_reserve(&bucket.out, RECORD + packet.captured):
            raise MemoryError
        record[0] = <uint32_t>(packet.ts // NANO)
        record[1] = <uint32_t>(packet.ts % NANO)
        record[2] = packet.captured
        record[3] = packet.length
        memcpy(bucket.out.data + bucket.out.size, record, RECORD)
        memcpy(bucket.out.data + bucket.out.size + RECORD, packet.data, packet.captured)
        bucket.out.size += RECORD + packet.captured
        return 0

    cdef int note(self, Bucket* bucket, Packet* packet) except -1:
        cdef uint8_t* entry
        if out_reserve(&bucket.out, 1 + EXTENT_MOST):
            raise MemoryError
        entry = <uint8_t*>bucket.out.data + bucket.out.size
        if bucket.out.size == 0:
            bucket.last = Extent(0, 0, 0, 0)
            entry[0] = 0
            entry, bucket.out.size = entry + 1, 1
        bucket.out.size += write_extent(
            entry, &bucket.last, self.place + <uint64_t>(packet.data - self.data), packet.ts, packet.captured,
            packet.length
        )
        return 0

    cdef void vote(self, Bucket* bucket, uint64_t hash, uint64_t size) noexcept:
        if bucket.heavy == hash:
            bucket.votes += size
        elif bucket.votes > size:
            bucket.votes -= size
        else:
            bucket.votes = size - bucket.votes
            bucket.heavy = hash

    cdef int link(self, int link) except -1:
        cdef int i
        for i in range(self.link_count):
            if self.links[i] == link:
                return i
        if self.link_count == LINKS:
            raise ValueError(f"more than {LINKS} link layers in one capture")
        self.links[self.link_count] = link
        self.link_count += 1
        return self.link_count - 1

    cdef int hand_on(self, int i) except -1:
        cdef Bucket* b = &self.buckets[i]
        self.emit(
            i // LINKS, self.links[i % LINKS] & (COPIED - 1), not self.refer or self.links[i % LINKS] >= COPIED,
            b.first_ns, b.last_ns, b.packets, b.bytes, b.heavy, b.votes,
            PyBytes_FromStringAndSize(b.out.data, b.out.size),
        )
        b.out.size = 0
        b.packets = b.bytes = b.first_ns = b.last_ns = b.votes = b.heavy = 0
        return 0


cdef int note_block(PacketReader reader, const uint8_t* p, size_t n, list blocks) except -1:
    """Keep the blocks that describe packets; a section's replaces those before it."""
    cdef uint32_t kind
    if n < 12:
        return 0
    kind = reader.u32(p)
    if kind == SECTION:
        blocks.clear()
    if kind == SECTION or kind == INTERFACE:
        blocks.append((<const char*>p)[:n])
    return 0


def hash_of(bytes ends not None):
    """Return the hash of a connection. ends: from `CaptureEngine.dump`. Raises ValueError for other bytes."""
    cdef Ends made
    if len(ends) != sizeof(Ends):
        raise ValueError("no connection of this machine's core")
    memcpy(&made, <const char*>ends, sizeof(Ends))
    return hash_ends(&made)


def share_of(bytes ends not None, int count):
    """Return the bucket (0 to count - 1) of a connection, by the bytes of its ends."""
    cdef uint64_t hash = hash_of(ends)
    return <int>((hash >> 40) % <uint64_t>count)


def is_sampled(uint64_t hash, double fraction):
    """Return whether a connection is in a sample. hash: see `kcli.core.capture.packet_shuffle.hash_of`."""
    return in_sample(hash, sample_of(fraction))


def pcap_header(int link):
    """Return the 24 bytes of a pcap file header for `Scatter`'s records."""
    return struct.pack("=IHHiIII", PCAP_MAGIC, 2, 4, 0, 0, 1 << 18, link)
