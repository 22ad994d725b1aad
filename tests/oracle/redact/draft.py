"""The redacted packets on their way, in a temporary file: the oracle of kcli.core.capture.draft.Draft."""

import os
import struct
import tempfile
from collections.abc import Callable, Container, Iterator
from typing import BinaryIO

from kcli.capture.io.pcapng import packet_ends
from kcli.redact.draft_packets import MADE, DraftPacket
from tests.oracle.redact.headers import set_checksums

# ns, link type, connection, length on the wire, bytes here, where IP, TCP and payload begin, kind
HEAD = struct.Struct("<QHIIIIIIB")
CAPTURED, OPENING = 0, 1  # kinds of packets, besides MADE; OPENING: captured, of a connection's handshake
TAIL = 1 << 20  # bytes at the end that are kept in memory


class Draft:
    """Packets in a temporary file. OSError: there is no room for it."""

    def __init__(self, folder: str | None = None) -> None:
        """folder: where the file is made, which has no name; None: where the system has its temporary files."""
        self.file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self.tail = bytearray()
        self.start = 0  # of the tail, in the file

    def close(self) -> None:
        """Let the file go."""
        self.file.close()

    def add(self, packet: DraftPacket) -> int:
        """Append a packet; the place of its first byte."""
        if len(self.tail) > TAIL:
            self.flush()
        head = HEAD.pack(
            packet.ns, packet.link, packet.flow, packet.length, len(packet.data), *packet.places, packet.kind
        )
        self.tail += head
        place = self.start + len(self.tail)
        self.tail += packet.data
        return place

    def flush(self) -> None:
        """Write out what is kept in memory."""
        self.file.seek(self.start)
        self.file.write(self.tail)
        self.start += len(self.tail)
        self.tail.clear()

    def fill(self, place: int, data: bytes) -> None:
        """Write over bytes that are there."""
        if place >= self.start:
            at = place - self.start
            self.tail[at : at + len(data)] = data
            return
        self.file.flush()
        os.pwrite(self.file.fileno(), data, place)

    def read(self, place: int, size: int) -> bytes:
        """Bytes that are there."""
        if place >= self.start:
            at = place - self.start
            return bytes(self.tail[at : at + size])
        self.file.flush()
        return os.pread(self.file.fileno(), size, place)

    def packets(self) -> Iterator[DraftPacket]:
        """All packets, in order."""
        self.flush()
        self.file.flush()
        self.file.seek(0)
        while head := self.file.read(HEAD.size):
            ns, link, flow, length, size, ip, tcp, payload, kind = HEAD.unpack(head)
            yield DraftPacket(ns, link, flow, length, (ip, tcp, payload), kind, bytearray(self.file.read(size)))

    def write(
        self, out: BinaryIO, interface: Callable[[int], bytes], left_out: Container[int], made_clear: Container[int]
    ) -> tuple[int, int]:
        """As kcli.core.capture.draft.Draft.write has it."""
        interfaces: dict[int, int] = {}
        written = omitted = 0
        for packet in self.packets():
            if packet.flow in left_out or (packet.kind == CAPTURED and packet.flow in made_clear):
                omitted += packet.kind != MADE
                continue
            if packet.link not in interfaces:
                interfaces[packet.link] = len(interfaces)
                out.write(interface(packet.link))
            set_checksums(packet.data, packet.places, packet.length)
            head, tail = packet_ends(interfaces[packet.link], packet.ns, len(packet.data), packet.length)
            out.write(head + packet.data + tail)
            written += 1
        return written, omitted
