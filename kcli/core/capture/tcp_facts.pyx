"""Counts facts about TCP connections, packet by packet: losses, windows, round trips, how each began and ended.

It reads every segment as it was captured, with or without Kafka, and reassembles nothing. Connections that began before
the capture count, too; connections of the same ends on other paths (VLANs, tunnels) are told apart as in `Streams`.
Memory is bounded: when `most` connections are counted, those that are over become rows, and then the oldest ones.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memset

from kcli.core.capture.packets cimport (
    KC_ACK, KC_END_ROOM, KC_DSACK, KC_FIN, KC_RST, KC_SACK, KC_SYN, Ends, Segment, place_ends, put_end,
)
from kcli.core.codec.interner cimport Texts, text_number, texts_free
from kcli.core.codec.messages cimport Out, out_free, out_put, put_uint
from kcli.core.columns.json_columns cimport Column, end, ends, text

include "tcp_names.pxi"
include "tcp_order.pxi"

cdef enum:
    SLOTS = 1 << 14
    FARTHEST = 1 << 28      # bytes between two sequence numbers of one stream
    TWICE_NS = 500000       # repeated sooner: captured twice, not sent twice
    SYN_NS = 100000000      # the same for a SYN, which is retransmitted after a second (RFC 6298)
    REORDER_NS = 3000000    # a hole filled within this time was packets out of order, unless identifications tell
    RISES = 4               # identifications count packets if they rise at least this often, and hardly ever fall
    FALLS_IN = 16
    TRIPS = 8               # measured round trips that make the shortest one credible
    TALK_WIDTH = 7
    SENDER_WIDTH = 31
    ALERT = 0x15            # types of TLS records
    SEALED = 0x17
    SEALED_ALERT = 19       # bytes of an alert in a record of TLS 1.3: level, description, type, tag (RFC 8446, 5.2)
    PADDED_ALERT = SEALED_ALERT + 16  # with Java's 16 bytes of padding for records other than data
    FATAL = 2
    UNREADABLE = 255        # in place of a description
    HANDSHAKE_3 = 0x1603    # the start of a TLS stream
    READY = 5000            # rows at which `full` is called

# The columns of a row: TALK, then SENDER for its client's end and for its server's; client -1: for both ends, in any
# order.
TALK = ("first_ns", "last_ns", "client", "syns", "answered", "established_ns", "back_ns")
SENDER = (
    "segments", "bytes", "data_segments", "resent", "holes", "out_of_order", "duplicate_acks", "zero_windows",
    "zero_window_ns", "syn_ns", "fin_ns", "rst_ns", "resent_wait_ns", "unacked_ns", "unacked_silence_ns",
    "unacked_resent", "alert", "alert_ns", "first_bytes", "first_size", "first_ns", "last_ns", "rtt_samples",
    "rtt_min_ns", "rtt_p50_ns", "rtt_p99_ns", "sacks", "repeats", "early", "early_samples", "early_ns",
)


@cython.final
cdef class TcpFacts:
    """Counts facts about connections. most: connections at one time. full: called when many rows are ready to
    `take`.
    """

    def __cinit__(self, size_t most=1 << 14, full=None):
        self.most, self.slot_count, self.full = most, SLOTS, full
        self.slots = <Talk**>calloc(self.slot_count, sizeof(Talk*))
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef Talk* talk = self.first
        while talk != NULL:
            self.first = talk.newer
            free(talk)
            talk = self.first
        free(self.slots)
        out_free(&self.numbers)
        out_free(&self.ends)

    def take(self, bint last=False):
        """Return the finished rows, and forget them: the ends of each for `end_pairs` and `link_texts`, and int64 rows
        of TALK and SENDER. last: end all connections.
        """
        while last and self.first != NULL:
            self.drop(self.first)
        return text(&self.ends), text(&self.numbers)

    def resent(self):
        """Return (one "address:port", the other, number of retransmitted segments) of counted connections with any."""
        cdef Talk* talk = self.first
        found = []
        while talk != NULL:
            if talk.by[0].resent or talk.by[1].resent:
                found.append((end_text(talk, 0), end_text(talk, 1), talk.by[0].resent + talk.by[1].resent))
            talk = talk.newer
        return found

    cdef int see(self, const Segment* s, int twin) except -1:
        """Count a segment. twin: see Flow.twin."""
        cdef Talk* talk = self.find(s, twin)
        cdef Sender* own
        cdef Sender* other
        if (
            s.flags & KC_SYN
            and not s.flags & KC_ACK
            and talk.by[s.sender].segments
            and (talk.client != s.sender or talk.syn_seq != s.seq)
        ):
            self.drop(talk)        # another connection of the same two ends
            talk = self.find(s, twin)
        own, other = &talk.by[s.sender], &talk.by[1 - s.sender]
        if is_known(own, other, s) or is_twice(own, s):
            return 0
        if s.ts < own.last_ts:
            talk.back_ns = max(talk.back_ns, own.last_ts - s.ts)
        own.segments += 1
        own.bytes += s.length
        if s.flags & KC_ACK and not s.flags & KC_RST:
            note_ack(own, other, s)
            note_window(own, s)
        note_flags(talk, own, other, s)
        if s.length or s.flags & (KC_SYN | KC_FIN):
            note_bytes(talk, own, s)
        own.last_seq, own.last_ack, own.last_length, own.last_window, own.last_ts = (
            s.seq, s.ack, s.length, s.window, s.ts
        )
        talk.last_ts = s.ts
        return 0

    cdef Talk* find(self, const Segment* s, int twin) except NULL:
        cdef Talk* talk = self.recent
        cdef uint64_t hash
        if talk != NULL and talk.twin == twin and memcmp(&talk.ends, &s.ends, sizeof(Ends)) == 0:
            return talk
        hash = place_ends(&s.ends)
        talk = self.slots[hash & (self.slot_count - 1)]
        while (
            talk != NULL
            and (talk.hash != hash or talk.twin != twin or memcmp(&talk.ends, &s.ends, sizeof(Ends)) != 0)
        ):
            talk = talk.chain
        if talk == NULL:
            talk = self.add(s, hash, twin)
        self.recent = talk
        return talk

    cdef Talk* add(self, const Segment* s, uint64_t hash, int twin) except NULL:
        cdef Talk* talk
        cdef Talk** slot = &self.slots[hash & (self.slot_count - 1)]
        cdef int d
        if self.count >= self.most:
            self.make_room()
        talk = <Talk*>calloc(1, sizeof(Talk))
        if talk == NULL:
            raise MemoryError
        talk.hash, talk.ends, talk.twin, talk.client = hash, s.ends, twin, -1
        talk.first_ts = talk.last_ts = s.ts
        for d in range(2):
            talk.by[d].alert = talk.by[d].least_ns = -1
        talk.chain, slot[0] = slot[0], talk
        talk.older = self.latest
        if self.latest != NULL:
            self.latest.newer = talk
        else:
            self.first = talk
        self.latest = talk
        self.count += 1
        return talk

    cdef int make_room(self) except -1:
        """Make rows of connections that are over, and of the oldest ones, until half of them are left."""
        cdef Talk* talk = self.first
        cdef Talk* newer
        while talk != NULL and self.count > self.most // 2:
            newer = talk.newer
            if talk.over:
                self.drop(talk)
            talk = newer
        while self.count > self.most // 2:
            self.drop(self.first)
        return 0

    cdef int drop(self, Talk* talk) except -1:
        """Make a connection's row, and forget the connection."""
        cdef Talk** place = &self.slots[talk.hash & (self.slot_count - 1)]
        self.put(talk)
        while place[0] != talk:
            place = &place[0].chain
        place[0] = talk.chain
        if talk.older != NULL:
            talk.older.newer = talk.newer
        else:
            self.first = talk.newer
        if talk.newer != NULL:
            talk.newer.older = talk.older
        else:
            self.latest = talk.older
        if self.recent == talk:
            self.recent = NULL
        self.count -= 1
        free(talk)
        return 0

    cdef int put(self, Talk* talk) except -1:
        cdef int64_t[TALK_WIDTH] head
        cdef Named named
        cdef int d
        memset(&named, 0, sizeof(named))
        named.ends, named.twin, named.first = talk.ends, talk.twin, talk.client == 1
        head[0], head[1], head[2], head[3] = talk.first_ts, talk.last_ts, talk.client, talk.syns
        head[4], head[5], head[6] = talk.answered, talk.established_ts, talk.back_ns
        if out_put(&self.numbers, head, sizeof(head)) or out_put(&self.ends, &named, sizeof(named)):
            raise MemoryError
        for d in range(2):
            put_sender(&self.numbers, &talk.by[d ^ named.first])
        if self.full is not None and self.ends.size >= READY * sizeof(Named):
            self.full()
        return 0


cdef str end_text(Talk* talk, int d):
    """Return one end of a connection, as "address:port"."""
    cdef char[KC_END_ROOM] end
    return end[: put_end(end, &talk.ends, d) - end].decode()


cdef int put_sender(Out* numbers, Sender* by) except -1:
    cdef int64_t[SENDER_WIDTH] row
    if by.closed_window:
        by.zero_ns += by.last_ts - by.window_ts
    row[0], row[1], row[2], row[3], row[4], row[5] = (
        by.segments, by.bytes, by.data_segments, by.resent, by.holes, by.out_of_order
    )
    row[6], row[7], row[8], row[9], row[10], row[11] = (
        by.duplicate_acks, by.zero_windows, by.zero_ns, by.syn_ts, by.fin_ts, by.rst_ts
    )
    row[12], row[13], row[14], row[15] = by.resent_wait_ns, by.unacked_ts, by.unacked_silence_ns, by.unacked_resent
    row[16], row[17], row[18], row[19], row[20] = by.alert, by.alert_ts, by.first_bytes, by.first_size, by.first_ts
    row[21], row[22], row[23], row[24], row[25] = (
        by.last_ts, by.sampled, by.least_ns, quantile(by, 50), quantile(by, 99)
    )
    row[26], row[27], row[28], row[29], row[30] = by.sacks, by.repeats, by.early, by.early_samples, by.early_ns
    if out_put(numbers, row, sizeof(row)):
        raise MemoryError
    return 0


cdef inline int32_t ahead(uint32_t a, uint32_t b) noexcept:
    return <int32_t>(a - b)


cdef bint is_known(Sender* own, const Sender* other, const Segment* s) noexcept:
    """Return whether the same packet was captured before at another tap, as a retransmission has an identification of
    its own (RFC 6864). Without one, an accepted SYN is not repeated, and a reset tells nothing more.
    """
    cdef bint came = s.id and note_id(own, s.id) and own.ids_vary
    if s.flags & KC_SYN:
        return own.syn_ts and (
            came and not own.ids_repeat
            or s.ts - own.syn_ts < SYN_NS
            or own.heard and ahead(own.acked, s.seq) > 0
        )
    if s.flags & KC_RST and not s.id and own.rst_ts and own.last_seq == s.seq and own.last_ack == s.ack:
        return True
    if own.ids_repeat or not came:
        return False
    own.ids_repeat = (
        s.length and ahead(s.seq + s.length, own.next) > 0
        or s.flags & KC_ACK and other.heard and ahead(s.ack, other.acked) > 0
    )
    return not own.ids_repeat


cdef bint note_id(Sender* own, uint16_t id) noexcept:
    """Note an identification; return whether it is among the latest."""
    cdef int16_t distance = <int16_t>(id - own.top_id)
    cdef uint64_t bit = <uint64_t>1 << (id & 63)
    cdef uint64_t* word = &own.ids[(id & (IDS - 1)) >> 6]
    if distance > -IDS and distance <= 0 and word[0] & bit:
        return True
    own.ids_vary = own.ids_vary or own.top_id      # 0: this is the first
    if distance >= IDS or distance <= -IDS:        # far from all before, which are forgotten
        memset(own.ids, 0, sizeof(own.ids))
        own.top_id = id
    while distance > 0 and distance < IDS and own.top_id != id:
        own.top_id += 1
        own.ids[(own.top_id & (IDS - 1)) >> 6] &= ~(<uint64_t>1 << (own.top_id & 63))
    word[0] |= bit
    return False


cdef bint is_twice(const Sender* own, const Segment* s) noexcept:
    """Return whether the previous packet was the same one, captured at another place of this machine. An
    acknowledgement and a reset directly after it differ only in their flags.
    """
    cdef bint again = (
        s.length
        or s.flags & KC_SYN and own.syn_ts
        or s.flags & KC_FIN and own.fin_ts
        or s.flags & KC_RST and own.rst_ts
    )
    return (
        again and own.segments and own.last_seq == s.seq and own.last_ack == s.ack and own.last_length == s.length
        and own.last_window == s.window and s.ts - own.last_ts < TWICE_NS
    )


cdef void note_flags(Talk* talk, Sender* own, Sender* other, const Segment* s) noexcept:
    """Note the SYN, the handshake's end and the reset of a connection."""
    if s.flags & KC_SYN:
        if not s.flags & KC_ACK:
            talk.client, talk.syn_seq = s.sender, s.seq
            talk.syns += 1
        else:
            talk.client, talk.answered = 1 - s.sender, True
        if not own.syn_ts:
            own.syn_ts, own.known, own.next = s.ts, True, s.seq
    elif (
        s.flags & KC_ACK
        and talk.answered
        and not talk.established_ts
        and s.sender == talk.client
        and not s.flags & KC_RST
    ):
        talk.established_ts = s.ts
    if s.flags & KC_RST:
        talk.over = True
        if not own.rst_ts:
            own.rst_ts = s.ts
    if s.flags & KC_FIN:
        talk.over = talk.over or other.fin_ts != 0
        if not own.fin_ts:
            own.fin_ts = s.ts


# Sent bytes

cdef void note_bytes(Talk* talk, Sender* own, const Segment* s) noexcept:
    """Note new, repeated and missing bytes."""
    cdef uint32_t end = s.seq + s.length + (1 if s.flags & KC_SYN else 0) + (1 if s.flags & KC_FIN else 0)
    cdef int32_t distance
    if not own.known:
        own.known, own.next = True, s.seq
    distance = ahead(s.seq, own.next)
    if s.length == 1 and distance == -1:
        return                                             # a keep-alive, or a window probe
    if s.length:
        own.data_segments += 1
        if not own.first_size:
            note_start(own, s)
        note_alert(own, &talk.by[1 - s.sender], s)
    if distance < -FARTHEST or distance > FARTHEST:
        own.next, own.waiting, own.gap_count = end, 0, 0
        return
    if distance < 0:
        if s.length:
            note_repeated(own, &talk.by[1 - s.sender], s, end)
        if ahead(end, own.next) > 0:
            own.next = end
        return
    note_order(own, s)
    if distance > 0:
        note_hole(own, s)
    if own.heard and ahead(own.acked, s.seq) > 0:
        note_early(own, s, end)
    if s.length and not own.unacked_ts:
        own.unacked_ts, own.unacked_resent = s.ts, 0
        own.unacked_silence_ns = s.ts - talk.last_ts
    own.next, own.data_ts = end, s.ts
    if own.waiting < AWAITED:
        own.awaited[own.waiting].end, own.awaited[own.waiting].ts = end, s.ts
        own.waiting += 1


cdef void note_early(Sender* own, const Segment* s, uint32_t end) noexcept:
    """Note a segment that was acknowledged before it is captured."""
    own.early += 1
    if own.early_ts and ahead(end, own.early_end) >= 0:
        own.early_samples += 1
        own.early_ns += s.ts - own.early_ts if s.ts > own.early_ts else 0
        own.early_ts = 0


cdef void note_start(Sender* own, const Segment* s) noexcept:
    """Note the first eight bytes, whose meaning is known only at the stream's beginning."""
    cdef uint32_t i
    own.first_size, own.first_ts = s.length, s.ts
    for i in range(8):
        own.first_bytes = own.first_bytes << 8 | (s.data[i] if i < s.captured else 0)


cdef void note_alert(Sender* own, Sender* other, const Segment* s) noexcept:
    """Note a TLS alert in the records that begin in this segment: in the clear, or one that ends a TLS 1.3
    handshake.
    """
    cdef const uint8_t* p = s.data
    cdef size_t left = s.captured, size
    while left >= 7 and 0x14 <= p[0] <= 0x17 and p[1] == 3 and p[2] <= 4:
        size = <size_t>p[3] << 8 | p[4]
        if p[0] == ALERT and size == 2 and (p[5] == 1 or p[5] == 2):
            own.alert, own.alert_ts = <int64_t>p[5] << 8 | p[6], s.ts
            return
        if p[0] == SEALED:
            if other.sealed and not own.replied:
                own.replied = True
                if (
                    (size == SEALED_ALERT or size == PADDED_ALERT)
                    and shakes_hands(own)
                    and shakes_hands(other)
                    and not other.fin_ts
                ):
                    own.alert, own.alert_ts = FATAL << 8 | UNREADABLE, s.ts
                    return
            own.sealed = True
        if left < 5 + size:
            return
        p += 5 + size
        left -= 5 + size


cdef inline bint shakes_hands(Sender* by) noexcept:
    """Return whether the start of the stream was captured, and is a TLS handshake."""
    return by.first_bytes >> 48 == HANDSHAKE_3


# Acknowledgements

cdef void note_ack(Sender* own, Sender* other, const Segment* s) noexcept:
    """Note the bytes of the other end that a segment acknowledges, duplicate ACKs and selective ones."""
    cdef int32_t distance = ahead(s.ack, other.acked) if other.heard else 1
    own.sacks += s.sack == KC_SACK
    own.repeats += s.sack == KC_DSACK
    if (
        other.heard
        and distance == 0
        and not s.length
        and not s.flags & KC_FIN
        and s.window == own.last_window
        and other.unacked_ts
    ):
        own.duplicate_acks += own.last_ack == s.ack
    if distance <= 0 and other.heard:
        return
    if other.known and ahead(s.ack, other.next) > FARTHEST:
        return
    other.heard, other.acked = True, s.ack
    if other.known and not other.early_ts and ahead(s.ack, other.next) > 0:
        other.early_ts, other.early_end = s.ts, s.ack
    sample(other, s)
    if other.unacked_ts and (not other.known or ahead(s.ack, other.next) >= 0):
        other.unacked_ts = other.unacked_silence_ns = other.unacked_resent = 0
    elif other.unacked_ts:
        other.unacked_ts, other.unacked_silence_ns, other.unacked_resent = s.ts, 0, 0


cdef void note_window(Sender* own, const Segment* s) noexcept:
    """Note when the receive window closes and opens again."""
    if s.window and own.closed_window:
        own.zero_ns += s.ts - own.window_ts
        own.closed_window = False
    elif not s.window and not own.closed_window:
        own.closed_window, own.window_ts = True, s.ts
        own.zero_windows += 1


include "round_trips.pxi"
