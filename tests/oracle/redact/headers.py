"""The headers of packets, redacted, as kcli.core.capture.draft does it.

Addresses are replaced, checksums made anew, and what is not known is left out.

Ports, sequence numbers, flags, windows, times to live and VLAN tags stay. Of TCP's options those of RFC 9293, 7323 and
2018 stay, all others become NOPs, as IPv4's do; of IPv6's extension headers types and sizes stay.
"""

from kcli.capture.io.packet_writing import checksum
from kcli.redact.batches import BLANK
from kcli.redact.pseudonyms import Pseudonyms
from tests.oracle.checksums import sum_of
from tests.oracle.tcp.dissection import AUTHENTICATION, FRAGMENT, TCP
from tests.oracle.tcp.packet_outcomes import TcpSegment

ETHERNET, SLL, SLL2 = 1, 113, 276  # LINKTYPE_
MAC = 6
# Where a hardware address stands, by link type; and how far the header of a link type may be copied.
MACS = {ETHERNET: (0, 6), SLL: (6,), SLL2: (12,)}
PADDED_MACS = {SLL: (12, 14), SLL2: (18, 20)}  # room behind an address, which other hardware's fills
IPV4, IPV6 = 20, 40
TCP_HEAD = 20
TCP_CHECKSUM = 16
KNOWN_OPTIONS = {2: 4, 3: 3, 4: 2, 8: 10}  # sizes: segment size, window scale, SACK permitted, timestamps
SACK, NOP = 5, 1


def blank_packet(link: int, data: bytes, segment: TcpSegment, names: Pseudonyms, keep: bool) -> bytearray:
    """A packet with its headers redacted and a blank payload, of the same size. keep: addresses stay."""
    ip, tcp, payload = segment.places
    out = bytearray(len(data))
    out[:ip] = data[:ip]
    for at in () if keep else MACS.get(link, ()):
        out[at : at + MAC] = names.mac(data[at : at + MAC])
    if link in PADDED_MACS:
        start, end = PADDED_MACS[link]
        out[start:end] = bytes(end - start)
    if segment.version == 4:
        out[ip : ip + IPV4] = data[ip : ip + IPV4]
        start = ip + header_size(data[ip:])
        out[ip + IPV4 : start] = bytes([NOP]) * (start - ip - IPV4)
        copy_extensions(out, data, data[ip + 9], start, tcp)
        set_addresses(out, ip + 12, 4, names, keep)
    else:
        out[ip : ip + IPV6] = data[ip : ip + IPV6]
        set_addresses(out, ip + 8, 16, names, keep)
        copy_extensions(out, data, data[ip + 6], ip + IPV6, tcp)
    head = data[tcp : min(payload, len(data))]
    out[tcp : tcp + len(head)] = head[:TCP_HEAD] + clean_options(head[TCP_HEAD:])
    out[payload : payload + len(segment.data)] = BLANK * len(segment.data)
    return out


def set_addresses(out: bytearray, at: int, size: int, names: Pseudonyms, keep: bool) -> None:
    for start in () if keep else (at, at + size):
        out[start : start + size] = names.address(bytes(out[start : start + size]))


def header_size(ip: bytes | bytearray) -> int:
    return (ip[0] & 15) * 4 if ip[0] >> 4 == 4 else IPV6


def copy_extensions(out: bytearray, data: bytes, kind: int, at: int, tcp: int) -> None:
    """Copy type and size of each of IP's extension headers, the first of which is at `at`."""
    while at < tcp and kind != TCP:
        out[at : at + 2] = data[at : at + 2]
        size = (data[at + 1] + 2) * 4 if kind == AUTHENTICATION else (data[at + 1] + 1) * 8
        kind, at = data[at], at + (8 if kind == FRAGMENT else size)


def clean_options(options: bytes) -> bytes:
    """TCP's options, those that are not known as NOPs."""
    out = bytearray([NOP]) * len(options)
    at = 0
    while at < len(options) and options[at]:
        kind = options[at]
        size = options[at + 1] if kind != NOP and at + 1 < len(options) else 1
        if KNOWN_OPTIONS.get(kind) == size or (kind == SACK and size % 8 == 2):
            out[at : at + size] = options[at : at + size]
        at += max(size, 1)
    return bytes(out[: len(options)])


def set_checksums(packet: bytearray, places: tuple[int, int, int], length: int) -> None:
    """Compute the checksums of IP and TCP (RFC 1071); TCP's is 0 where the packet was cut. length: on the wire."""
    ip, tcp, _ = places
    is_v4 = packet[ip] >> 4 == 4
    if is_v4:
        packet[ip + 10 : ip + 12] = b"\0\0"
        packet[ip + 10 : ip + 12] = checksum(sum_of(bytes(packet[ip : ip + header_size(packet[ip:])]))).to_bytes(
            2, "big"
        )
        total = int.from_bytes(packet[ip + 2 : ip + 4], "big") or length - ip
        addresses = packet[ip + 12 : ip + 20]
    else:
        total = (int.from_bytes(packet[ip + 4 : ip + 6], "big") or length - ip - IPV6) + IPV6
        addresses = packet[ip + 8 : ip + 40]
    end = ip + total
    at = slice(tcp + TCP_CHECKSUM, tcp + TCP_CHECKSUM + 2)
    packet[at] = b"\0\0"
    if end <= len(packet):
        pseudo = addresses + (end - tcp).to_bytes(4, "big") + TCP.to_bytes(4, "big")
        packet[at] = checksum(sum_of(bytes(pseudo + packet[tcp:end]))).to_bytes(2, "big")
