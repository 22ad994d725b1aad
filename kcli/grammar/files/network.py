"""Captures as grammar: pcap, pcapng, link layers, IP and TCP, each header as it stands in its specification.

pcap and pcapng: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng. Link layers: the LINKTYPE_ registry of tcpdump.org.
IPv4 RFC 791, IPv6 RFC 8200, authentication header RFC 4302, TCP RFC 9293. The compiled core (core/capture/packets.h) is
held against this by tests; without the core, captures are read by it.
"""

from __future__ import annotations

import io
from functools import cache
from typing import Any, NamedTuple

from construct import (
    BitsInteger,
    BitStruct,
    Bytes,
    Bytewise,
    FixedSized,
    Flag,
    GreedyBytes,
    Int8ub,
    Int16ub,
    Int16ul,
    Int32ub,
    Int32ul,
    Int64sb,
    Int64sl,
    Octet,
    Struct,
    this,
)

SECTION = 0x0A0D0D0A
BYTE_ORDER = 0x1A2B3C4D
TLS_KEY_LOG = 0x544C534B  # the type of secrets that a Decryption Secrets Block holds
FIN, SYN, RST, ACK = 1, 2, 4, 16

# First four bytes of a pcap file -> (big-endian, timestamp units a second, bytes of a record's header). The last two
# are libpcap's modified form: interface, protocol and packet type stand behind a record's lengths.
pcap_magic = {
    b"\xd4\xc3\xb2\xa1": (False, 1_000_000, 16),
    b"\xa1\xb2\xc3\xd4": (True, 1_000_000, 16),
    b"\x4d\x3c\xb2\xa1": (False, 1_000_000_000, 16),
    b"\xa1\xb2\x3c\x4d": (True, 1_000_000_000, 16),
    b"\x34\xcd\xb2\xa1": (False, 1_000_000, 24),
    b"\xa1\xb2\xcd\x34": (True, 1_000_000, 24),
}


Grammar = Any  # a Construct; its stubs are generic in two ways that mean nothing here


class ByteOrder(NamedTuple):
    """What depends on the byte order of the machine that captured."""

    u16: Grammar
    u32: Grammar
    i64: Grammar
    file: Grammar  # a pcap file's header
    record: Grammar  # a packet's header in pcap
    block: Grammar  # a pcapng block with its two lengths
    interface: Grammar  # pcapng blocks' bodies
    enhanced: Grammar
    simple: Grammar
    obsolete: Grammar
    secrets: Grammar  # of a Decryption Secrets Block
    option: Grammar


@cache
def order(big: bool) -> ByteOrder:
    """The layouts of pcap and pcapng in one byte order."""
    u16, u32, i64 = (Int16ub, Int32ub, Int64sb) if big else (Int16ul, Int32ul, Int64sl)
    return ByteOrder(
        u16=u16,
        u32=u32,
        i64=i64,
        file=Struct(
            "magic" / u32, "major" / u16, "minor" / u16, "zone" / u32, "accuracy" / u32, "snaplen" / u32, "link" / u32
        ),
        record=Struct("seconds" / u32, "fraction" / u32, "captured" / u32, "length" / u32),
        block=Struct("kind" / u32, "size" / u32, "body" / FixedSized(this.size - 12, GreedyBytes), "again" / u32),
        interface=Struct("link" / u16, "reserved" / u16, "snaplen" / u32, "options" / GreedyBytes),
        enhanced=Struct(
            "interface" / u32, "high" / u32, "low" / u32, "captured" / u32, "length" / u32, "rest" / GreedyBytes
        ),
        simple=Struct("length" / u32, "rest" / GreedyBytes),
        obsolete=Struct(
            "interface" / u16, "drops" / u16, "high" / u32, "low" / u32,
            "captured" / u32, "length" / u32, "rest" / GreedyBytes,
        ),
        secrets=Struct("kind" / u32, "length" / u32, "rest" / GreedyBytes),
        option=Struct("code" / u16, "size" / u16, "value" / Bytes(this.size), "padding" / Bytes(-this.size % 4)),
    )  # fmt: skip


ethernet = Struct("destination" / Bytes(6), "source" / Bytes(6), "type" / Int16ub)
vlan = Struct("tag" / Int16ub, "type" / Int16ub)
sll = Struct("kind" / Int16ub, "arphrd" / Int16ub, "size" / Int16ub, "address" / Bytes(8), "type" / Int16ub)
sll2 = Struct(
    "type" / Int16ub, "reserved" / Int16ub, "interface" / Int32ub, "arphrd" / Int16ub,
    "kind" / Int8ub, "size" / Int8ub, "address" / Bytes(8),
)  # fmt: skip
ipv4 = BitStruct(
    "version" / BitsInteger(4), "ihl" / BitsInteger(4), "type_of_service" / Octet, "total_length" / Bytewise(Int16ub),
    "identification" / Bytewise(Int16ub),
    "flags" / BitsInteger(2), "more_fragments" / Flag, "fragment_offset" / BitsInteger(13),
    "time_to_live" / Octet, "protocol" / Octet, "header_checksum" / Bytewise(Int16ub),
    "source" / Bytewise(Bytes(4)), "destination" / Bytewise(Bytes(4)),
)  # fmt: skip
ipv6 = BitStruct(
    "version" / BitsInteger(4), "traffic_class" / BitsInteger(8), "flow_label" / BitsInteger(20),
    "payload_length" / Bytewise(Int16ub), "next_header" / Octet, "hop_limit" / Octet,
    "source" / Bytewise(Bytes(16)), "destination" / Bytewise(Bytes(16)),
)  # fmt: skip
extension = Struct("next_header" / Int8ub, "length" / Int8ub, "rest" / Bytes(6))
fragment = BitStruct(
    "next_header" / Octet, "reserved" / Octet,
    "fragment_offset" / BitsInteger(13), "spare" / BitsInteger(2), "more_fragments" / Flag,
    "identification" / Bytewise(Int32ub),
)  # fmt: skip
tcp = BitStruct(
    "source" / Bytewise(Int16ub), "destination" / Bytewise(Int16ub),
    "sequence" / Bytewise(Int32ub), "acknowledgment" / Bytewise(Int32ub),
    "data_offset" / BitsInteger(4), "reserved" / BitsInteger(4), "flags" / Octet,
    "window" / Bytewise(Int16ub), "checksum" / Bytewise(Int16ub), "urgent_pointer" / Bytewise(Int16ub),
)  # fmt: skip

IP_TYPES = (0x0800, 0x86DD)
VLAN_TYPES = (0x8100, 0x88A8, 0x9100)
# Hop-by-hop, routing, fragment, authentication, destination options, mobility, host identity, shim6.
EXTENSIONS = (0, 43, 44, 51, 60, 135, 139, 140)
TCP, FRAGMENT, AUTHENTICATION = 6, 44, 51


class TcpSegment(NamedTuple):
    """A TCP segment. ends: (address, port) of sender and receiver; length: payload on the wire, `data` what is here.

    places: where the headers of IP and TCP and the payload begin in the packet.
    """

    version: int
    ends: tuple[tuple[bytes, int], tuple[bytes, int]]
    seq: int
    ack: int
    flags: int
    data: bytes
    length: int
    places: tuple[int, int, int]


class NoSegmentError(Exception):
    """Why a packet is no TCP segment: "other", "cut", "fragment" or "link"."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def head(grammar: Grammar, data: bytes, at: int = 0) -> Any:
    """A header of fixed size; NoSegmentError when the packet ends within it."""
    size = grammar.sizeof()
    if len(data) - at < size:
        raise NoSegmentError("cut")
    return grammar.parse_stream(io.BytesIO(data[at : at + size]))


def dissect(link: int, data: bytes, length: int) -> TcpSegment | str:
    """The segment in a packet of a LINKTYPE_; length: on the wire. Without one a word, as NoSegmentError has it."""
    length = max(length, len(data))
    try:
        start = ip_start(link, data, length)
        segment = ip_segment(data[start:], length - start)
        ip, tcp, payload = segment.places
        return segment._replace(places=(start + ip, start + tcp, start + payload))
    except NoSegmentError as stop:
        return stop.why


def ip_start(link: int, data: bytes, length: int) -> int:
    if link == 1:
        return past_tags(data, head(ethernet, data).type if len(data) >= 14 else None, 14, length)
    if link == 113:
        return past_tags(data, head(sll, data).type if len(data) >= 16 else None, 16, length)
    if link == 276:
        header = head(sll2, data)
        if header.type not in (*IP_TYPES, 0x8100, 0x88A8):
            raise NoSegmentError("other")
        return 20 if header.type in IP_TYPES else past_tags(data, header.type, 20, length)
    if link in (0, 108):
        head(Int32ub, data)
        return 4
    if link in (12, 14, 101, 228, 229):
        return 0
    raise NoSegmentError("link")


def past_tags(data: bytes, kind: int | None, at: int, length: int) -> int:
    """Where IP begins behind an EtherType that ends at `at`, past any VLAN tags."""
    if kind is None:
        raise NoSegmentError("cut")
    while kind not in IP_TYPES:
        if kind not in VLAN_TYPES:
            raise NoSegmentError("other")
        kind = head(vlan, data, at).type
        at += vlan.sizeof()
    return at


def ip_segment(data: bytes, length: int) -> TcpSegment:
    if not data:
        raise NoSegmentError("cut")
    version = data[0] >> 4
    if version == 4:
        return ip4_segment(data, length)
    if version == 6:
        return ip6_segment(data, length)
    raise NoSegmentError("other")


def ip4_segment(data: bytes, length: int) -> TcpSegment:
    header = head(ipv4, data)
    start, total = header.ihl * 4, header.total_length or length  # 0: segmentation offload leaves it so
    if start < 20 or total < start or header.protocol != TCP:
        raise NoSegmentError("other")
    if header.more_fragments or header.fragment_offset:
        raise NoSegmentError("fragment")
    return tcp_segment(4, header, data[:total], start, total)


def ip6_segment(data: bytes, length: int) -> TcpSegment:
    header = head(ipv6, data)
    total = header.payload_length + 40 if header.payload_length else length  # 0: a jumbogram, or segmentation offload
    data = data[:total]
    kind, at = header.next_header, 40
    while kind != TCP:
        if kind not in EXTENSIONS:
            raise NoSegmentError("other")
        each = head(fragment if kind == FRAGMENT else extension, data, at)
        if kind == FRAGMENT:
            if each.fragment_offset or each.more_fragments:
                raise NoSegmentError("fragment")
            at += 8
        else:
            at += (each.length + 2) * 4 if kind == AUTHENTICATION else (each.length + 1) * 8
        kind = each.next_header
    if total < at:
        raise NoSegmentError("other")
    return tcp_segment(6, header, data, at, total)


def tcp_segment(version: int, ip: Any, data: bytes, at: int, end: int) -> TcpSegment:
    """The segment whose TCP header begins at `at`, in IP's data that ends at `end` on the wire."""
    header = head(tcp, data, at)
    start = at + header.data_offset * 4
    if start < at + 20 or start > end:
        raise NoSegmentError("other")
    ends = (ip.source, header.source), (ip.destination, header.destination)
    return TcpSegment(
        version,
        ends,
        header.sequence,
        header.acknowledgment,
        header.flags,
        data[start:end],
        end - start,
        (0, at, start),
    )
