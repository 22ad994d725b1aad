"""Link layers, IP and TCP by the grammar; tests/core/capture/test_packets.py holds the compiled reader against it."""

import pytest

from kcli.grammar.files import capture_formats
from tests.capture.wires import ACK, ethernet, ip4, ip6, segment
from tests.oracle.tcp.dissection import dissect
from tests.oracle.tcp.packet_outcomes import TcpSegment

V4 = ip4("10.0.0.1", "10.0.0.2", segment(1234, 9092, 7, 9, ACK, b"payload"))
HERE, THERE = bytes(15) + b"\1", bytes(15) + b"\2"
TCP = segment(1234, 9092, 7, 9, ACK, b"payload")
V6 = ip6(HERE, THERE, TCP)
OPTIONS = b"\0" + bytes(6)  # eight bytes with "next header"

SLL = bytes(14)
SLL2 = bytes(18)

PACKETS = {
    "ethernet": (1, ethernet(V4)),
    "ethernet ipv6": (1, ethernet(V6, 0x86DD)),
    "vlan": (1, ethernet(V4, tags=[0x8100])),
    "vlan in vlan": (1, ethernet(V4, tags=[0x88A8, 0x8100])),
    "old vlan": (1, ethernet(V4, tags=[0x9100])),
    "sll": (113, SLL + b"\x08\x00" + V4),
    "sll ipv6": (113, SLL + b"\x86\xdd" + V6),
    "sll vlan": (113, SLL + b"\x81\x00\x00\x05\x08\x00" + V4),
    "sll2": (276, b"\x08\x00" + SLL2 + V4),
    "sll2 vlan": (276, b"\x81\x00" + SLL2 + b"\x00\x05\x86\xdd" + V6),
    "null, little": (0, b"\x02\0\0\0" + V4),
    "null, big": (0, b"\0\0\0\x1e" + V6),
    "loop": (108, b"\0\0\0\x02" + V4),
    "raw": (101, V4),
    "raw of OpenBSD": (12, V6),
    "ipv4": (228, V4),
    "ipv6": (229, V6),
    "options of ipv4": (101, ip4("10.0.0.1", "10.0.0.2", TCP, options=bytes(8))),
    "authentication in ipv4": (101, V4[:2] + b"\0\x47" + V4[4:9] + b"\x33" + V4[10:20] + b"\6\4" + bytes(22) + TCP),
    "hop by hop": (101, ip6(HERE, THERE, TCP, extensions=[(0, OPTIONS)])),
    "routing and destination": (101, ip6(HERE, THERE, TCP, extensions=[(43, OPTIONS), (60, OPTIONS)])),
    "longer extension": (101, ip6(HERE, THERE, TCP, extensions=[(60, b"\2" + bytes(22))])),
    "authentication": (101, ip6(HERE, THERE, TCP, extensions=[(51, b"\4" + bytes(22))])),
    "whole in a fragment header": (101, ip6(HERE, THERE, TCP, extensions=[(44, bytes(7))])),
    "offload: no total length": (101, ip4("10.0.0.1", "10.0.0.2", TCP, total=0)),
    "offload: no ipv6 length": (101, ip6(HERE, THERE, TCP, total=0)),
    "padded": (1, ethernet(V4) + bytes(20)),
}
OTHERS = {
    "arp": (1, ethernet(bytes(28), 0x0806), "other"),
    "udp": (101, V4[:9] + b"\x11" + V4[10:], "other"),
    "icmp6": (101, ip6(HERE, THERE, TCP)[:6] + b"\x3a" + V6[7:], "other"),
    "fragment": (101, ip4("10.0.0.1", "10.0.0.2", TCP, place=0x2000), "fragment"),
    "later fragment": (101, ip4("10.0.0.1", "10.0.0.2", TCP, place=100), "fragment"),
    "ipv6 fragment": (101, ip6(HERE, THERE, TCP, extensions=[(44, b"\0\0\1\0\0\0\0")]), "fragment"),
    "cut in tcp": (101, V4[:30], "cut"),
    "cut in ip": (101, V4[:12], "cut"),
    "cut in ethernet": (1, ethernet(V4)[:9], "cut"),
    "cut in a tag": (1, ethernet(V4, tags=[0x8100])[:15], "cut"),
    "empty": (101, b"", "cut"),
    "ip of version 5": (101, b"\x55" + V4[1:], "other"),
    "header longer than all": (101, V4[:32] + b"\xf0" + V4[33:], "other"),
    "ip header too short": (101, b"\x44" + V4[1:], "other"),
    "sll2 of another kind": (276, b"\x08\x06" + SLL2 + V4, "other"),
    "ieee 802.11": (105, V4, "link"),
}


@pytest.mark.parametrize("name", PACKETS)
def test_a_segment_is_found(name: str) -> None:
    link, data = PACKETS[name]
    found = dissect(link, data, len(data))
    assert isinstance(found, TcpSegment)
    assert (found.seq, found.ack, found.flags, found.data, found.length) == (7, 9, ACK, b"payload", 7)
    assert [port for _, port in found.ends] == [1234, 9092]


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_segment_is_named(name: str) -> None:
    link, data, why = OTHERS[name]
    assert dissect(link, data, len(data)) == why


def test_a_cut_packet_keeps_the_length_it_had() -> None:
    whole = ethernet(V4)
    found = dissect(1, whole[:-5], len(whole))
    assert isinstance(found, TcpSegment)
    assert (found.data, found.length) == (b"pa", 7)


@pytest.mark.parametrize(
    ("magic", "big", "units"), [(m, *values[:2]) for m, values in capture_formats.pcap_magic.items()]
)
def test_file_headers_in_both_byte_orders(magic: bytes, big: bool, units: int) -> None:
    made = capture_formats.order(big).file.build(
        {"magic": int.from_bytes(magic, "big" if big else "little"), "major": 2, "minor": 4, "zone": 0, "accuracy": 0}
        | {"snaplen": 96, "link": 276}
    )
    assert made[:4] == magic and len(made) == 24
    assert capture_formats.order(big).file.parse(made).link == 276
    assert units in (10**6, 10**9)
