"""From packets to exchanges where the core is not built: the twin of kcli.core.capture, slower, the same output."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from kcli.capture.connection import CapturedConnection
from kcli.capture.events import Kind
from kcli.capture.packets import DamagedError, Packet, ReferenceReader, ShortError
from kcli.capture.tcp import CUT, GAP, GIVEN_UP, End, Flow, FlowSegment, Streams
from kcli.grammar import network

__all__ = ["LOSSES", "ReferenceEngine"]

WHY_GIVEN_UP = "given up, as more is held than --memory allows"
LOSSES: dict[str, tuple[Kind, str]] = {
    GAP: ("gap", "not in the capture"),
    CUT: ("truncated", "cut off by the snapshot length"),
    GIVEN_UP: ("gap", WHY_GIVEN_UP),
}
JUMP: tuple[Kind, str] = ("gap", "sequence numbers jump: how much is missing can't be told")


class Owner(Protocol):
    """Makes connections, which tell it what they find."""

    def connect(self, ends: tuple[str, str], client: int | None, started: tuple[bool, bool]) -> CapturedConnection: ...


class ReferenceEngine(Streams):
    """Packets in; exchanges and events out, as lines of JSON or to the connections' `emit`."""

    exchanges = answered = message_bytes = 0  # all are counted by the owner

    def __init__(
        self,
        owner: Owner,
        ports: Sequence[int] = (),
        text: bool = False,
        chosen: object = None,
        memory: int = 1 << 28,
    ) -> None:
        """chosen: of no use here, as the owner filters what it is told of. memory: bytes that connections may hold."""
        super().__init__()
        self.memory = memory
        self.owner = owner
        self.ports = frozenset(ports)
        self.lines: list[bytes] = []
        self.packets = self.wire_bytes = self.others = self.cuts = self.fragments = self.unknown_links = 0
        self.ignored = self.connections = 0
        self.first_ns: int | None = None
        self.next_ns = 0

    @property
    def last_ns(self) -> int:
        return self.clock

    def counts(self) -> dict[int, int]:
        return {}

    def write(self, line: bytes) -> None:
        self.lines.append(line)

    def drain_text(self, write: Callable[[memoryview], Any]) -> None:
        if self.lines:
            write(memoryview(b"".join(self.lines)))
            self.lines.clear()

    def run(self, reader: ReferenceReader, data: memoryview, limit: int) -> tuple[int, str]:
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
        self.packet(Packet(ns, data, length, link))

    def finish(self) -> None:
        self.close_all()

    def packet(self, packet: Packet) -> None:
        self.packets += 1
        self.wire_bytes += packet.length
        if self.first_ns is None:
            self.first_ns = packet.ns
        found = network.dissect(packet.link, packet.data, packet.length)
        if isinstance(found, str):
            self.others += found == "other"
            self.cuts += found == "cut"
            self.fragments += found == "fragment"
            self.unknown_links += found == "link"
            return
        ends = [(found.version, *end) for end in found.ends]
        first, second = sorted(ends, key=lambda end: (end[1], end[2]))
        sender = 0 if ends[0] == first else 1
        segment = FlowSegment(packet.ns, sender, found.seq, found.ack, found.flags, found.data, found.length)
        self.segment((first, second), segment)
        if self.held > self.memory:
            self.relieve()

    # Memory

    def relieve(self) -> None:
        """Give up what the heaviest connections hold; where that is not enough, close the longest silent."""
        enough = self.memory - self.memory // 4
        live = [(-self.weight(flow), number, flow) for number, flow in enumerate(self.alive())]
        for weight, _, flow in sorted(live, key=lambda each: each[:2]):
            if self.held <= enough or not weight:
                break
            self.give_up(flow)
        self.relieving = True
        for _, _, flow in sorted(live, key=lambda each: (each[2].last, each[1])):
            if self.held <= enough:
                break
            self.end(flow, flow.last)
        self.relieving = False
        self.forget_done()

    def weight(self, flow: Flow) -> int:
        """Bytes of memory counted for what a connection holds."""
        return sum(side.held.size for side in flow.sides) + flow.weight

    def weigh(self, flow: Flow) -> None:
        known = isinstance(flow.talk, CapturedConnection) and flow.talk.foreign is None
        weight = flow.talk.weight if known else 0
        self.held += weight - flow.weight
        flow.weight = weight

    def give_up(self, flow: Flow) -> None:
        super().give_up(flow)
        if isinstance(flow.talk, CapturedConnection) and flow.talk.foreign is None:
            flow.talk.give_up()
        self.weigh(flow)

    # Connections

    def introduce(self, flow: Flow) -> None:
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
        if flow.talk is None:
            self.introduce(flow)
        if flow.talk is IGNORED:
            self.ignored += len(data)
        else:
            flow.talk.data(d, ns, data)
            self.weigh(flow)

    def lost(self, flow: Flow, d: int, ns: int, count: int, why: str) -> None:
        if flow.talk is None:
            self.introduce(flow)
        if flow.talk is not IGNORED:
            kind, reason = LOSSES.get(why, JUMP)
            flow.talk.lost(d, ns, count, kind, reason)
            self.weigh(flow)

    def ended(self, flow: Flow, ns: int) -> None:
        if flow.talk is None or flow.talk is IGNORED:
            return
        closed = any(side.closed for side in flow.sides)
        why = "the connection was reset" if flow.reset else "the connection ends" if closed else "the capture ends"
        flow.talk.close(ns, WHY_GIVEN_UP if self.relieving else why)
        flow.talk = IGNORED
        self.weigh(flow)


IGNORED = object()


def end_text(end: End) -> str:
    """ "address:port", an IPv6 address in brackets."""
    version, address, port = end
    if version == 4:
        return f"{socket.inet_ntop(socket.AF_INET, address)}:{port}"
    return f"[{socket.inet_ntop(socket.AF_INET6, address)}]:{port}"
