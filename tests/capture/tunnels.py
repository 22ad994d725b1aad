"""Packets put into tunnels and behind other link layers, each written here from its specification."""

import struct
from collections.abc import Callable

from tests.capture.wires import ethernet, ip4

__all__ = ["LINKS", "TUNNELS", "Wrap", "between", "carried", "udp4"]

Wrap = Callable[[bytes], bytes]  # from an Ethernet frame, its IP packet behind 14 bytes, to another one

HOSTS = "192.0.2.1", "192.0.2.2"


def carried(protocol: int, payload: bytes) -> bytes:
    """A frame with a packet of IPv4 of another protocol."""
    packet = ip4(*HOSTS, payload)
    return ethernet(packet[:9] + bytes([protocol]) + packet[10:])


def between(frame: bytes, source: int, target: int) -> bytes:
    """The same frame between other hosts of 192.0.2.0."""
    return frame[:29] + bytes([source]) + frame[30:33] + bytes([target]) + frame[34:]


def udp4(port: int, payload: bytes) -> bytes:
    """A frame with a datagram to a port."""
    return carried(17, struct.pack(">HHHH", 50000, port, 8 + len(payload), 0) + payload)


def kind(frame: bytes) -> bytes:
    return frame[12:14]


def vxlan(frame: bytes, network: int = 7, port: int = 4789) -> bytes:
    return udp4(port, struct.pack(">BxxxI", 8, network << 8) + frame)


def vxlan_ip(frame: bytes) -> bytes:
    return udp4(4790, struct.pack(">BxxBI", 12, 1, 7 << 8) + frame[14:])


def geneve(frame: bytes) -> bytes:
    options = bytes(12)
    return udp4(6081, struct.pack(">BBHI", len(options) // 4, 0, 0x6558, 9 << 8) + options + frame)


def geneve_ip(frame: bytes) -> bytes:
    return udp4(6081, b"\0\0" + kind(frame) + struct.pack(">I", 9 << 8) + frame[14:])


def gre(frame: bytes) -> bytes:
    return carried(47, b"\0\0" + kind(frame) + frame[14:])


def gre_whole(frame: bytes) -> bytes:
    return carried(47, b"\xb0\0\x65\x58" + bytes(4) + struct.pack(">II", 77, 5) + frame)


def pptp(frame: bytes, call: int = 3) -> bytes:
    ppp = b"\xff\x03\0" + (b"\x57" if kind(frame) == b"\x86\xdd" else b"\x21") + frame[14:]
    return carried(47, struct.pack(">HHHHII", 0x3081, 0x880B, len(ppp), call, 4, 5) + ppp)


def erspan1(frame: bytes) -> bytes:
    return carried(47, b"\0\0\x88\xbe" + frame)


def erspan2(frame: bytes, session: int = 3) -> bytes:
    return carried(47, struct.pack(">HHIHHI", 0x1000, 0x88BE, 1, 0x1005, session, 0) + frame)


def erspan3(frame: bytes) -> bytes:
    return carried(47, struct.pack(">HHIHHIHH", 0x1000, 0x22EB, 1, 0x2005, 3, 99, 0, 0) + frame)


def erspan3_platform(frame: bytes) -> bytes:
    return carried(47, struct.pack(">HHIHHIHH", 0x1000, 0x22EB, 1, 0x2005, 3, 99, 0, 1) + bytes(8) + frame)


def in_ip(frame: bytes) -> bytes:
    return carried(41 if kind(frame) == b"\x86\xdd" else 4, frame[14:])


def in_ip6(frame: bytes) -> bytes:
    number = 41 if kind(frame) == b"\x86\xdd" else 4
    return ethernet(struct.pack(">IHBB", 6 << 28, len(frame) - 14, number, 64) + bytes(32) + frame[14:], 0x86DD)


def ether_ip(frame: bytes) -> bytes:
    return carried(97, b"\x30\0" + frame)


def ppp_of(frame: bytes) -> bytes:
    return (b"\0\x57" if kind(frame) == b"\x86\xdd" else b"\0\x21") + frame[14:]


def pppoe(frame: bytes) -> bytes:
    ppp = ppp_of(frame)
    return ethernet(struct.pack(">BBHH", 0x11, 0, 44, len(ppp)) + ppp, 0x8864)


def mpls(frame: bytes, *labels: int) -> bytes:
    *above, last = labels or (100, 200)
    stack = [label << 12 | 64 for label in above] + [last << 12 | 0x100 | 64]
    return ethernet(struct.pack(f">{len(stack)}I", *stack) + frame[14:], 0x8847)


def mpls_frame(frame: bytes) -> bytes:
    return ethernet(struct.pack(">I", 200 << 12 | 0x100 | 64) + frame, 0x8847)


def mpls_control_word(frame: bytes) -> bytes:
    return ethernet(struct.pack(">II", 200 << 12 | 0x100 | 64, 5) + frame, 0x8848)


def mpls_in_udp(frame: bytes) -> bytes:
    return udp4(6635, struct.pack(">I", 200 << 12 | 0x100 | 64) + frame[14:])


def nsh(frame: bytes, path: int = 99) -> bytes:
    return ethernet(struct.pack(">BBBBI", 0x0F, 0xC6, 1, 3, path << 8 | 255) + bytes(16) + frame, 0x894F)


def nsh_ip(frame: bytes) -> bytes:
    number = 2 if kind(frame) == b"\x86\xdd" else 1
    return ethernet(struct.pack(">BBBBI", 0x0F, 0xC2, 2, number, 99 << 8 | 255) + frame[14:], 0x894F)


def vn_tag(frame: bytes, source: int = 2, destination: int = 1) -> bytes:
    return frame[:12] + b"\x89\x26" + struct.pack(">I", 1 << 31 | destination << 16 | source) + frame[12:]


def e_tag(frame: bytes, port: int = 0) -> bytes:
    """port: 12 bits, and an extension of 8 above them."""
    return frame[:12] + b"\x89\x3f" + struct.pack(">HHBB", 0, port & 0xFFF, 0, port >> 12) + frame[12:]


def cisco_metadata(frame: bytes) -> bytes:
    return frame[:12] + b"\x89\x09" + struct.pack(">BBHH", 1, 1, 1, 17) + frame[12:]


def i_tag(frame: bytes) -> bytes:
    return ethernet(struct.pack(">I", 12345) + frame, 0x88E7)


def llc_snap(frame: bytes) -> bytes:
    payload = b"\xaa\xaa\x03\0\0\0" + frame[12:]
    return frame[:12] + struct.pack(">H", len(payload)) + payload


def vlan(frame: bytes, number: int = 5) -> bytes:
    return frame[:12] + struct.pack(">HH", 0x8100, number) + frame[12:]


TUNNELS: dict[str, Wrap] = {
    "vxlan": vxlan, "vxlan of old Linux": lambda frame: vxlan(frame, port=8472), "vxlan-gpe with IPv4": vxlan_ip,
    "geneve": geneve, "geneve with IP": geneve_ip, "gre": gre, "gre with key, checksum and number": gre_whole,
    "pptp": pptp, "erspan I": erspan1, "erspan II": erspan2, "erspan III": erspan3,
    "erspan III with a subheader": erspan3_platform, "IP in IPv4": in_ip, "IP in IPv6": in_ip6, "EtherIP": ether_ip,
    "pppoe": pppoe, "mpls": mpls, "mpls with a frame": mpls_frame, "mpls with a control word": mpls_control_word,
    "mpls in udp": mpls_in_udp, "nsh": nsh, "nsh with IP": nsh_ip, "vn-tag": vn_tag, "802.1BR": e_tag,
    "cisco metadata": cisco_metadata, "802.1ah": i_tag, "llc/snap": llc_snap, "vlan": vlan,
}  # fmt: skip


def pktap(frame: bytes) -> bytes:
    return struct.pack("<III24s", 108, 1, 1, b"en0") + bytes(72) + frame


def pflog(frame: bytes) -> bytes:
    return struct.pack(">BBBB16s", 61, 2, 0, 0, b"em0") + bytes(44) + frame[14:]


def enc(frame: bytes) -> bytes:
    return bytes(12) + frame[14:]


LINKS: dict[str, tuple[int, Wrap]] = {
    "ppp": (9, lambda frame: b"\xff\x03" + ppp_of(frame)),
    "ppp without address": (9, ppp_of),
    "ppp, one byte of protocol": (9, lambda frame: b"\xff\x03" + ppp_of(frame)[1:]),
    "ppp in hdlc": (50, lambda frame: b"\xff\x03" + ppp_of(frame)),
    "cisco hdlc": (50, lambda frame: b"\x0f\0" + frame[12:]),
    "c-hdlc": (104, lambda frame: b"\x0f\0" + frame[12:]),
    "ppp with direction": (204, lambda frame: b"\1\xff\x03" + ppp_of(frame)),
    "pppd": (166, lambda frame: b"\1\x03" + ppp_of(frame)),
    "pppoe": (51, lambda frame: pppoe(frame)[14:]),
    "mpls": (219, lambda frame: mpls(frame)[14:]),
    "enc": (109, enc),
    "pktap": (258, pktap),
    "pflog": (117, pflog),
    "cooked, 802.2": (113, lambda frame: bytes(14) + b"\0\4" + llc_snap(frame)[14:]),
    "cooked 2, labels": (276, lambda frame: b"\x88\x47" + bytes(18) + mpls(frame)[14:]),
}
