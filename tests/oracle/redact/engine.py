"""Captures through the interpreted engine into a draft: each packet with its connection, and the bytes that it has.

The twin of core.capture.engine.DraftHandler. A connection that was decrypted is written as packets made here, in the
clear; of its own packets only TCP's handshake stays.
"""

from __future__ import annotations

from typing import Protocol

from kcli.grammar.files import network
from kcli.redact.draft_packets import DraftPacket
from kcli.redact.pseudonyms import Pseudonyms
from kcli.redact.track import PUSH, ConnectionDraft
from tests.oracle.redact.draft import CAPTURED, OPENING, Draft
from tests.oracle.redact.headers import blank_packet
from tests.oracle.redact.places import Places
from tests.oracle.tcp.engine import IGNORED, ReferenceEngine
from tests.oracle.tcp.flows import End, Flow
from tests.oracle.tcp.out_of_order import FlowSegment
from tests.oracle.tcp.packet_outcomes import TcpSegment
from tests.oracle.tcp.packets import Packet
from tests.oracle.tcp.reassembly import Reassembly
from tests.oracle.tcp.streams import Streams

FEW = 64  # connections that are over and need not be forgotten at once


class DraftOwner(Protocol):
    """Is told of the ends of connections."""

    def connection_over(self, places: ConnectionDraft, ns: int, ignored: bool) -> None:
        """A connection is over. ignored: its port was none of those asked for."""


class ReferenceDraftEngine(ReferenceEngine):
    """Packets into a draft, their payload blank until the readers of connections give what stands for it.

    current: the connection whose bytes are read.
    """

    def draft(self, owner: DraftOwner, draft: Draft, names: Pseudonyms, keep: bool) -> None:
        """See CaptureEngine.draft. names: for the addresses of packets; keep: addresses stay."""
        self.draft_owner = owner
        self.file, self.names, self.keep = draft, names, keep
        self.streams = WatchedStreams(self)
        self.known: dict[int, Places] = {}  # by id of the flow, which they hold
        self.current: Places | None = None
        self.packet_here: DraftPacket | None = None
        self.owner_of_packet: Places | None = None
        self.number = 0

    @property
    def drafting(self) -> ReferenceDraftEngine:
        """What knows the current connection: itself."""
        return self

    def segment(self, packet: Packet, found: TcpSegment) -> None:
        """See ReferenceEngine."""
        data = blank_packet(packet.link, packet.data, found, self.names, self.keep)
        self.packet_here = DraftPacket(packet.ns, packet.link, 0, packet.length, found.places, CAPTURED, data)
        super().segment(packet, found)

    def places(self, flow: Flow) -> Places:
        """What is known of a connection for the draft."""
        places = self.known.get(id(flow))
        if places is None:
            if len(self.known) > 2 * len(self.streams.flows) + FEW:
                self.known = {key: each for key, each in self.known.items() if key in self.streams.flows}
            self.number += 1
            places = self.known[id(flow)] = Places(self.number, flow, self.file)
        return places

    def belongs(self, flow: Flow, s: FlowSegment) -> None:
        """A packet belongs to a connection: it goes into the draft, before its bytes are read."""
        assert self.packet_here is not None
        places = self.owner_of_packet = self.places(flow)
        kind = OPENING if opens(flow, s) else CAPTURED
        packet, self.packet_here = self.packet_here._replace(flow=places.number, kind=kind), None
        places.add(packet, s)

    def introduce(self, flow: Flow) -> None:
        """See ReferenceEngine."""
        self.current = self.places(flow)
        super().introduce(flow)

    def deliver(self, flow: Flow, d: int, ns: int, data: bytes) -> None:
        """See StreamHandler."""
        places = self.places(flow)
        super().deliver(flow, d, ns, data)
        places.passed[d] += len(data)
        read = places.passed[d] if places.track is None else places.track.read_to(d, places.passed[d])
        places.extents[d].settled = read + places.shift[d]

    def lost(self, flow: Flow, d: int, ns: int, count: int, why: str) -> None:
        """See StreamHandler."""
        places = self.places(flow)
        super().lost(flow, d, ns, count, why)
        places.passed[d] += count

    def ended(self, flow: Flow, ns: int) -> None:
        """See StreamHandler."""
        places, ignored = self.places(flow), flow.talk is IGNORED
        super().ended(flow, ns)
        if ignored or places.track is not None:
            self.draft_owner.connection_over(places, ns, ignored)
        places.forget()


def opens(flow: Flow, s: FlowSegment) -> bool:
    """Whether a packet is one of TCP's handshake: a SYN, or what acknowledges the other end's and has no bytes."""
    if s.flags & network.SYN:
        return True
    side, other = flow.sides[s.sender], flow.sides[1 - s.sender]
    is_first = side.syn and other.syn and (s.seq, s.ack) == (side.first, other.first)
    return is_first and not s.length and s.flags & ~PUSH == network.ACK


class WatchedStreams(Streams):
    """As Streams; the handler is shown late packets of connections that are over, too."""

    def __init__(self, handler: ReferenceDraftEngine) -> None:
        super().__init__(handler)
        self.engine = handler
        self.bytes = WatchedReassembly(handler)

    def feed(self, ends: tuple[End, End], s: FlowSegment) -> None:
        """See Streams."""
        super().feed(ends, s)
        flow = self.table.get(ends)
        if flow is not None and self.engine.packet_here is not None:
            self.engine.belongs(flow, s._replace(data=b""))
        places = self.engine.owner_of_packet
        if places is not None and places.track is not None:
            places.track.follow(s.ns, s.sender if s.flags & network.RST else None)


class WatchedReassembly(Reassembly):
    """As Reassembly; the handler is shown which packet belongs to which connection, and where its bytes stand."""

    def __init__(self, handler: ReferenceDraftEngine) -> None:
        super().__init__(handler)
        self.engine = handler

    def take(self, flow: Flow, s: FlowSegment) -> bool:
        """See Reassembly."""
        self.engine.belongs(flow, s)
        return super().take(flow, s)

    def pass_on(self, flow: Flow, s: FlowSegment) -> None:
        """See Reassembly."""
        self.engine.places(flow).go_on(s.sender)
        super().pass_on(flow, s)
