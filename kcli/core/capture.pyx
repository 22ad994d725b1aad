"""From packets to exchanges at C speed.

kcli/capture/connection.py has the rules of a connection, and handles whatever is odd about one. Here is the steady state:
frames that follow each other, each answer with the first request that waits; no Python object is made for them.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport uint8_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free

from kcli.core.packets cimport (
    FOUND_DAMAGE, FOUND_END, FOUND_PACKET, KC_CUT, KC_FRAGMENT, KC_LINK_UNKNOWN, KC_NOT_TCP, KC_TCP, Ends, Packet, Reader,
    Segment, dissect,
)
from kcli.core.tcp cimport LOSS_CUT, LOSS_GAP, Flow, Loss, Streams

import socket

LOSSES = {LOSS_GAP: ("gap", "not in the capture"), LOSS_CUT: ("truncated", "cut off by the snapshot length")}
JUMP = ("gap", "sequence numbers jump: how much is missing can't be told")


cdef struct Talk:
    PyObject* connection      # a kcli.capture.connection.Connection
    bint ignored              # not on a port that was asked for
    bint foreign              # not Kafka
    uint64_t passed[2]        # bytes of a foreign connection


cdef class Engine(Streams):
    """Packets in, exchanges and events out, through the connection's `emit`."""

    cdef object connect
    cdef frozenset ports
    cdef readonly uint64_t packets, bytes, others, cuts, fragments, unknown_links, ignored, connections
    cdef readonly object first_ns, next_ns

    def __init__(self, connect, ports=()):
        """connect: (ends, client, started) -> Connection."""
        self.connect = connect
        self.ports = frozenset(ports)

    def __dealloc__(self):
        cdef Flow* flow = self.first
        while flow != NULL:
            self.forget(flow)
            flow = flow.newer

    def run(self, Reader reader not None, const uint8_t[::1] data not None, limit):
        """Read packets up to one later than `limit` (nanoseconds). (bytes read, what stopped it: "end", "limit" or "damage")."""
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

    def finish(self):
        """The capture's end: whatever waits is resolved, whatever is unanswered said."""
        self.close_all()

    cdef int packet(self, Packet* packet) except -1:
        cdef Segment s
        cdef int kind = dissect(packet, &s)
        self.packets += 1
        self.bytes += packet.length
        if self.first_ns is None:
            self.first_ns = packet.ts
        if kind == KC_TCP:
            return self.segment(&s)
        self.others += kind == KC_NOT_TCP
        self.cuts += kind == KC_CUT
        self.fragments += kind == KC_FRAGMENT
        self.unknown_links += kind == KC_LINK_UNKNOWN
        return 0

    # Connections

    cdef Talk* talk(self, Flow* flow) except NULL:
        cdef Talk* talk = <Talk*>flow.talk
        if talk == NULL:
            talk = <Talk*>calloc(1, sizeof(Talk))
            if talk == NULL:
                raise MemoryError
            flow.talk = talk
            self.introduce(flow, talk)
        return talk

    cdef int introduce(self, Flow* flow, Talk* talk) except -1:
        cdef object client = None if flow.client < 0 else flow.client
        if self.ports:
            pinned = [d for d in range(2) if flow.ends.port[d] in self.ports]
            if not pinned:
                talk.ignored = True
                return 0
            if len(pinned) == 1:
                client = 1 - pinned[0]
        self.connections += 1
        ends = (end_text(&flow.ends, 0), end_text(&flow.ends, 1))
        connection = self.connect(ends, client, (flow.side[0].syn, flow.side[1].syn))
        Py_INCREF(connection)
        talk.connection = <PyObject*>connection
        return 0

    cdef int deliver(self, Flow* flow, int d, uint64_t ts, const uint8_t* data, size_t n) except -1:
        cdef Talk* talk = self.talk(flow)
        if talk.ignored:
            self.ignored += n
        elif talk.foreign:
            talk.passed[d] += n
        else:
            connection = <object>talk.connection
            connection.data(d, ts, PyBytes_FromStringAndSize(<const char*>data, n))
            talk.foreign = connection.foreign is not None
        return 0

    cdef int lost(self, Flow* flow, int d, uint64_t ts, uint64_t n, Loss why) except -1:
        cdef Talk* talk = self.talk(flow)
        if not talk.ignored and not talk.foreign:
            kind, reason = LOSSES.get(why, JUMP)
            (<object>talk.connection).lost(d, ts, n, kind, reason)
        return 0

    cdef int ended(self, Flow* flow, uint64_t ts, bint reset) except -1:
        cdef Talk* talk = <Talk*>flow.talk
        if talk != NULL and talk.connection != NULL:
            why = "the connection was reset" if reset else "the connection ends" if flow.side[0].closed or flow.side[1].closed else "the capture ends"
            (<object>talk.connection).close(ts, why, (talk.passed[0], talk.passed[1]))
            Py_DECREF(<object>talk.connection)
            talk.connection = NULL
        return 0

    cdef int forget(self, Flow* flow) except -1:
        cdef Talk* talk = <Talk*>flow.talk
        if talk != NULL:
            if talk.connection != NULL:
                Py_DECREF(<object>talk.connection)
            free(talk)
            flow.talk = NULL
        return 0


cdef str end_text(Ends* ends, int d):
    """"address:port", an IPv6 address in brackets."""
    cdef uint64_t high = ends.address[d][0], low = ends.address[d][1]
    if ends.version == 4:
        return f"{low >> 24 & 255}.{low >> 16 & 255}.{low >> 8 & 255}.{low & 255}:{ends.port[d]}"
    packed = high.to_bytes(8, "big") + low.to_bytes(8, "big")
    return f"[{socket.inet_ntop(socket.AF_INET6, packed)}]:{ends.port[d]}"
