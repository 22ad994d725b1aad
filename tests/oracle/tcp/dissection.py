"""Finds the TCP segment in a packet, layer by layer, by the grammars of `kcli.grammar.files`; the core does the same in
core/capture/packets.h.
"""

from functools import partial
from typing import Any, NamedTuple

from construct import Int8ub, Int16ub, Int32ub

from kcli.grammar.files import network, tunnels
from tests.oracle.tcp.layers import Layer, Layers, NoSegmentError
from tests.oracle.tcp.packet_outcomes import Fragment, NoSegment, TcpSegment

IP_TYPES = (0x0800, 0x86DD)
VLAN_TYPES = (0x8100, 0x88A8, 0x9100)
INNER_TYPES = {  # EtherTypes of a frame after an MPLS label, which does not tell whether a control word precedes it
    *IP_TYPES, *VLAN_TYPES, 0x0806, 0x8847, 0x8848, 0x8864, 0x8926, 0x893F, 0x8909, 0x894F, 0x88E7,
}  # fmt: skip
ETHERNET_TYPE, ERSPAN_2, ERSPAN_3 = 0x6558, 0x88BE, 0x22EB
LEAST_TYPE = 1536  # smaller numbers are lengths of 802.3 frames
# Hop-by-hop, routing, fragment, authentication, destination options, mobility, host identity, shim6.
EXTENSIONS = (0, 43, 44, 51, 60, 135, 139, 140)
TCP, UDP, FRAGMENT, AUTHENTICATION = 6, 17, 44, 51


def dissect(link: int, data: bytes, length: int) -> TcpSegment | NoSegment:
    """Return the TCP segment in a packet, or the reason why there is none. link: a LINKTYPE_. length: bytes on the
    wire.
    """
    layers = Layers(data, max(length, len(data)))
    try:
        layer: Layer | None = partial(link_layer, link=link)
        while layer is not None:
            layer = layer(layers)
    except NoSegmentError as stop:
        found = NoSegment(stop.why)
        found.unread = 0 if stop.why == "fragment" and not stop.number else unread_code(layers, stop)
        found.fragment = layers.segment
        return found
    assert isinstance(layers.segment, TcpSegment)
    return layers.segment


def unread_code(layers: Layers, stop: NoSegmentError) -> int:
    """Return the number of an unread protocol, as KC_UNREAD of packets.h."""
    return tunnels.TUNNELS.index(layers.tunnel) << 24 | stop.registry << 16 | stop.number


def link_layer(layers: Layers, link: int) -> Layer | None:
    """Read the header of a link layer. In BSD loopback, it has the byte order of the capturing machine.

    Raises NoSegmentError.
    """
    if link in SPECIAL_LINKS:
        return SPECIAL_LINKS[link](layers)
    if link not in LINKS:
        raise NoSegmentError("link", tunnels.LINK_TYPE, link & 0xFFFF)
    size, layer = LINKS[link]
    layers.wrapped = layers.wrapped or link in WRAPPING_LINKS
    layers.skip(size)
    return layer


def cooked(layers: Layers) -> Layer:
    return typed(layers.take(tunnels.sll).type)


def cooked2(layers: Layers) -> Layer:
    header = layers.take(tunnels.sll2)
    if header.interface:
        layers.path = *layers.path, "interface", header.interface
    return typed(header.type)


def pppd_frame(layers: Layers) -> Layer:
    """Skip the direction in place of PPP's address, and the control field if there is one; return the next layer."""
    layers.skip(1 if layers.left > 1 and layers.peek(Int8ub, 1) != 3 else 2)
    return ppp_frame


def pflog_packet(layers: Layers) -> Layer:
    header = layers.peek(tunnels.pflog)
    layers.path, layers.wrapped = (*layers.path, "interface", header.interface[:8]), True
    layers.skip(header.size + -header.size % 4)
    return ip_packet


def pktap_packet(layers: Layers) -> Layer:
    header = layers.peek(tunnels.pktap)
    if header.size > 0xFFFF:
        header = layers.peek(tunnels.pktap_big)
    if header.size < tunnels.pktap.sizeof():
        raise NoSegmentError("other", tunnels.LINK_TYPE, 258)
    layers.path, layers.wrapped = (*layers.path, "interface", header.interface), True
    layers.skip(header.size)
    return partial(link_layer, link=header.link)


def ethertype(layers: Layers) -> Layer:
    return typed(layers.take(Int16ub))


def ethernet_frame(layers: Layers) -> Layer:
    return typed(layers.take(tunnels.ethernet).type)


def typed(kind: int) -> Layer:
    """Return the layer for an EtherType."""
    return partial(typed_layer, kind=kind)


def typed_layer(layers: Layers, kind: int) -> Layer:
    if kind in IP_TYPES:
        return ip_packet
    if kind in VLAN_TYPES:
        header = layers.take(tunnels.vlan)
        if header.tag & 0xFFF:
            layers.path = *layers.path, "vlan", header.tag & 0xFFF
        return typed(header.type)
    if kind in TYPED_TUNNELS:
        return TYPED_TUNNELS[kind]
    if kind < LEAST_TYPE:  # the length of an 802.3 frame, or 4 in a Linux cooked capture
        return llc_frame
    raise NoSegmentError("other", tunnels.ETHERTYPE, kind)


def vn_tag(layers: Layers) -> Layer:
    header = layers.take(tunnels.vn_tag)
    layers.between("VN-tag", header.destination, header.source)
    layers.wrapped = True
    return typed(header.type)


def e_tag(layers: Layers) -> Layer:
    header = layers.take(tunnels.e_tag)
    layers.between(
        "E-tag",
        header.ingress_extension << 12 | header.ingress,
        header.extension << 14 | header.group << 12 | header.port,
    )
    layers.wrapped = True
    return typed(header.type)


def cisco_metadata(layers: Layers) -> Layer:
    layers.skip(2 + 4 * (layers.peek(tunnels.cisco_metadata).options or 1))
    layers.wrapped = True
    return ethertype


def service_frame(layers: Layers) -> Layer:
    """Skip the tag of a provider's backbone (802.1ah); return the layer of the customer's frame."""
    layers.path = *layers.path, "service", layers.take(tunnels.i_tag).service
    return wrapped_frame(layers)


def wrapped_frame(layers: Layers) -> Layer:
    layers.wrapped = True
    return ethernet_frame


def llc_frame(layers: Layers) -> Layer:
    layers.wrapped = True
    header = layers.take(tunnels.llc)
    if (header.destination, header.control) == (6, 3):
        return ip_packet
    if (header.destination, header.source, header.control) != (0xAA, 0xAA, 3):
        raise NoSegmentError("other", tunnels.LLC_SAP, header.destination)
    inner = layers.take(tunnels.snap)
    if inner.organisation not in (bytes(3), b"\0\0\xf8"):
        raise NoSegmentError("other", tunnels.LLC_SAP, 0xAA)
    return typed(inner.type)


def pppoe_session(layers: Layers) -> Layer:
    header = layers.peek(tunnels.pppoe)
    if header.code:
        raise NoSegmentError("other", tunnels.ETHERTYPE, 0x8863)
    layers.enter("PPPoE", header.session)
    layers.skip(tunnels.pppoe.sizeof())
    return ppp_frame


def ppp_frame(layers: Layers) -> Layer:
    """Skip the header of PPP, with or without address and control, or in Cisco's framing; return the next layer.

    Raises NoSegmentError.
    """
    layers.wrapped = True
    start = layers.data[layers.at : min(layers.at + 2, layers.end, layers.captured)]
    if start in (b"\x0f\0", b"\x8f\0"):
        layers.skip(2)
        return ethertype
    if start == b"\xff\x03":
        layers.skip(2)
    number = layers.take(Int8ub if layers.peek(Int8ub) & 1 else Int16ub)
    if number in (0x21, 0x57):
        return ip_packet
    if number in (0x281, 0x283):
        return mpls_labels
    raise NoSegmentError("other", tunnels.PPP_PROTOCOL, number)


def mpls_labels(layers: Layers) -> Layer:
    """Skip MPLS labels, and guess the next layer, which they do not name. Raises NoSegmentError."""
    bottom = False
    while not bottom:
        header = layers.take(tunnels.mpls)
        layers.enter("MPLS", header.label)
        bottom = header.bottom
    start = layers.data[layers.at : layers.at + min(layers.left, layers.length)]
    if begins_as_ip(start, layers.length):
        return ip_packet
    if begins_as_frame(start):
        return ethernet_frame
    if start and not start[0] >> 4 and begins_as_frame(start[4:]):
        layers.skip(4)  # a pseudowire's control word
        return ethernet_frame
    if start and start[0] >> 4 in (4, 6):
        return ip_packet
    raise NoSegmentError("other")


def begins_as_ip(start: bytes, length: int) -> bool:
    """Return whether bytes begin with an IP header whose length is at most `length`."""
    if len(start) >= network.ipv4.sizeof() and start[0] >> 4 == 4:
        header = network.ipv4.parse(start)
        return bool(header.ihl >= 5 and header.total_length <= length)
    if len(start) >= network.ipv6.sizeof() and start[0] >> 4 == 6:
        return bool(network.ipv6.parse(start).payload_length + network.ipv6.sizeof() <= length)
    return False


def begins_as_frame(start: bytes) -> bool:
    """Return whether bytes may begin an Ethernet frame: with an EtherType that is read here, that of ARP, or SNAP."""
    kind = int.from_bytes(start[12:14], "big")
    return len(start) >= 17 and (kind in INNER_TYPES or (kind < 1536 and start[14:17] == b"\xaa\xaa\3"))


def nsh_header(layers: Layers) -> Layer:
    header = layers.peek(tunnels.nsh)
    layers.enter("NSH", header.path >> 8)
    if header.words < 2 or header.next not in NEXT_LAYERS:
        raise NoSegmentError("other")
    layers.skip(header.words * 4)
    return NEXT_LAYERS[header.next]


def gre_packet(layers: Layers) -> Layer:
    header = layers.peek(tunnels.gre)
    layers.enter("GRE")
    if header.version > 1 or header.routing:
        raise NoSegmentError("other")
    size = 4 + 4 * header.checksum
    if header.key:  # in version 1, it is a length and a call id
        key = layers.peek(Int32ub, size)
        layers.path = *layers.path, "key", key & 0xFFFF if header.version else key
        size += 4
    layers.skip(size + 4 * header.sequence + 4 * (header.version == 1 and header.acknowledgment))
    if header.type == ERSPAN_2:
        layers.enter("ERSPAN")
        if header.sequence:  # type I has neither sequence nor header
            mirror = layers.take(tunnels.erspan2)
            layers.path = *layers.path, "session", mirror.vlan, mirror.session
        return ethernet_frame
    if header.type == ERSPAN_3:
        mirror = layers.peek(tunnels.erspan3)
        layers.enter("ERSPAN", mirror.vlan << 16 | mirror.session)
        layers.skip(12 + 8 * mirror.platform)
        if mirror.frame_type not in (0, 2):
            raise NoSegmentError("other")
        return ip_packet if mirror.frame_type else ethernet_frame
    return typed(header.type)


def vxlan_packet(layers: Layers) -> Layer:
    """Enter VXLAN, also with its generic protocol extension (VXLAN-GPE). Raises NoSegmentError."""
    header = layers.peek(tunnels.vxlan)
    layers.enter("VXLAN", header.network)
    if header.has_next and header.next not in NEXT_LAYERS:
        raise NoSegmentError("other")
    layers.skip(tunnels.vxlan.sizeof())
    return NEXT_LAYERS[header.next] if header.has_next else ethernet_frame


def geneve_packet(layers: Layers) -> Layer:
    header = layers.peek(tunnels.geneve)
    layers.enter("Geneve", header.network)
    layers.skip(tunnels.geneve.sizeof() + header.words * 4)
    return typed(header.type)


def ether_ip(layers: Layers) -> Layer:
    layers.enter("EtherIP")
    layers.skip(2)
    return ethernet_frame


def inner_ip(layers: Layers) -> Layer:
    layers.enter("IP in IP")
    return ip_packet


def ip_packet(layers: Layers) -> Layer | None:
    layers.ip = layers.at
    version = layers.peek(Int8ub) >> 4
    if version == 4:
        return ip4_packet(layers)
    if version == 6:
        return ip6_packet(layers)
    raise NoSegmentError("other")


def ip4_packet(layers: Layers) -> Layer | None:
    header = layers.peek(network.ipv4)
    size, total = header.ihl * 4, header.total_length or layers.length  # 0 after segmentation offload
    if size < 20 or total < size:
        raise NoSegmentError("other", tunnels.ETHERTYPE, 0x0800)
    layers.limit(total)
    piece = FragmentPlace(header.fragment_offset * 8, header.more_fragments, header.identification)
    return ip_payload(layers, header, size, header.protocol, piece)


def ip6_packet(layers: Layers) -> Layer | None:
    """Walk IPv6's header and extensions, up to a fragment header. Raises NoSegmentError for a packet without TCP."""
    header = layers.peek(network.ipv6)
    total = header.payload_length + 40 if header.payload_length else layers.length  # 0: a jumbogram, or offload
    layers.limit(total)
    return ip_payload(layers, header, 40, header.next_header, FragmentPlace(0, False, 0))


class FragmentPlace(NamedTuple):
    """The part of a datagram in an IP packet: its first byte, whether more parts follow, and the datagram's id."""

    start: int
    more: bool
    number: int

    @property
    def is_whole(self) -> bool:
        return not self.start and not self.more


def ip_payload(layers: Layers, header: Any, size: int, protocol: int, piece: FragmentPlace) -> Layer | None:
    """Return the layer in an IP packet. size: bytes of its header. Raises NoSegmentError."""
    extensions = EXTENSIONS if header.version == 6 else (AUTHENTICATION,)
    while piece.is_whole and protocol in extensions:
        if layers.left < size + 8:
            raise NoSegmentError("cut")
        each = (network.fragment if protocol == FRAGMENT else network.extension).parse(layers.data[layers.at + size :])
        if protocol == FRAGMENT:
            piece = FragmentPlace(each.fragment_offset * 8, each.more_fragments, each.identification)
            size += 8
        else:
            size += (each.length + 2) * 4 if protocol == AUTHENTICATION else (each.length + 1) * 8
        protocol = each.next_header
    if layers.length < size:
        raise NoSegmentError("other", tunnels.ETHERTYPE, 0x0800 if header.version == 4 else 0x86DD)
    if not piece.is_whole:
        if protocol not in (TCP, UDP, *IP_TUNNELS, *extensions):
            raise NoSegmentError("other", tunnels.IP_PROTOCOL, protocol)
        stop_at_fragment(layers, header, size, protocol, piece)
    if protocol == TCP:
        tcp_segment(layers, header, size)
        return None
    if protocol == UDP:
        ports = layers.peek(tunnels.udp, size)
        if ports.destination not in UDP_TUNNELS:
            raise NoSegmentError("other", tunnels.UDP_PORT, min(ports.source, ports.destination))
        layer, size = UDP_TUNNELS[ports.destination], size + tunnels.udp.sizeof()
    elif protocol in IP_TUNNELS:
        layer = IP_TUNNELS[protocol]
    else:
        raise NoSegmentError("other", tunnels.IP_PROTOCOL, protocol)
    layers.between("IP", header.source, header.destination)
    layers.skip(size)
    return layer


def stop_at_fragment(layers: Layers, ip: Any, size: int, protocol: int, piece: FragmentPlace) -> None:
    """Note the fragment after `size` bytes of headers, and raise NoSegmentError."""
    registry, number = tunnels.NAMELESS, 0
    if protocol == UDP:
        registry, number = tunnels.IP_PROTOCOL, UDP
        if not piece.start:
            ports = layers.peek(tunnels.udp, size)
            registry, number = tunnels.UDP_PORT, min(ports.source, ports.destination)
            if ports.destination in UDP_TUNNELS:
                registry, number = tunnels.NAMELESS, 0
    at = layers.at + size
    layers.segment = Fragment(
        (ip.version, ip.source, ip.destination, protocol, piece.number, layers.path),
        piece.start,
        piece.more,
        layers.data[at : max(at, layers.captured)],
        layers.end - at,
        (layers.ip, at),
    )
    raise NoSegmentError("fragment", registry, number)


def tcp_segment(layers: Layers, ip: Any, size: int) -> None:
    """Read the TCP segment after `size` bytes of IP headers. Raises NoSegmentError."""
    at = layers.at + size
    if layers.captured < at + network.tcp.sizeof():
        raise NoSegmentError("cut")
    header = network.tcp.parse(layers.data[at:])
    start = at + header.data_offset * 4
    if start < at + 20 or start > layers.end:
        raise NoSegmentError("other", tunnels.IP_PROTOCOL, TCP)
    layers.segment = TcpSegment(
        4 if ip.version == 4 else 6,
        ((ip.source, header.source), (ip.destination, header.destination)),
        header.sequence,
        header.acknowledgment,
        header.flags,
        layers.data[start : max(start, layers.captured)],
        layers.end - start,
        (layers.ip, at, start),
        layers.path,
        layers.wrapped,
    )


# LINKTYPE_ -> (bytes in front of a layer, the layer).
LINKS: dict[int, tuple[int, Layer]] = {
    **dict.fromkeys((12, 14, 101, 228, 229), (0, ip_packet)),
    **dict.fromkeys((0, 108), (4, ip_packet)),
    **dict.fromkeys((9, 50), (0, ppp_frame)),
    1: (0, ethernet_frame),
    51: (0, pppoe_session),
    104: (2, ethertype),
    109: (12, ip_packet),
    204: (1, ppp_frame),
    219: (0, mpls_labels),
}
WRAPPING_LINKS = (104, 109)  # they count as layers before IP, like tunnels
SPECIAL_LINKS: dict[int, Layer] = {
    113: cooked, 276: cooked2, 166: pppd_frame, 117: pflog_packet, 258: pktap_packet,
}  # fmt: skip
TYPED_TUNNELS: dict[int, Layer] = {
    0x8926: vn_tag,
    0x893F: e_tag,
    0x8909: cisco_metadata,
    0x8847: mpls_labels,
    0x8848: mpls_labels,
    0x8864: pppoe_session,
    0x880B: ppp_frame,
    0x894F: nsh_header,
    0x88E7: service_frame,
    ETHERNET_TYPE: wrapped_frame,
}
NEXT_LAYERS: dict[int, Layer] = {1: ip_packet, 2: ip_packet, 3: ethernet_frame, 4: nsh_header, 5: mpls_labels}
IP_TUNNELS: dict[int, Layer] = {
    4: inner_ip, 41: inner_ip, 47: gre_packet, 97: ether_ip, 137: mpls_labels, 143: ethernet_frame,
}  # fmt: skip
UDP_TUNNELS: dict[int, Layer] = {
    4789: vxlan_packet, 4790: vxlan_packet, 8472: vxlan_packet,
    4754: gre_packet, 6081: geneve_packet, 6635: mpls_labels,
}  # fmt: skip
