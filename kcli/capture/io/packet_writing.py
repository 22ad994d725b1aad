"""Writes bytes read from a connection to a pcapng file, as packets that could have carried them.

IP and TCP headers with checksums are made up, with a handshake at the start and a FIN or RST at the end; there are no
packets with only an acknowledgement in between.
"""

import ipaddress
import struct
from typing import Literal

from kcli.capture.io.pcapng import interface_block, packet_ends, section_block
from kcli.core.capture.checksums import sum_of
from kcli.grammar.files.network import ACK, FIN, RST, SYN

Direction = Literal[0, 1]  # from the client, from the server
Endpoint = tuple[str, int]
Buffer = bytes | memoryview

PSH = 8
RAW = 101  # LINKTYPE_RAW: the packet begins with its IP header
MOST_PAYLOAD = 65_000  # bytes: a packet's length has 16 bits
TIME_TO_LIVE, TCP, WINDOW = 64, 6, 65_535
SEGMENT = 20  # bytes of TCP's header
IPV4 = struct.Struct(">BBHHHBBH4s4s HHIIBBHHH")  # with the TCP header
IPV6 = struct.Struct(">IHBB16s16s HHIIBBHHH")


def file_start(interface: str) -> bytes:
    """Return a section header and the block of its one interface; times are in nanoseconds."""
    return section_block() + interface_block(RAW, interface)


class PacketStream:
    """One connection as packets: each method returns blocks of a pcapng file. Times are ns since 1970."""

    def __init__(self, client: Endpoint, server: Endpoint) -> None:
        ends = [ipaddress.ip_address(host.partition("%")[0]) for host, _ in (client, server)]
        self.version = 4 if all(each.version == 4 for each in ends) else 6
        self.addresses = [each.packed if each.version == self.version else mapped(each.packed) for each in ends]
        self.ports = client[1], server[1]
        self.next = [1, 1]  # sequence numbers, modulo 2^32
        self.open = [True, True]
        self.number = 0  # the identification of the next packet (IPv4)
        # The part of the checksums that all packets share.
        ends_sum = sum_of(b"".join(self.addresses))
        self.tcp_sum = ends_sum + TCP + sum(self.ports)
        self.ip_sum = ends_sum + (0x45 << 8) + (TIME_TO_LIVE << 8) + TCP

    def begin(self, ns: int, comment: str = "") -> bytes:
        """Return the packets of the handshake. comment: for its first packet."""
        self.next = [0, 0]
        first = self.packet(0, ns, SYN, comment)
        self.next[0] = 1
        second = self.packet(1, ns, SYN | ACK)
        self.next[1] = 1
        return first + second + self.packet(0, ns, ACK)

    def data(self, direction: Direction, ns: int, data: Buffer) -> bytes:
        """Return packets with data of one direction."""
        if len(data) <= MOST_PAYLOAD:
            return b"".join(self.parts(direction, ns, data, PSH | ACK))
        pieces = [data[at : at + MOST_PAYLOAD] for at in range(0, len(data), MOST_PAYLOAD)]
        return b"".join(part for piece in pieces for part in self.parts(direction, ns, piece, PSH | ACK))

    def end(self, direction: Direction, ns: int) -> bytes:
        """Return the FIN of one direction; b"" if it has ended before."""
        if not self.open[direction]:
            return b""
        self.open[direction] = False
        made = self.packet(direction, ns, FIN | ACK)
        self.next[direction] = self.next[direction] + 1 & 0xFFFF_FFFF
        return made

    def reset(self, direction: Direction, ns: int) -> bytes:
        """Return a RST of one direction; b"" if both have ended."""
        if not any(self.open):
            return b""
        self.open = [False, False]
        return self.packet(direction, ns, RST | ACK)

    def packet(self, direction: Direction, ns: int, flags: int, comment: str = "") -> bytes:
        """Return a block with a packet without data."""
        return b"".join(self.parts(direction, ns, b"", flags, comment))

    def parts(
        self, direction: Direction, ns: int, data: Buffer, flags: int, comment: str = ""
    ) -> tuple[bytes, bytes, Buffer, bytes]:
        """Return a block with one packet, in pieces so that data is copied once, and advance its sequence number."""
        headers = self.headers(direction, data, flags)
        self.next[direction] = self.next[direction] + len(data) & 0xFFFF_FFFF
        size = len(headers) + len(data)
        head, tail = packet_ends(0, ns, size, size, comment)
        return head, headers, data, tail

    def headers(self, direction: Direction, data: Buffer, flags: int) -> bytes:
        """Return the headers of IP and TCP before the data (RFC 791, RFC 8200, RFC 9293)."""
        size = SEGMENT + len(data)
        sent, got = self.next[direction], self.next[1 - direction] if flags & ACK else 0
        # Adding a number is the same as adding its 16-bit words: both are equal modulo 2^16 - 1.
        total = self.tcp_sum + size + (5 << 12) + flags + WINDOW + sent + got + sum_of(data)
        ports = self.ports[direction], self.ports[1 - direction]
        segment = *ports, sent, got, 5 << 4, flags, WINDOW, checksum(total), 0
        ends = self.addresses[direction], self.addresses[1 - direction]
        if self.version == 6:
            return IPV6.pack(6 << 28, size, TCP, TIME_TO_LIVE, *ends, *segment)
        self.number = self.number + 1 & 0xFFFF
        length = IPV4.size - SEGMENT + size
        check = checksum(self.ip_sum + length + self.number)
        return IPV4.pack(0x45, 0, length, self.number, 0, TIME_TO_LIVE, TCP, check, *ends, *segment)


def mapped(address: bytes) -> bytes:
    """Return an IPv4 address mapped to IPv6 (RFC 4291, 2.5.5.2)."""
    return bytes(10) + b"\xff\xff" + address


def checksum(total: int) -> int:
    """Return the checksum that completes a sum; never 0, which means no checksum."""
    return 0xFFFF - (total % 0xFFFF or 0xFFFF)
