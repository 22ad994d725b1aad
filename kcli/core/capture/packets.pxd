# Packets from capture files, and TCP segments from packets.
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "packets.h" nogil:
    enum: KC_NOT_TCP, KC_TCP, KC_CUT, KC_FRAGMENT, KC_LINK_UNKNOWN
    enum: KC_FIN, KC_SYN, KC_RST, KC_ACK
    enum: KC_MORE
    enum: KC_NO_SACK, KC_SACK, KC_DSACK
    enum: KC_END_ROOM

    ctypedef struct Packet "kc_packet":
        uint64_t ts
        const uint8_t* data
        uint32_t captured
        uint32_t length
        int link
        uint32_t interface

    ctypedef struct Ends "kc_ends":
        uint64_t address[2][2]
        uint16_t port[2]
        uint16_t version
        uint16_t unused

    ctypedef struct Segment "kc_segment":
        uint64_t ts
        Ends ends
        int sender "from"
        uint32_t seq
        uint32_t ack
        uint8_t flags
        uint8_t sack
        uint16_t window
        const uint8_t* data
        uint32_t captured
        uint32_t length
        uint32_t path
        uint32_t ip
        uint32_t unread
        uint8_t wrapped
        uint16_t id

    int dissect "kc_dissect"(const Packet* packet, Segment* segment)
    uint64_t hash_ends "kc_hash_ends"(const Ends* ends)
    uint64_t place_ends "kc_place_ends"(const Ends* ends)
    char* put_end "kc_put_end"(char* p, const Ends* ends, int d)
    uint16_t be16 "kc_be16"(const uint8_t* p)
    uint32_t be32 "kc_be32"(const uint8_t* p)
    uint64_t be64 "kc_be64"(const uint8_t* p)


cdef enum Found:
    FOUND_DAMAGE = -1     # `problem` has the reason
    FOUND_END = 0         # more bytes are needed
    FOUND_PACKET = 1
    FOUND_OTHER = 2       # a header, or a block without a packet


cdef struct Interface:
    int link
    uint32_t snaplen
    uint64_t divisor      # timestamp units per second
    int64_t offset        # seconds added to each timestamp


cdef enum:
    LARGEST = 1 << 26           # most bytes of a packet or block; a greater length is not plausible
    SECTION = 0x0A0D0D0A
    TLS_KEY_LOG = 0x544C534B    # the type of secrets in a Decryption Secrets Block
    NANO = 1000000000


@cython.final
cdef class PacketReader:
    cdef bint started, swapped, blocks
    cdef size_t head      # bytes of a pcap record's header
    cdef Interface* interfaces
    cdef int count
    cdef uint64_t last
    cdef readonly str problem
    cdef object found_secrets

    cdef uint16_t u16(self, const uint8_t* p) noexcept
    cdef uint32_t u32(self, const uint8_t* p) noexcept
    cdef int take(self, const uint8_t* p, size_t n, size_t* used, Packet* packet) except -2
    cdef int take_record(self, const uint8_t* p, size_t n, size_t* used, Packet* packet) noexcept
    cdef bint makes_sense(self, const uint8_t* p, uint64_t near) noexcept
    cdef int take_block(self, const uint8_t* p, size_t n, size_t* used, Packet* packet) except -2
    cdef int take_header(self, const uint8_t* p, size_t n, size_t* used) except -2
    cdef int damage(self, str text) except -2
    cdef bint add_interface(self, int link, uint32_t snaplen, uint64_t divisor) except False
    cdef void describe_interface(self, const uint8_t* p, size_t n) noexcept
    cdef int enhanced(self, const uint8_t* p, size_t n, Packet* packet) except -2
    cdef int simple(self, const uint8_t* p, size_t n, Packet* packet) except -2
    cdef int obsolete(self, const uint8_t* p, size_t n, Packet* packet) except -2
    cdef int stamp(self, uint32_t number, uint32_t high, uint32_t low, size_t room, Packet* packet) except -2
    cdef bint header_fits(self, const uint8_t* p, uint64_t near) noexcept
    cdef bint plausible(self, const uint8_t* p, size_t n) noexcept
