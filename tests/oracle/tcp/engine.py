"""From packets to exchanges: the oracle of kcli.core.capture.engine, slower, the same output."""

import socket
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from kcli.capture.kafka.connection import CapturedConnection
from kcli.capture.kafka.events import WHY_GIVEN_UP, Kind
from kcli.capture.tls.layer import TlsLayer
from tests.oracle.tcp.dissection import dissect
from tests.oracle.tcp.flows import End, Flow
from tests.oracle.tcp.out_of_order import FlowSegment
from tests.oracle.tcp.packet_outcomes import NoSegment, TcpSegment
from tests.oracle.tcp.packets import DamagedError, Packet, ReferenceReader, ShortError
from tests.oracle.tcp.reassembly import CUT, GAP, GIVEN_UP
from tests.oracle.tcp.streams import Streams

LOSSES: dict[str, tuple[Kind, str]] = {
    GAP: ("gap", "not in the capture"),
    CUT: ("truncated", "cut off by the snapshot length"),
    GIVEN_UP: ("gap", WHY_GIVEN_UP),
}
JUMP: tuple[Kind, str] = ("gap", "sequence numbers jump: how much is missing can't be told")


class Owner(Protocol):
    """Makes the readers of connections, which hand it what they find."""

    def connect(
        self, ends: tuple[str, str], client: int | None, started: tuple[bool, bool]
    ) -> CapturedConnection | TlsLayer:
        """See `Handover.connect`."""


class ReferenceEngine:
    """Packets in; exchanges and events out, as lines of JSON or to the connections' `emit`.

    packets, wire_bytes: all; others, cuts, fragments, unknown_links: packets without a TCP segment, by why
    ignored: payload bytes of other ports; connections: how many; mid_stream: those that began before it
    unread: packets without a segment, by `NoSegment.unread`; first_ns: time of the first packet, None before it
    next_ns: time of the packet that `run` stopped before
    """

    exchanges = answered = message_bytes = 0  # all are counted by the owner

    def __init__(
        self,
        owner: Owner,
        ports: Sequence[int] = (),
        memory: int = 1 << 28,
        connection_end: Callable[[str, int, int], None] | None = None,
    ) -> None:
        """memory: bytes that connections may hold. connection_end(link, round trip (ns, -1: not known), segments that
        were sent again): where somebody wants to know."""
        self.streams = Streams(self)
        self.talks_size = 0  # bytes of memory that the readers of connections hold
        self.memory = memory
        self.owner, self.connection_end = owner, connection_end
        self.ports = frozenset(ports)
        self.lines: list[bytes] = []
        self.packets = self.wire_bytes = self.others = self.cuts = self.fragments = self.unknown_links = 0
        self.ignored = self.connections = self.mid_stream = 0
        self.nameless: dict[str, int] = {}  # a filter judges values here
        self.unread: dict[int, int] = {}
        self.first_ns: int | None = None
        self.next_ns = 0

    # What the compiled engine has as attributes of its own

    @property
    def last_ns(self) -> int:
        """The capture's clock: ns since 1970."""
        return self.streams.clock

    @property
    def segments(self) -> int:
        """How many TCP segments were read."""
        return self.streams.segments

    @property
    def payload(self) -> int:
        """Bytes of payload in them."""
        return self.streams.payload

    @property
    def duplicate(self) -> int:
        """Bytes of payload that came again."""
        return self.streams.bytes.duplicate

    @property
    def stray(self) -> int:
        """Bytes of payload that belong to no open connection."""
        return self.streams.bytes.stray

    @property
    def held(self) -> int:
        """Bytes of memory that connections hold."""
        return self.streams.held + self.talks_size

    def counts(self) -> dict[int, int]:
        """Exchanges by API key that only the engine counted: none."""
        return {}

    def write(self, line: bytes) -> None:
        """Keep a line of the owner's until `drain_text`."""
        self.lines.append(line)

    def drain_text(self, write: Callable[[memoryview], Any]) -> None:
        """Write the lines that were kept."""
        if self.lines:
            write(memoryview(b"".join(self.lines)))
            self.lines.clear()

    # Packets

    def run(self, reader: ReferenceReader, data: memoryview, limit: int) -> tuple[int, str]:
        """Read packets up to a time (ns): bytes used, and why it stopped: "end", "limit" or "damage"."""
        at = 0
        try:
            while at < len(data):
                used, packet = reader.take(data[at:])
                if packet is not None:
                    if packet.ns > limit:
                        self.next_ns = packet.ns
                        return at, "limit"
                    self.packet(packet)
                at += used
        except ShortError:
            return at, "end"
        except DamagedError:
            return at, "damage"
        return at, "end"

    def push(self, data: bytes, ns: int, link: int, length: int) -> None:
        """Take in one packet: its captured bytes, time (ns), LINKTYPE_ and length on the wire."""
        self.packet(Packet(ns, data, length, link))

    def finish(self) -> None:
        """There are no more packets."""
        self.streams.close_all()

    def packet(self, packet: Packet) -> None:
        """Take in one packet."""
        self.packets += 1
        self.wire_bytes += packet.length
        if self.first_ns is None:
            self.first_ns = packet.ns
        found = dissect(packet.link, packet.data, packet.length)
        if isinstance(found, NoSegment):
            self.unread[found.unread] = self.unread.get(found.unread, 0) + 1
            self.others += found == "other"
            self.cuts += found == "cut"
            self.fragments += found == "fragment"
            self.unknown_links += found == "link"
        else:
            self.segment(packet, found)

    def segment(self, packet: Packet, found: TcpSegment) -> None:
        """Take in a packet's TCP segment."""
        ends = [(found.version, *end) for end in found.ends]
        first, second = sorted(ends, key=lambda end: (end[1], end[2]))
        sender = 0 if ends[0] == first else 1
        segment = FlowSegment(packet.ns, sender, found.seq, found.ack, found.flags, found.data, found.length)
        self.streams.feed((first, second), segment)
        if self.held > self.memory:
            self.relieve()

    # Memory

    def relieve(self) -> None:
        """Give up what the heaviest connections hold; where that is not enough, close the longest silent."""
        enough = self.memory - self.memory // 4
        live = [(-self.weight(flow), number, flow) for number, flow in enumerate(self.streams.alive())]
        for weight, _, flow in sorted(live, key=lambda each: each[:2]):
            if self.held <= enough or not weight:
                break
            self.give_up(flow)
        self.streams.bytes.relieving = True
        for _, _, flow in sorted(live, key=lambda each: (each[2].last, each[1])):
            if self.held <= enough:
                break
            self.streams.end(flow, flow.last)
        self.streams.bytes.relieving = False
        self.streams.forget_done()

    def weight(self, flow: Flow) -> int:
        """Bytes of memory counted for what a connection holds."""
        return sum(side.held.size for side in flow.sides) + flow.weight

    def weigh(self, flow: Flow) -> None:
        """Count anew what a connection's reader holds."""
        weight = flow.talk.weight if is_read(flow) else 0
        self.talks_size += weight - flow.weight
        flow.weight = weight

    def give_up(self, flow: Flow) -> None:
        """Give up what a connection holds: segments, parts of frames and requests that wait."""
        self.streams.give_up(flow)
        if is_read(flow) and flow.talk.foreign is None:
            flow.talk.give_up()
        self.weigh(flow)

    # Connections: what `Streams` hands up

    def introduce(self, flow: Flow) -> None:
        """Have the owner make a reader for a connection that sends its first bytes."""
        client = flow.client
        if self.ports:
            pinned = [d for d in range(2) if flow.ends[d][2] in self.ports]
            if not pinned:
                flow.talk = IGNORED
                return
            if len(pinned) == 1:
                client = 1 - pinned[0]
        self.connections += 1
        ends = end_text(flow.ends[0]), end_text(flow.ends[1])
        flow.talk = self.owner.connect(ends, client, (flow.sides[0].syn, flow.sides[1].syn))

    def deliver(self, flow: Flow, d: int, ns: int, data: bytes) -> None:
        """See `StreamHandler`."""
        if flow.talk is None:
            self.introduce(flow)
        if flow.talk is IGNORED:
            self.ignored += len(data)
        else:
            flow.talk.data(d, ns, data)
            if isinstance(flow.talk, TlsLayer):
                flow.talk = flow.talk.reader
            self.weigh(flow)

    def lost(self, flow: Flow, d: int, ns: int, count: int, why: str) -> None:
        """See `StreamHandler`."""
        if flow.talk is None:
            self.introduce(flow)
        if flow.talk is not IGNORED:
            kind, reason = LOSSES.get(why, JUMP)
            flow.talk.lost(d, ns, count, kind, reason)
            self.weigh(flow)

    def ended(self, flow: Flow, ns: int) -> None:
        """See `StreamHandler`."""
        if flow.talk is None or flow.talk is IGNORED:
            return
        self.mid_stream += not all(side.syn for side in flow.sides)
        closed = any(side.closed for side in flow.sides)
        why = "the connection was reset" if flow.reset else "the connection ends" if closed else "the capture ends"
        flow.talk.close(ns, WHY_GIVEN_UP if self.streams.bytes.relieving else why)
        if self.connection_end is not None:
            trip = -1 if flow.round_trip is None else flow.round_trip
            again = sum(side.retransmitted for side in flow.sides)
            self.connection_end(str(flow.talk.link), trip, again)
        flow.talk = IGNORED
        self.weigh(flow)


IGNORED = object()


def is_read(flow: Flow) -> bool:
    """Whether a connection has a reader."""
    return flow.talk is not None and flow.talk is not IGNORED


def end_text(end: End) -> str:
    """ "address:port", an IPv6 address in brackets."""
    version, address, port = end
    if version == 4:
        return f"{socket.inet_ntop(socket.AF_INET, address)}:{port}"
    return f"[{socket.inet_ntop(socket.AF_INET6, address)}]:{port}"
