# Facts about TCP connections: see tcp_facts.pyx.
cimport cython
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from kcli.core.capture.packets cimport Ends, Segment
from kcli.core.codec.messages cimport Out

cdef enum:
    OCTAVES = 36           # of round trips in us, each with STEPS
    STEPS = 4
    SAMPLES = OCTAVES * STEPS
    AWAITED = 16           # segments of one direction whose acknowledgement is awaited at one time
    HOLES = 8              # holes of one direction to remember
    ID_WORDS = 64
    IDS = 64 * ID_WORDS    # the latest identifications of IP headers in one direction


# A segment whose acknowledgement is awaited.
cdef struct Sent:
    uint32_t end
    uint64_t ts


cdef struct Hole:
    uint32_t start, end
    uint64_t ts
    uint16_t id                # identification of the packet behind it; 0: it has none


# The figures of one end of a connection. Times are ns since 1970; 0: never.
cdef struct Sender:
    bint known                 # `next` is known
    bint heard                 # `acked` is known
    bint closed_window         # its window is zero
    uint32_t next              # the sequence number after all that it has sent
    uint32_t acked             # the highest one that the other end has acknowledged
    uint32_t last_seq, last_ack, last_length
    uint16_t last_window
    uint16_t top_id            # the latest identification of its IP headers, and which of those before it were captured
    uint64_t[ID_WORDS] ids
    bint ids_vary              # there were two; a single one may be in all of its packets
    bint ids_repeat            # they do not identify packets, as new ones repeat old ones
    uint16_t sent_id           # that of the latest packet with new data
    uint32_t id_rises, id_falls    # how often it was above, and below, the one before
    uint64_t last_ts, data_ts, window_ts, syn_ts, fin_ts, rst_ts
    uint64_t segments, bytes, data_segments, resent, holes, out_of_order, duplicate_acks, sacks, repeats, zero_windows
    uint64_t zero_ns
    uint64_t early, early_samples, early_ns    # segments acknowledged before they came; how long before, in sum
    uint64_t early_ts          # time of such an acknowledgement, and the sequence number that it awaits; 0: none
    uint32_t early_end
    uint64_t resent_wait_ns    # the longest pause before a retransmission
    uint64_t unacked_ts        # since when its bytes are not acknowledged; 0: all are
    uint64_t unacked_silence_ns, unacked_resent    # the connection's silence before that; retransmissions since
    int64_t alert              # a TLS alert, level * 256 + description; -1: none
    uint64_t alert_ts
    bint sealed                # it has sent an encrypted record of TLS
    bint replied               # and one after the other end's first: Finished, data, or an alert
    uint64_t first_size, first_ts
    uint64_t first_bytes       # the first eight bytes, if the start of the stream was captured
    int64_t least_ns           # the shortest round trip; -1: none
    uint64_t sampled
    uint32_t[SAMPLES] samples
    Sent[AWAITED] awaited
    int waiting
    Hole[HOLES] gaps
    int gap_count


cdef struct Talk:
    Talk* chain
    Talk* older
    Talk* newer
    uint64_t hash
    Ends ends
    int twin                   # earlier connections of the same two ends on other paths (Flow.twin)
    uint64_t first_ts, last_ts, established_ts
    uint32_t syn_seq
    int client                 # the end that connected; -1: unknown
    uint64_t back_ns           # the longest time from a packet back to the one after it, of the same end
    int64_t syns               # SYNs of the client
    bint answered              # a SYN-ACK was captured
    bint over
    Sender[2] by


@cython.final
cdef class TcpFacts:
    cdef Talk** slots
    cdef size_t slot_count, count, most
    cdef Talk* first
    cdef Talk* latest
    cdef Talk* recent
    cdef Out numbers, ends
    cdef object full           # called when many rows are ready, or None

    cdef int see(self, const Segment* s, int twin) except -1
    cdef Talk* find(self, const Segment* s, int twin) except NULL
    cdef Talk* add(self, const Segment* s, uint64_t hash, int twin) except NULL
    cdef int make_room(self) except -1
    cdef int drop(self, Talk* talk) except -1
    cdef int put(self, Talk* talk) except -1
