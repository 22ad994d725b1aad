"""The packets to which a connection's reader writes: its own, or if it used TLS, new ones with the decrypted bytes."""

from typing import Any, Protocol

from kcli.capture.kafka.connection import CapturedConnection
from kcli.capture.tls.layer import ENOUGH, TlsLayer
from kcli.grammar.files import network
from kcli.redact.batches import BLANK
from kcli.redact.draft_packets import MADE, DraftPacket, Extents

PUSH = 8  # a flag of TCP
AGAIN = 2  # bytes in a segment that repeats some: with only one it would look like a keep-alive
LARGEST = 60_000  # bytes of payload in a packet made here, at most
IPV6 = 40
TCP_HEAD = 20
SETTLED = 1 << 20  # bytes after which decrypted bytes are not filled in any more


class ConnectionDraft(Protocol):
    """The packets of a connection in the draft, see kcli.core.capture.engine.Places."""

    number: int
    draft: Any
    track: Any
    login: Any

    def write(self, d: int, offset: int, data: bytes) -> None:
        """Fill in redacted bytes that an end sent."""

    def sample(self, d: int) -> tuple[int, bytes, tuple[int, int]]:
        """Return (link type, headers, positions of IP and TCP in them) of a packet from an end."""

    def first(self, d: int) -> int:
        """Return the sequence number of an end's first byte."""

    def closed(self, d: int) -> bool:
        """Return whether an end has sent its last byte."""

    def retransmitted(self, d: int) -> int:
        """Return how many segments of an end repeated bytes."""


class Track:
    """Writes a connection into the draft. Lists are by end, 0 or 1.

    decrypted: the decrypted bytes are written as new packets
    """

    def __init__(self, places: ConnectionDraft) -> None:
        self.places, self.draft = places, places.draft
        self.decrypted = False
        self.layer: TlsLayer | None = None
        self.connection: CapturedConnection | None = None  # its reader
        self.made = (Extents(self.draft), Extents(self.draft))  # packets made here, by bytes of the decrypted stream
        self.sent = [0, 0]  # bytes of the decrypted stream, including missing ones
        self.has_sent = False
        self.closed = [False, False]  # whether the decrypted stream has been closed
        self.repeated = [0, 0]  # segments that repeat bytes of the decrypted stream

    def forget(self) -> None:
        """Drop the state that is only needed while bytes arrive."""
        self.made = (Extents(self.draft), Extents(self.draft))

    @property
    def foreign(self) -> bool:
        """Return whether the connection is not Kafka, or uses TLS and its keys are unknown."""
        return self.layer is not None and self.layer.foreign is not None

    def read_to(self, d: int, passed: int) -> int:
        """Return the position that the reader has reached in the bytes of end `d`. passed: how many bytes were passed
        on.
        """
        plain = self.connection is not None and self.connection.foreign is None and not self.decrypted
        return self.connection.streams[d].offset if self.connection is not None and plain else passed

    def write(self, d: int, offset: int, data: bytes) -> None:
        """Fill in redacted bytes of end `d`, from `offset` in the stream that the reader sees."""
        if self.decrypted:
            self.made[d].fill(offset, data)
        else:
            self.places.write(d, offset, data)

    def write_refusal(self) -> None:
        """Write the bytes with which an end refused a connection without TLS."""
        if self.layer is not None and self.layer.refused is not None:
            self.write(self.layer.refused, 0, bytes(self.layer.refusal[:ENOUGH]))

    # Decrypted bytes

    def came(self, d: int, ns: int, end: int, size: int) -> None:
        """Add packets for `size` decrypted bytes of end `d` that are about to be read. end: the position after them in
        the stream.
        """
        if not self.decrypted:
            return
        self.sent[d] = max(self.sent[d], end - size)
        while self.sent[d] < end:
            part = min(end - self.sent[d], LARGEST)
            place = self.add_made(d, ns, network.ACK | PUSH, part)
            self.made[d].add(self.sent[d], part, place)
            self.sent[d] += part
            self.has_sent = True
        self.made[d].settled = max(0, self.sent[d] - SETTLED)

    def follow(self, ns: int, reset_by: int | None) -> None:
        """Follow a packet of the connection. reset_by: the end that reset the connection with this packet."""
        if self.decrypted:
            self.add_repeated(ns)
            self.add_ends(ns, reset_by)

    def add_repeated(self, ns: int) -> None:
        """Repeat as many segments of the decrypted stream as were repeated in the encrypted one."""
        for d in range(2):
            while self.repeated[d] < self.places.retransmitted(d) and self.sent[d] >= AGAIN:
                place = self.add_made(d, ns, network.ACK | PUSH, AGAIN, AGAIN)
                self.made[d].add(self.sent[d] - AGAIN, AGAIN, place)
                self.repeated[d] += 1

    def add_ends(self, ns: int, reset_by: int | None = None) -> None:
        """End the decrypted stream if an end has closed or reset the connection."""
        for d in range(2):
            closed = self.places.closed(d)
            if closed and not self.closed[d] and reset_by is None:
                self.add_made(d, ns, network.FIN | network.ACK, 0)
            self.closed[d] = closed
        if reset_by is not None:
            self.add_made(reset_by, ns, network.RST, 0)

    def add_made(self, d: int, ns: int, flags: int, size: int, back: int = 0) -> int:
        """Append a new packet from end `d`. Returns the position of its payload. back: bytes of the payload that were
        sent before.
        """
        link, packet, (ip, tcp) = self.places.sample(d)
        seq, ack = (self.places.first(end) + self.sent[end] for end in (d, 1 - d))
        data = clean_segment(packet, (ip, tcp), seq - back, ack, flags, size)
        places = ip, tcp, tcp + 20
        return int(self.draft.add(DraftPacket(ns, link, self.places.number, len(data), places, MADE, data))) + places[2]


def clean_segment(packet: bytes, places: tuple[int, int], seq: int, ack: int, flags: int, size: int) -> bytearray:
    """Return a packet with these headers but no options, and a blank payload of `size` bytes. places: positions of IP
    and TCP.
    """
    ip, tcp = places
    out = bytearray(packet[: tcp + TCP_HEAD]) + BLANK * size
    out[tcp + 4 : tcp + 12] = (seq & 0xFFFFFFFF).to_bytes(4, "big") + (ack & 0xFFFFFFFF).to_bytes(4, "big")
    out[tcp + 12 : tcp + 14] = bytes([TCP_HEAD // 4 << 4, flags])
    if out[ip] >> 4 == 4:
        out[ip + 2 : ip + 4] = (len(out) - ip).to_bytes(2, "big")
    else:
        out[ip + 4 : ip + 6] = (len(out) - ip - IPV6).to_bytes(2, "big")
    return out
