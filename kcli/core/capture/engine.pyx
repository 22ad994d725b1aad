"""Reads exchanges from packets.

kcli/capture/kafka/connection.py has the rules of a connection, and reads any odd one. This is the steady state, in
which frames follow each other, and each response is for the oldest waiting request; exchanges as JSON text need no
Python object.
"""

cimport cython
from cpython.buffer cimport PyBUF_READ
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdio cimport sprintf
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memmove

from kcli.core.capture.exchange_json cimport PRODUCE, SASL_HANDSHAKE, ApiCodecs, ErrorCodes, ExchangeWriter
from kcli.core.capture.fragments cimport Fragments
from kcli.core.capture.line_order cimport LineOrder, note
from kcli.core.capture.packets cimport (
    FOUND_DAMAGE, FOUND_END, FOUND_PACKET, KC_ACK, KC_CUT, KC_END_ROOM, KC_FRAGMENT, KC_LINK_UNKNOWN, KC_NOT_TCP,
    KC_RST, KC_SYN, KC_TCP, Ends, Packet, PacketReader, Segment, be16, be32, dissect, hash_ends, put_end,
)
from kcli.core.capture.segment_dealer cimport DEALT, SegmentDealer, read_dealt
from kcli.core.capture.streams cimport (
    END_CLOSED, END_GIVEN_UP, END_OF_CAPTURE, END_RESET, LOSS_CUT, LOSS_GAP, LOSS_GIVEN_UP, Ending, Flow, Loss, Side,
    StreamHandler, Streams, dump_flows, restore_flows,
)
from kcli.core.capture.tcp_facts cimport TcpFacts
from kcli.core.capture.draft cimport Draft, DraftHead, Extents, extents_add, extents_fill, extents_free, put_blank
from kcli.core.codec.messages cimport Node, Out, out_free, out_put, out_reserve
from kcli.core.codec.request_header cimport *
from kcli.core.codec.sink cimport KEYS, VERSIONS, Exchange, Sink, link_of, values_of

include "line_filter.pxi"
include "sampling.pxi"
include "exchange_output.pxi"
include "connection_state.pxi"
cdef class DraftHandler(StreamHandler)

include "correlator.pxi"
include "handover.pxi"
include "tls_records.pxi"
include "drafting.pxi"

cdef enum:
    MOST_UNREAD = 64          # most kinds of packets without a segment that have a count of their own


@cython.final
cdef class CaptureEngine:
    """Reads exchanges and events from packets, as lines of JSON or through the handover's `exchanged` and its
    connections' `emit`.

    Its layers pass data on in this order: CaptureEngine (packets) -> Streams -> Reassembly -> Correlator ->
    ExchangeOutput. handover: a kcli.capture.handover.Handover, or an object with its `bodies`, `connect` and
    `exchanged`.
    """

    cdef readonly Streams streams
    cdef readonly LineOrder order     # None: no other process shares the work
    cdef SegmentDealer dealer
    cdef Correlator correlator
    cdef ExchangeOutput output
    cdef readonly DraftHandler drafting        # None: packets are not redacted
    cdef readonly TcpFacts facts               # None: no facts about TCP are counted
    cdef readonly Fragments joiner
    cdef readonly uint64_t packets, wire_bytes, others, cuts, unknown_links
    cdef readonly uint64_t fragments  # IP fragments, except those that completed a datagram
    cdef readonly dict unread         # the number of packets without a segment, by kind (packets.h)
    cdef readonly object first_ns, next_ns
    cdef readonly uint64_t earliest, latest    # times of packets since the last call of `since`; 0: none
    cdef uint64_t chosen_hash
    cdef bint choosy, chosen_alone
    cdef uint64_t sampled      # of 2^32 connections; 0: all

    def __cinit__(
        self, handover, ports=(), bint text=False, chosen=None, uint64_t memory=1 << 28, Sink sink=None,
        connection_end=None
    ):
        """Set up the engine of one capture.

        chosen: a kcli.capture.filters.Filter for the lines made here. memory: bytes that connections may hold. sink:
        receives exchanges before the handover. connection_end: called by `report_end`, or None.
        """
        self.output = ExchangeOutput(handover, text, chosen, sink)
        self.correlator = Correlator(handover, ports, self.output, connection_end)
        self.streams = Streams(self.correlator, memory)
        if sink is not None:
            sink.begin(self.streams)
        self.unread, self.joiner = {}, Fragments()

    def draft(self, owner, Draft draft not None, names, bint keep):
        """Write packets into a draft as well. Call it before the first packet. names: kcli.redact.pseudonyms.Pseudonyms
        for addresses; keep: leave addresses unchanged. owner: see DraftHandler.
        """
        self.drafting = DraftHandler(self.correlator, owner, draft, names, keep)
        self.output.sink = CountingSink()
        self.streams = Streams(self.drafting, self.streams.memory)

    def count_tcp(self, TcpFacts facts not None):
        """Count facts about TCP connections, too. Call it before the first packet."""
        self.facts = facts

    def choose(self, uint64_t ends, bint alone):
        """Read the packets of one connection (`alone`), or of all others, as if there were no more. ends: its hash, see
        `kcli.core.capture.packet_shuffle.hash_of`.
        """
        self.choosy, self.chosen_hash, self.chosen_alone = True, ends, alone

    def choose_sample(self, double fraction):
        """Read only about this fraction of the connections, always the same ones; a greater fraction includes those of
        a lesser one. Packets of other connections count, and their bytes are `ignored`.
        """
        self.sampled = sample_of(fraction)

    def share(self, int count, SegmentDealer dealer=None):
        """Share the capture among `count` processes, each of which may hold its part of the memory. dealer: in the
        process that reads the files; the others `receive_dealt`. Call it before the first packet; `order` then has the
        lines.
        """
        self.order, self.dealer = LineOrder(self.output.lines), dealer
        self.streams.order = self.order
        self.streams.memory //= count
        self.streams.most_done //= count

    def add_counts(self, uint64_t connections, uint64_t ignored, uint64_t duplicate, uint64_t stray):
        """Add the counts of another process for its share."""
        self.correlator.connections += connections
        self.correlator.ignored += ignored
        self.streams.reassembly.duplicate += duplicate
        self.streams.reassembly.stray += stray

    def write(self, bytes line not None):
        """Append a line that was made elsewhere to the lines here."""
        self.output.write(line)

    def drain_text(self, write):
        """Pass the text so far to `write`, as a memoryview that is valid only during the call."""
        self.output.drain(write)

    def since(self, uint64_t earliest, uint64_t latest):
        """Reset the earliest and the latest packet time (ns; 0: none)."""
        self.earliest, self.latest = earliest, latest

    def run(self, PacketReader reader not None, const uint8_t[::1] data not None, limit):
        """Read packets until one is later than `limit` (ns). Return (bytes read, reason to stop: "end", "limit",
        "damage").
        """
        cdef Packet packet
        cdef size_t at = 0, used = 0, n = data.shape[0]
        cdef const uint8_t* p = &data[0] if n else NULL
        cdef uint64_t last = limit
        cdef int found
        if self.order is not None:
            self.order.note_others()
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
        """Read one packet from elsewhere. ns: its time; link: a LINKTYPE_ number; length: bytes on the wire."""
        cdef Packet packet
        packet.ts, packet.link, packet.length, packet.interface = ns, link, length, 0
        packet.captured = data.shape[0]
        packet.data = &data[0] if packet.captured else NULL
        self.packet(&packet)

    def receive_dealt(self, const uint8_t[::1] data not None):
        """Read TCP segments that a SegmentDealer wrote. Raises ValueError if the data has anything else."""
        cdef Segment s
        cdef const uint8_t* p = &data[0] if data.shape[0] else NULL
        cdef const uint8_t* end = p + data.shape[0]
        while end - p >= <ssize_t>sizeof(uint64_t):
            if not (<const uint64_t*>p)[0] & DEALT:
                self.streams.pass_over((<const uint64_t*>p)[0])
                p += sizeof(uint64_t)
                continue
            p = read_dealt(p, end, &s)
            if p == NULL:
                break
            self.streams.receive(&s)
            note(self.order, self.streams.segments)
        if p != end:
            raise ValueError("no dealt segments")

    def finish(self):
        """Flush pending data and report unanswered requests, at the end of the capture."""
        if self.order is not None:
            self.order.note_others()
        self.streams.close_all()

    def dump(self):
        """Return the open connections for `restore`. The engine can go on, but slower.

        Each one is, in order: (ends, client, last, reset, waits, sides, state, handshake); see streams_state.pxi and
        `Correlator.dump`.
        """
        return dump_flows(self.streams)

    def restore(self, list dumped not None, uint64_t clock):
        """Restore the connections that another engine dumped. clock: that engine's, in ns."""
        restore_flows(self.streams, dumped, clock)

    def begin_at(self, uint64_t first_ns):
        """Set the clock back if the first packet comes before the end of the restored engine, as in a late capture of
        other connections.
        """
        self.streams.clock = min(self.streams.clock, first_ns - 1)

    cdef int packet(self, Packet* packet) except -1:
        cdef Segment s, whole
        cdef uint32_t length = packet.length
        cdef int kind = dissect(packet, &s)
        if kind == KC_FRAGMENT:
            kind = self.joiner.join(packet, &s)
        if packet.ts < self.earliest or not self.earliest:
            self.earliest = packet.ts
        self.latest = max(self.latest, packet.ts)
        if kind == KC_TCP and self.choosy and (hash_ends(&s.ends) == self.chosen_hash) != self.chosen_alone:
            return 0
        self.packets += 1
        self.wire_bytes += length
        if self.first_ns is None:
            self.first_ns = packet.ts
        if kind == KC_TCP:
            if self.sampled and not in_sample(hash_ends(&s.ends), self.sampled):
                return self.leave_out(&s)
            if self.drafting is not None:
                return self.drafting.receive_packet(self.streams, packet, &s)
            if self.dealer is not None:
                return self.deal(&s)
            if self.facts is None:
                return self.streams.receive(&s)
            whole = s              # the streams remove bytes that they have already
            self.streams.receive(&s)
            return self.facts.see(&whole, self.streams.twin_of(&whole))
        self.others += kind == KC_NOT_TCP
        self.cuts += kind == KC_CUT
        self.fragments += kind == KC_FRAGMENT
        self.unknown_links += kind == KC_LINK_UNKNOWN
        if s.unread:
            number = s.unread if s.unread in self.unread or len(self.unread) < MOST_UNREAD else s.unread & 0xFF000000
            self.unread[number] = self.unread.get(number, 0) + 1
        return 0

    cdef int deal(self, Segment* s) except -1:
        if self.dealer.deal(s) == 0:
            self.streams.receive(s)
            return note(self.order, self.streams.segments)
        self.streams.payload += s.captured
        self.streams.pass_over(s.ts)
        self.order.segment = self.streams.segments
        return 0

    cdef int leave_out(self, Segment* s) except -1:
        self.streams.payload += s.captured
        self.correlator.ignored += s.captured
        return self.streams.pass_over(s.ts)

    # Counts of the layers

    @property
    def unjoined(self):
        """The number of `fragments` whose datagram is incomplete, or is not yet complete while packets come."""
        return self.fragments - self.joiner.joined

    @property
    def last_ns(self):
        """The latest time of a packet; 0: none."""
        return self.streams.clock or self.latest

    @property
    def segments(self):
        """The number of TCP segments."""
        return self.streams.segments

    @property
    def payload(self):
        """Bytes of payload in TCP segments."""
        return self.streams.payload

    @property
    def duplicate(self):
        """Bytes of payload that were captured again."""
        return self.streams.reassembly.duplicate

    @property
    def stray(self):
        """Bytes of payload that belong to no open connection."""
        return self.streams.reassembly.stray

    @property
    def held(self):
        """Bytes of memory that connections hold."""
        return self.streams.held()

    @property
    def in_step(self):
        """True if one connection is open and nothing of it is missing: its frames, responses and packets follow each
        other.
        """
        return self.streams.in_step()

    @property
    def connections(self):
        """The number of connections on the chosen ports."""
        return self.correlator.connections

    @property
    def mid_stream(self):
        """The number of ended connections that began before the capture."""
        return self.correlator.mid_stream

    @property
    def ignored(self):
        """Bytes of payload of other ports."""
        return self.correlator.ignored

    @property
    def exchanges(self):
        """The number of exchanges that the handover did not get."""
        return self.output.exchanges

    @property
    def answered(self):
        """The number of those exchanges with a response."""
        return self.output.answered

    @property
    def message_bytes(self):
        """Bytes of the frames of those exchanges."""
        return self.output.message_bytes

    @property
    def kept(self):
        """The number of lines of exchanges that passed the filter."""
        return self.output.kept

    @property
    def nameless(self):
        """The number of lines left out by a topic filter that have only a topic id, by id."""
        return {} if self.output.chosen is None else self.output.chosen.nameless

    def counts(self):
        """Return the number of exchanges that the handover did not get, by API key."""
        return self.output.counts()
