"""Grammars of the headers before IP: link layers, tags, labels and tunnels.

Link layers, including PKTAP and PFLOG: the LINKTYPE_ registry of tcpdump.org. 802.2 with SNAP (RFC 1042), 802.1BR,
802.1ah; PPP (RFC 1661, 1662), PPPoE (RFC 2516); MPLS (RFC 3032, 4385); GRE (RFC 2784, 2890, 2637); ERSPAN
(draft-foschiano-erspan); VXLAN (RFC 7348, draft-ietf-nvo3-vxlan-gpe); Geneve (RFC 8926); NSH (RFC 8300); EtherIP (RFC
3378). The core reads them in core/capture/packets.h.
"""

from construct import BitsInteger, BitStruct, Bytes, Bytewise, Flag, Int8ub, Int16ub, Int32ub, Int32ul, Octet, Struct

ethernet = Struct("destination" / Bytes(6), "source" / Bytes(6), "type" / Int16ub)
vlan = Struct("tag" / Int16ub, "type" / Int16ub)
sll = Struct("kind" / Int16ub, "arphrd" / Int16ub, "size" / Int16ub, "address" / Bytes(8), "type" / Int16ub)
sll2 = Struct(
    "type" / Int16ub, "reserved" / Int16ub, "interface" / Int32ub, "arphrd" / Int16ub,
    "kind" / Int8ub, "size" / Int8ub, "address" / Bytes(8),
)  # fmt: skip
llc = Struct("destination" / Int8ub, "source" / Int8ub, "control" / Int8ub)
snap = Struct("organisation" / Bytes(3), "type" / Int16ub)
vn_tag = BitStruct(
    "direction" / Flag, "pointer" / Flag, "destination" / BitsInteger(14), "looped" / Flag, "reserved" / Flag,
    "version" / BitsInteger(2), "source" / BitsInteger(12), "type" / Bytewise(Int16ub),
)  # fmt: skip
e_tag = BitStruct(
    "priority" / BitsInteger(3), "drop" / Flag, "ingress" / BitsInteger(12), "reserved" / BitsInteger(2),
    "group" / BitsInteger(2), "port" / BitsInteger(12), "ingress_extension" / Octet, "extension" / Octet,
    "type" / Bytewise(Int16ub),
)  # fmt: skip
i_tag = BitStruct("flags" / Octet, "service" / BitsInteger(24))
cisco_metadata = Struct("version" / Int8ub, "options" / Int8ub)

pppoe = Struct("version" / Int8ub, "code" / Int8ub, "session" / Int16ub, "length" / Int16ub)
mpls = BitStruct("label" / BitsInteger(20), "traffic_class" / BitsInteger(3), "bottom" / Flag, "time_to_live" / Octet)
nsh = BitStruct(
    "version" / BitsInteger(2), "flags" / BitsInteger(2), "time_to_live" / BitsInteger(6), "words" / BitsInteger(6),
    "reserved" / BitsInteger(4), "metadata_type" / BitsInteger(4), "next" / Octet, "path" / Bytewise(Int32ub),
)  # fmt: skip
gre = BitStruct(
    "checksum" / Flag, "routing" / Flag, "key" / Flag, "sequence" / Flag, "source_route" / Flag,
    "recursion" / BitsInteger(3), "acknowledgment" / Flag, "flags" / BitsInteger(4), "version" / BitsInteger(3),
    "type" / Bytewise(Int16ub),
)  # fmt: skip
erspan2 = BitStruct(
    "version" / BitsInteger(4), "vlan" / BitsInteger(12), "class_of_service" / BitsInteger(3),
    "encapsulation" / BitsInteger(2), "truncated" / Flag, "session" / BitsInteger(10),
    "reserved" / BitsInteger(12), "index" / BitsInteger(20),
)  # fmt: skip
erspan3 = BitStruct(
    "version" / BitsInteger(4), "vlan" / BitsInteger(12), "class_of_service" / BitsInteger(3),
    "size" / BitsInteger(2), "truncated" / Flag, "session" / BitsInteger(10), "time" / Bytewise(Int32ub),
    "group" / Bytewise(Int16ub), "is_pdu" / Flag, "frame_type" / BitsInteger(5), "hardware" / BitsInteger(6),
    "direction" / Flag, "granularity" / BitsInteger(2), "platform" / Flag,
)  # fmt: skip
udp = Struct("source" / Int16ub, "destination" / Int16ub, "length" / Int16ub, "checksum" / Int16ub)
vxlan = BitStruct(
    "flags" / BitsInteger(5), "has_next" / Flag, "more_flags" / BitsInteger(2), "reserved" / Bytewise(Bytes(2)),
    "next" / Octet, "network" / BitsInteger(24), "spare" / Octet,
)  # fmt: skip
geneve = BitStruct(
    "version" / BitsInteger(2), "words" / BitsInteger(6), "flags" / Octet, "type" / Bytewise(Int16ub),
    "network" / BitsInteger(24), "reserved" / Octet,
)  # fmt: skip
pktap = Struct("size" / Int32ul, "kind" / Int32ul, "link" / Int32ul, "interface" / Bytes(8))
pktap_big = Struct("size" / Int32ub, "kind" / Int32ub, "link" / Int32ub, "interface" / Bytes(8))
pflog = Struct("size" / Int8ub, "family" / Int8ub, "action" / Int8ub, "reason" / Int8ub, "interface" / Bytes(16))

# The tunnels in `unread`, by their numbers in packets.h.
TUNNELS = ("", "VXLAN", "Geneve", "GRE", "ERSPAN", "IP in IP", "PPPoE", "MPLS", "NSH", "EtherIP")

# Names of unread protocols, by registry.
ETHERTYPES = {
    0x0800: "malformed IPv4", 0x86DD: "malformed IPv6", 0x0806: "ARP", 0x8035: "RARP", 0x88CC: "LLDP",
    0x8863: "PPPoE discovery", 0x888E: "802.1X", 0x88E5: "MACsec", 0x8809: "LACP", 0x88F7: "PTP",
    0x8902: "CFM", 0x9000: "loopback test", 0x8906: "FCoE", 0x22F3: "TRILL", 0x8903: "FabricPath", 0x8915: "RoCE",
}  # fmt: skip
IP_PROTOCOLS = {
    1: "ICMP", 2: "IGMP", 6: "malformed TCP", 17: "UDP", 50: "ESP (IPsec)", 51: "AH (IPsec)", 58: "ICMPv6", 88: "EIGRP",
    89: "OSPF", 103: "PIM", 112: "VRRP", 115: "L2TP", 132: "SCTP",
}  # fmt: skip
UDP_PORTS = {
    53: "DNS", 67: "DHCP", 68: "DHCP", 123: "NTP", 161: "SNMP", 443: "QUIC or DTLS", 500: "IKE", 514: "syslog",
    1701: "L2TP", 2152: "GTP-U", 3544: "Teredo", 4500: "ESP (IPsec)", 5353: "mDNS", 6343: "sFlow", 51820: "WireGuard",
}  # fmt: skip
PPP_PROTOCOLS = {0xC021: "LCP", 0xC023: "PAP", 0xC223: "CHAP", 0x8021: "IPCP", 0x8057: "IPV6CP", 0x00FD: "compressed"}
LLC_SAPS = {0x42: "spanning tree", 0xAA: "SNAP of an organisation's own", 0xFE: "OSI", 0xE0: "IPX", 0xFF: "IPX"}
LINK_TYPES = {
    6: "token ring", 105: "IEEE 802.11", 119: "IEEE 802.11", 127: "IEEE 802.11", 163: "IEEE 802.11", 189: "USB",
    192: "IEEE 802.11", 220: "USB", 253: "netlink", 187: "Bluetooth", 201: "Bluetooth", 195: "IEEE 802.15.4",
}  # fmt: skip
REGISTRIES: tuple[tuple[str, dict[int, str]], ...] = (
    ("", {}),
    ("EtherType", ETHERTYPES),
    ("IP protocol", IP_PROTOCOLS),
    ("UDP", UDP_PORTS),
    ("PPP", PPP_PROTOCOLS),
    ("LLC", LLC_SAPS),
    ("link type", LINK_TYPES),
)  # fmt: skip
NAMELESS, ETHERTYPE, IP_PROTOCOL, UDP_PORT, PPP_PROTOCOL, LLC_SAP, LINK_TYPE = range(len(REGISTRIES))


def unread_name(code: int) -> tuple[str, str]:
    """Return (tunnel or "", protocol name) for the number of an unread protocol."""
    tunnel, registry, number = code >> 24, code >> 16 & 0xFF, code & 0xFFFF
    word, names = REGISTRIES[registry]
    name = names.get(number)
    if registry == UDP_PORT:
        name = f"UDP ({name})" if name else "UDP"
    elif name is None:
        name = (
            f"{word} {number:#06x}"
            if registry in (ETHERTYPE, PPP_PROTOCOL, LLC_SAP)
            else f"{word} {number}"
            if word
            else ""
        )
    elif registry == LINK_TYPE:
        name = f"{word} {number} ({name})"
    return TUNNELS[tunnel], name
