"""From packets to exchanges at C speed.

kcli/capture/connection.py has the rules of a connection, and handles whatever is odd about one. Here is its steady state:
frames that follow each other, each answer for the first request that waits; as JSON text no Python object is made for them.
"""

from cpython.buffer cimport PyBUF_READ
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memmove

from kcli.core.capture.exchange_json cimport KEYS, PRODUCE, SASL_HANDSHAKE, VERSIONS, ApiCodecs, ExchangeWriter
from kcli.core.capture.packets cimport (
    FOUND_DAMAGE, FOUND_END, FOUND_PACKET, KC_CUT, KC_END_ROOM, KC_FRAGMENT, KC_LINK_UNKNOWN, KC_NOT_TCP, KC_TCP, Ends, Packet, PacketReader,
    Segment, be16, be32, dissect, hash_ends, put_end,
)
from kcli.core.capture.streams cimport (
    LOSS_CUT, LOSS_GAP, LOSS_GIVEN_UP, Flow, Held, Loss, Side, Streams, list_held, pull_timer, push_timer, put_held,
)
from kcli.core.codec.messages cimport Node, Out, out_put
from kcli.core.codec.request_header cimport *
from kcli.core.codec.sink cimport Sink

include "line_filter.pxi"
include "turns.pxi"
include "connection_state.pxi"
include "correlator.pxi"
include "handover.pxi"
include "tls_records.pxi"


cdef class CaptureEngine(Correlator):
    """Packets in; exchanges and events out, as lines of JSON or to the owner's `exchanged` and its connections' `emit`.

    The owner has `bodies`, `connect(ends, client, started)` that makes a Connection, and
    `exchanged(ends, client, request_ns, request, response_ns, response)`.
    """

    cdef readonly uint64_t packets, wire_bytes, others, cuts, fragments, unknown_links
    cdef readonly object first_ns, next_ns
    cdef readonly uint64_t earliest, latest    # times of packets since they were set; 0: none
    cdef uint64_t chosen_hash
    cdef bint choosy, chosen_alone
    cdef int share, shares
    cdef uint64_t memory

    def __init__(self, owner, ports=(), text=False, chosen=None, memory=1 << 28):
        """chosen: a kcli.capture.filters.Filter for the lines that are made here. memory: bytes that connections may hold."""
        Correlator.__init__(self, owner, text, ports)
        self.memory = memory
        if chosen is not None and not chosen.takes_all:
            self.chosen = LineFilter(chosen)

    def __dealloc__(self):
        cdef Flow* flow = self.first
        while flow != NULL:
            self.forget(flow)
            flow = flow.newer

    def choose(self, uint64_t ends, bint alone):
        """Read one connection's packets alone (`kcli.core.capture.packet_shuffle.hash_of`), or all but those: as if no others were there."""
        self.choosy, self.chosen_hash, self.chosen_alone = True, ends, alone

    def choose_share(self, int share, int shares):
        """Read the connections of one bucket of `kcli.core.capture.packet_shuffle.Scatter` alone; and what is no TCP, all of it."""
        self.share, self.shares = share, shares

    def take_turns(self, int own, int count, uint64_t size):
        """Write lines in turn with other processes, of which this is number `own`, for about so many bytes of messages each
        time; to be called before the first packet. The owner's `turned` hears when a turn is over."""
        self.turns = Turns(self.owner, own, count, size)

    @property
    def is_on(self):
        """Whether it is this process's turn to write lines."""
        return is_on(self.turns)

    @property
    def turn(self):
        """The number of the process whose turn it is."""
        return 0 if self.turns is None else self.turns.now

    def pass_by(self, uint64_t size):
        """Count an exchange that comes as a value, in bytes."""
        advance(self.turns, size)

    def drain_text(self, write):
        """Give the text so far to `write`, as a memoryview that is valid during the call only."""
        cdef Out* out = &self.lines.out
        if out.size:
            write(PyMemoryView_FromMemory(out.data, out.size, PyBUF_READ))
            out.size = 0

    def since(self, uint64_t earliest, uint64_t latest):
        """Reset the earliest and the latest packet time (ns; 0: none)."""
        self.earliest, self.latest = earliest, latest

    def run(self, PacketReader reader not None, const uint8_t[::1] data not None, limit):
        """Read packets up to one later than `limit` (nanoseconds). (bytes read, what stopped it: "end", "limit", "damage")."""
        cdef Packet packet
        cdef size_t at = 0, used = 0, n = data.shape[0]
        cdef const uint8_t* p = &data[0] if n else NULL
        cdef uint64_t last = limit
        cdef int found
        while at < n:
            found = reader.take(p + at, n - at, &used, &packet)
            if found == FOUND_PACKET:
                if packet.ts > last:
                    self.next_ns = packet.ts
                    return at, "limit"
                self.packet(&packet)
            elif found == FOUND_END:
                break
            elif found == FOUND_DAMAGE:
                return at, "damage"
            at += used
        return at, "end"

    def push(self, const uint8_t[::1] data not None, uint64_t ns, int link, uint32_t length):
        """One packet that somebody else has read: `length` is that on the wire, `link` a LINKTYPE_ number."""
        cdef Packet packet
        packet.ts, packet.link, packet.length = ns, link, length
        packet.captured = data.shape[0]
        packet.data = &data[0] if packet.captured else NULL
        self.packet(&packet)

    def finish(self):
        """The capture's end: whatever waits is resolved, whatever is unanswered said."""
        self.close_all()

    @property
    def last_ns(self):
        """The latest time of a packet."""
        return self.clock

    cdef int packet(self, Packet* packet) except -1:
        cdef Segment s
        cdef int kind = dissect(packet, &s)
        if packet.ts < self.earliest or not self.earliest:
            self.earliest = packet.ts
        self.latest = max(self.latest, packet.ts)
        if kind == KC_TCP and (self.choosy or self.shares) and not self.is_chosen(hash_ends(&s.ends)):
            return 0
        self.packets += 1
        self.wire_bytes += packet.length
        if self.first_ns is None:
            self.first_ns = packet.ts
        if kind == KC_TCP:
            self.segment(&s)
            if self.held > self.memory:
                self.relieve()
            return 0
        self.others += kind == KC_NOT_TCP
        self.cuts += kind == KC_CUT
        self.fragments += kind == KC_FRAGMENT
        self.unknown_links += kind == KC_LINK_UNKNOWN
        return 0

    cdef int relieve(self) except -1:
        """Give up what the connections hold that hold most; where that is not enough, those that were silent longest."""
        cdef uint64_t enough = self.memory - self.memory // 4
        cdef Flow* flow = self.first
        cdef size_t at
        live = []
        while flow != NULL:
            if not flow.done:
                live.append((-<int64_t>self.weight(flow), len(live), <size_t>flow, flow.last))
            flow = flow.newer
        for weight, _, at, _ in sorted(live):
            if self.held <= enough or not weight:
                break
            self.give_up(<Flow*>at)
        if self.held <= enough:
            return 0
        self.relieving = True
        try:
            for _, _, at, _ in sorted(live, key=silence):
                if self.held <= enough:
                    break
                flow = <Flow*>at
                self.end(flow, flow.last)
        finally:
            self.relieving = False
        return self.forget_done()

    cdef size_t weight(self, Flow* flow) noexcept:
        cdef ConnectionState* state = <ConnectionState*>flow.state
        return flow.side[0].held_bytes + flow.side[1].held_bytes + (state.weight if state != NULL else 0)

    cdef int give_up(self, Flow* flow) except -1:
        cdef ConnectionState* state
        Correlator.give_up(self, flow)
        state = <ConnectionState*>flow.state
        if state == NULL or state.ignored or state.foreign:
            return 0
        if state.steady and state.weight:
            hand_over(self, flow, state, 0, 0)
        if not state.steady:
            (<object>state.connection).give_up()
            state.foreign = (<object>state.connection).foreign is not None
        return self.weigh(state)

    cdef bint is_chosen(self, uint64_t hash) noexcept:
        if self.choosy and (hash == self.chosen_hash) != self.chosen_alone:
            return False
        return not self.shares or <int>((hash >> 40) % <uint64_t>self.shares) == self.share

    @property
    def in_step(self):
        """Whether one connection is under way and nothing of it is missing: frames, answers and packets follow each other."""
        cdef Flow* flow = self.first
        cdef Flow* found = NULL
        while flow != NULL:
            if not flow.done:
                if found != NULL:
                    return False
                found = flow
            flow = flow.newer
        return found != NULL and self.follows(found)

    cdef bint follows(self, Flow* flow):
        cdef ConnectionState* state = <ConnectionState*>flow.state
        cdef Side* side
        cdef int d
        if state == NULL or not state.steady or state.sealed or not state.greeted or flow.waiting or flow.reset or self.blocked(flow):
            return False
        for d in range(2):
            side = &flow.side[d]
            if not (side.seen and side.known and side.answered) or side.closed or side.below:
                return False
        return True

def silence(each):
    """What live connections are sorted by, those first that were silent longest."""
    return each[3], each[1]


include "engine_state.pxi"
