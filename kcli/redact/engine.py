"""Captures through the interpreted engine into a draft: each packet with its connection, and the bytes that it has.

A connection that was decrypted is written as packets made here, in the clear; of its own packets only TCP's
handshake stays.
"""

from __future__ import annotations

from collections.abc import Sequence

from kcli.capture.connection import CapturedConnection
from kcli.capture.engine import IGNORED, Owner, ReferenceEngine
from kcli.capture.flows import End, Flow
from kcli.capture.held import FlowSegment
from kcli.capture.packets import Packet
from kcli.capture.reassembly import Reassembly, ahead
from kcli.capture.tcp import Streams
from kcli.capture.tls.layer import ENOUGH, TlsLayer
from kcli.grammar import network
from kcli.redact.draft import CAPTURED, MADE, OPENING, Draft, DraftPacket, Extents
from kcli.redact.headers import blank_packet, clean_segment
from kcli.redact.pseudonyms import Pseudonyms

__all__ = ["RedactingEngine", "Track"]

FEW = 64  # connections that are over and need not be forgotten at once
PUSH = 8  # a flag of TCP's
AGAIN = 2  # bytes of a segment that repeats some: one alone keeps a connection alive
LARGEST = 60_000  # bytes of payload in a packet that is made here


class Track:
    """A connection on its way into the draft. Lists are by end, 0 or 1.

    number: its own; decrypted: what it carries is written as packets made here; last: its latest packet, blank
    passed: bytes that its ends have sent, with those that are missing; shift: a byte's place in `extents` minus that
    """

    def __init__(self, number: int, flow: Flow, draft: Draft) -> None:
        self.number, self.flow, self.draft = number, flow, draft
        self.decrypted = False
        self.connection: CapturedConnection | None = None  # what reads it
        self.extents = (Extents(draft), Extents(draft))
        self.near = [0, 0]  # the latest place, which says how often sequence numbers have wrapped
        self.passed, self.shift = [0, 0], [0, 0]
        self.samples: list[DraftPacket | None] = [None, None]  # a packet of each end
        self.made = (Extents(draft), Extents(draft))  # of packets made here, by bytes of the decrypted stream
        self.sent = [0, 0]  # bytes of the decrypted stream
        self.closed = [False, False]  # ... that has a last packet
        self.repeated = [0, 0]  # segments that repeat bytes of it

    def forget(self) -> None:
        """Let go of what is only needed while bytes come; late packets of it stay blank."""
        self.extents = self.made = (Extents(self.draft), Extents(self.draft))

    def place(self, d: int, seq: int) -> int:
        """A sequence number as a place that does not wrap."""
        return self.near[d] + ahead(seq, self.near[d] & 0xFFFFFFFF)

    def write(self, d: int, offset: int, data: bytes) -> None:
        """Fill in redacted bytes of end `d`, from `offset` in its stream on."""
        if self.decrypted:
            self.made[d].fill(offset, data)
        else:
            self.extents[d].fill(offset + self.shift[d], data)

    def came(self, d: int, ns: int, size: int) -> None:
        """Bytes of end `d` are about to be read: of a decrypted stream they need packets."""
        if not self.decrypted:
            return
        while size:
            part = min(size, LARGEST)
            place = self.add_made(d, ns, network.ACK | PUSH, part)
            self.made[d].add(self.sent[d], part, place)
            self.sent[d] += part
            size -= part
        self.made[d].settled = max(0, self.sent[d] - (1 << 20))

    def add_repeated(self, ns: int) -> None:
        """As many segments repeat bytes of what is decrypted as do of what carries it."""
        for d, side in enumerate(self.flow.sides):
            while self.repeated[d] < side.retransmitted and self.sent[d] >= AGAIN:
                place = self.add_made(d, ns, network.ACK | PUSH, AGAIN, AGAIN)
                self.made[d].add(self.sent[d] - AGAIN, AGAIN, place)
                self.repeated[d] += 1

    def add_ends(self, ns: int, reset_by: int | None = None) -> None:
        """What is decrypted ends where an end has closed it, or is broken off by one."""
        for d, side in enumerate(self.flow.sides):
            if side.closed and not self.closed[d] and reset_by is None:
                self.add_made(d, ns, network.FIN | network.ACK, 0)
            self.closed[d] = side.closed
        if reset_by is not None:
            self.add_made(reset_by, ns, network.RST, 0)

    def add_made(self, d: int, ns: int, flags: int, size: int, back: int = 0) -> int:
        """Append a packet of end `d` made here; where its payload is. back: bytes of it that came before."""
        sample = self.samples[d] or self.samples[1 - d]
        assert sample is not None
        seq, ack = (self.flow.sides[end].first + self.sent[end] for end in (d, 1 - d))
        data = clean_segment(sample.data, sample.places, seq - back, ack, flags, size)
        places = (*sample.places[:2], sample.places[1] + 20)
        return self.draft.add(DraftPacket(ns, sample.link, self.number, len(data), places, MADE, data)) + places[2]


class RedactingEngine(ReferenceEngine):
    """Packets into a draft, their payload blank until the readers of connections give what stands for it."""

    def __init__(
        self, owner: Owner, ports: Sequence[int], memory: int, draft: Draft, names: Pseudonyms, keep: bool
    ) -> None:
        """names: for the addresses of packets; keep: addresses stay."""
        super().__init__(owner, ports, memory=memory)
        self.draft, self.names, self.keep = draft, names, keep
        self.streams = WatchedStreams(self)
        self.tracks: dict[int, Track] = {}  # by id of the flow, which they hold
        self.current: Track | None = None  # the connection whose reader is being made
        self.packet_here: DraftPacket | None = None
        self.left_out: set[int] = set()  # numbers of connections that are not to be written
        self.made_clear: set[int] = set()  # ... that were decrypted
        self.number = self.tls_left_out = self.others_left_out = 0

    def segment(self, packet: Packet, found: network.TcpSegment) -> None:
        """See ReferenceEngine."""
        data = blank_packet(packet.link, packet.data, found, self.names, self.keep)
        self.packet_here = DraftPacket(packet.ns, packet.link, 0, packet.length, found.places, CAPTURED, data)
        super().segment(packet, found)

    def watch(self, flow: Flow) -> Track:
        """What is known of a connection for the draft."""
        track = self.tracks.get(id(flow))
        if track is None:
            if len(self.tracks) > 2 * len(self.streams.flows) + FEW:
                self.tracks = {key: each for key, each in self.tracks.items() if key in self.streams.flows}
            self.number += 1
            track = self.tracks[id(flow)] = Track(self.number, flow, self.draft)
        return track

    def belongs(self, flow: Flow, s: FlowSegment) -> None:
        """A packet belongs to a connection: it goes into the draft, before its bytes are read."""
        assert self.packet_here is not None
        track = self.watch(flow)
        kind = OPENING if opens(flow, s) else CAPTURED
        packet, self.packet_here = self.packet_here._replace(flow=track.number, kind=kind), None
        track.samples[s.sender] = packet
        place = self.draft.add(packet) + packet.places[2]
        if s.data:
            track.extents[s.sender].add(track.place(s.sender, s.seq), len(s.data), place)

    def goes_on(self, flow: Flow, d: int) -> None:
        """The next bytes that are passed on are those behind the ones before."""
        track, seq = self.watch(flow), flow.sides[d].next
        track.near[d] = track.place(d, seq)
        track.shift[d] = track.near[d] - track.passed[d]

    def introduce(self, flow: Flow) -> None:
        """See ReferenceEngine."""
        self.current = self.watch(flow)
        super().introduce(flow)

    def deliver(self, flow: Flow, d: int, ns: int, data: bytes) -> None:
        """See StreamHandler."""
        track = self.watch(flow)
        super().deliver(flow, d, ns, data)
        track.passed[d] += len(data)
        self.settle(track, d)

    def settle(self, track: Track, d: int) -> None:
        """What the reader has passed needs no more room."""
        connection = track.connection
        plain = connection is not None and connection.foreign is None and not track.decrypted
        read = connection.streams[d].offset if connection is not None and plain else track.passed[d]
        track.extents[d].settled = read + track.shift[d]

    def lost(self, flow: Flow, d: int, ns: int, count: int, why: str) -> None:
        """See StreamHandler."""
        track = self.watch(flow)
        super().lost(flow, d, ns, count, why)
        track.passed[d] += count

    def ended(self, flow: Flow, ns: int) -> None:
        """See StreamHandler."""
        track, talk = self.watch(flow), flow.talk
        if isinstance(talk, TlsLayer) and talk.refused is not None:
            track.write(talk.refused, 0, bytes(talk.refusal[:ENOUGH]))
        super().ended(flow, ns)
        if talk is not None and (
            talk is IGNORED or talk.foreign is not None or (track.decrypted and not any(track.sent))
        ):
            self.left_out.add(track.number)
            self.tls_left_out += track.decrypted
            self.others_left_out += not track.decrypted
        elif track.decrypted:
            self.made_clear.add(track.number)
            track.add_ends(ns)
        track.forget()


def opens(flow: Flow, s: FlowSegment) -> bool:
    """Whether a packet is one of TCP's handshake: a SYN, or what acknowledges the other end's and has no bytes."""
    if s.flags & network.SYN:
        return True
    side, other = flow.sides[s.sender], flow.sides[1 - s.sender]
    is_first = side.syn and other.syn and (s.seq, s.ack) == (side.first, other.first)
    return is_first and not s.length and s.flags & ~PUSH == network.ACK


class WatchedStreams(Streams):
    """As Streams; the handler is shown late packets of connections that are over, too."""

    def __init__(self, handler: RedactingEngine) -> None:
        super().__init__(handler)
        self.engine = handler
        self.bytes = WatchedReassembly(handler)

    def feed(self, ends: tuple[End, End], s: FlowSegment) -> None:
        """See Streams."""
        super().feed(ends, s)
        flow = self.table.get(ends)
        if flow is not None and self.engine.packet_here is not None:
            self.engine.belongs(flow, s._replace(data=b""))


class WatchedReassembly(Reassembly):
    """As Reassembly; the handler is shown which packet belongs to which connection, and where its bytes stand."""

    def __init__(self, handler: RedactingEngine) -> None:
        super().__init__(handler)
        self.engine = handler

    def take(self, flow: Flow, s: FlowSegment) -> bool:
        """See Reassembly."""
        self.engine.belongs(flow, s)
        held = super().take(flow, s)
        track = self.engine.watch(flow)
        if track.decrypted:
            track.add_repeated(s.ns)
            track.add_ends(s.ns, s.sender if s.flags & network.RST else None)
        return held

    def pass_on(self, flow: Flow, s: FlowSegment) -> None:
        """See Reassembly."""
        self.engine.goes_on(flow, s.sender)
        super().pass_on(flow, s)
