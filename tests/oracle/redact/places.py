"""Where the bytes of a connection's two ends stand in a draft. The twin of core.capture.engine.Places."""

from typing import Any

from kcli.redact.draft_packets import DraftPacket, Extents
from tests.oracle.redact.draft import Draft
from tests.oracle.tcp.flows import Flow
from tests.oracle.tcp.out_of_order import FlowSegment
from tests.oracle.tcp.reassembly import ahead


class Places:
    """A connection in a draft. Lists are by end, 0 or 1.

    number: its own; track: what its reader writes by, None while it has none; login: a kcli.redact.logins.Login
    passed: bytes that its ends have sent, with those that are missing; shift: a byte's place in `extents` minus that
    """

    def __init__(self, number: int, flow: Flow, draft: Draft) -> None:
        self.number, self.flow, self.draft = number, flow, draft
        self.track: Any = None
        self.login: Any = None
        self.extents = (Extents(draft), Extents(draft))  # type: ignore[arg-type]
        self.near = [0, 0]  # the latest place, which says how often sequence numbers have wrapped
        self.passed, self.shift = [0, 0], [0, 0]
        self.latest: list[DraftPacket | None] = [None, None]  # packets of each end

    def forget(self) -> None:
        """Let go of what is only needed while bytes come; late packets of it stay blank."""
        self.extents = (Extents(self.draft), Extents(self.draft))  # type: ignore[arg-type]

    def entries(self) -> int:
        """How many packets' places are known."""
        return sum(len(each.entries) for each in self.extents)

    def place(self, d: int, seq: int) -> int:
        """A sequence number as a place that does not wrap."""
        return self.near[d] + ahead(seq, self.near[d] & 0xFFFFFFFF)

    def add(self, packet: DraftPacket, s: FlowSegment) -> None:
        """Put a packet of the connection into the draft."""
        self.latest[s.sender] = packet
        place = self.draft.add(packet) + packet.places[2]
        if s.data:
            self.extents[s.sender].add(self.place(s.sender, s.seq), len(s.data), place)

    def go_on(self, d: int) -> None:
        """The next bytes that are passed on are those behind the ones before."""
        self.near[d] = self.place(d, self.flow.sides[d].next)
        self.shift[d] = self.near[d] - self.passed[d]

    def write(self, d: int, offset: int, data: bytes) -> None:
        """Fill in redacted bytes of end `d`, from `offset` in its stream on."""
        self.extents[d].fill(offset + self.shift[d], data)

    def sample(self, d: int) -> tuple[int, bytes, tuple[int, int]]:
        """(link type, its bytes up to the payload, where IP and TCP begin) of the latest packet of end `d`, or of the
        other."""
        packet = self.latest[d] or self.latest[1 - d]
        assert packet is not None
        ip, tcp, payload = packet.places
        return packet.link, bytes(packet.data[:payload]), (ip, tcp)

    def first(self, d: int) -> int:
        """The sequence number of its first byte."""
        return self.flow.sides[d].first

    def closed(self, d: int) -> bool:
        """Whether its end has been reached."""
        return self.flow.sides[d].closed

    def retransmitted(self, d: int) -> int:
        """How many segments brought bytes again."""
        return self.flow.sides[d].retransmitted
